"""The HTTP side: host, token gate, MCP tools, metering gateway."""

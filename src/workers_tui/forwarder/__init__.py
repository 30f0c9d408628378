"""`workers-tui mcp`: what Claude Code starts. Standard library only."""

"""A terminal dashboard that is the MCP server Claude Code hands bulk work to.

The house, from the door down (imports only point down; the walls are tests):

    __main__    sends `hook`, `mcp`, `--version` to their small programs, the rest to cli
    cli/        commands: choose a front end, wire it, nothing else
    tui/        the dashboard (Textual)          server/   HTTP, MCP tools, gateway
    engine/     money, jobs, files, upstream: knows neither of the two
    forwarder/  stdio to HTTP, standard library only
    hooks/      what Claude Code's hooks run, standard library only
    home/       where things lie, standard library only
    simulator/  a provider look-alike on loopback, for the demo and the tests

docs/architecture.md draws the same house with its flows and its reasons.
"""

__version__ = "0.1.0"

"""The front door: sends small commands to small programs before anything heavy is imported.

`hook` and `mcp` are started by Claude Code, often and in a hurry, and `--version`
is asked by scripts. Everything else goes to the command line proper.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # typing and collections cost a hook 5 ms
if TYPE_CHECKING:
    from collections.abc import Sequence

VALUE_OPTIONS = ("--config", "--home", "--host", "--port", "--project")
UNBUFFERED = ("hook", "--version")
LOADING = (50_000, 20, 20)
"""Thresholds of the collector: nothing that is imported is garbage, and Python's own would have it
looked through a hundred times."""


def main() -> None:
    """Run the command that `sys.argv` names."""
    arguments = sys.argv[1:]
    code = run(arguments)
    _, rest = leading_options(arguments)
    if rest[:1] and rest[0] in UNBUFFERED:
        os._exit(code)  # nothing is left to write; taking the interpreter down would cost 3 ms
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Each import below is late on purpose: it is the whole start-up time of what
    it starts, and the others must not pay for it.
    """
    let_owner_in()
    options, rest = leading_options(arguments)
    command = rest[0] if rest else ""
    if command == "--version" and _tell_version():
        return 0
    if command in {"mcp", "hook"} and not {"--help", "-h"} & set(rest):
        if "--home" in options:
            os.environ["WORKERS_HOME"] = options["--home"]
        if command == "hook":
            from workers_tui.hooks import main as hook

            return hook(rest[1:])
        from workers_tui.forwarder import main as mcp

        return mcp(options)
    gc.set_threshold(*LOADING)
    from workers_tui.cli.main import main as cli

    return cli(list(arguments)) or 0


def let_owner_in() -> None:
    """A umask may keep others out of what we make, but not the user: nothing would work."""
    mask = os.umask(0o077)
    os.umask(mask & 0o077)


def _tell_version() -> bool:
    """False when the output is closed or full: the command line proper says so."""
    from workers_tui import __version__

    try:
        os.write(1, f"workers-tui {__version__}\n".encode())
    except OSError:
        return False
    return True


def leading_options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The global options that stand before the command, and everything after them."""
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest[0].partition("=")
        if name not in VALUE_OPTIONS:
            break
        if equals:
            options[name] = value
            del rest[0]
        elif len(rest) > 1:
            options[name] = rest[1]
            del rest[:2]
        else:
            break
    return options, rest


if __name__ == "__main__":
    main()

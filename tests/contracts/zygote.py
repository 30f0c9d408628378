"""Starts the program quickly: imports it once, then forks a process for every command.

A process of its own per command, as a user's shell would have, without the second
of imports that each would pay. Asked over a Unix socket: one connection carries a
command with its three files, and brings back the process id and the exit code.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import sys
from importlib import import_module
from typing import Any, NoReturn

HEAVY = (
    "workers_tui.cli.main",
    "workers_tui.cli.run",
    "workers_tui.cli.serve",
    "workers_tui.engine.engine",
    "workers_tui.server.web",
    "anyio._backends._asyncio",
    "certifi",
    "httpcore",
    "h11",
)
FILES = 3
"""Standard input, output and error."""
CUT = 65536


def main(path: str) -> None:
    """Serve until standard input ends."""
    for name in HEAVY:
        import_module(name)
    import_module("workers_tui.__main__")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep(connection)
        connection.close()


def keep(connection: socket.socket) -> NoReturn:
    """Run one command in a child and tell how it went."""
    said, fds = receive(connection)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(json.loads(said), fds)
    for fd in fds:
        os.close(fd)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """One line, and the files that came beside it."""
    fds = array.array("i")
    said = b""
    while not said.endswith(b"\n"):
        part, beside, _, _ = connection.recvmsg(CUT, socket.CMSG_SPACE(FILES * fds.itemsize))
        said += part
        for _level, _kind, data in beside:
            fds.frombytes(data)
    return said, list(fds)


def become(asked: dict[str, Any], fds: list[int]) -> NoReturn:
    """Be the program, and never return into the zygote."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    sys.argv = ["workers-tui", *asked["arguments"]]
    encoding = asked["environ"].get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding, errors="surrogateescape", closefd=False)  # noqa: SIM115 - for the process's life
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115 - for the process's life
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115 - for the process's life
    code: object = 1
    try:
        code = import_module("workers_tui.__main__").run(asked["arguments"])
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - nothing may return into the zygote
        import traceback

        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    main(sys.argv[1])

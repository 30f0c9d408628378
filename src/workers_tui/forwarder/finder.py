"""Finds who serves this user, and starts a background server when nobody does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workers_tui.forwarder.wire import Address, ask
from workers_tui.home.files import prepare, why
from workers_tui.home.places import Home
from workers_tui.home.server_record import read_record, read_token

if TYPE_CHECKING:
    import subprocess

START_WAIT = 30.0
HEALTH_WAIT = 2.0
LOOK_EVERY = 0.05
SPAWN_LOCK = "spawn.lock"
OUTPUT = "serve.out"

OF_ONE_SESSION = (
    "WORKERS_ALLOWED_ROOTS",
    "WORKERS_DELEGATION",
    "MODEL_ORCHESTRATION_DELEGATION",
    "MODEL_ORCHESTRATION_SAVINGS",
    "WORKERS_SAVINGS",
    "CLAUDECODE",
)
"""Variables of the session that happens to be first: the server is for all of them."""
OF_CLAUDE = ("CLAUDE_CODE_", "CLAUDE_PROJECT_", "CLAUDE_PLUGIN_", "ANTHROPIC_")


class NoServer(Exception):
    """Nobody serves and none could be started; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """A server that answered and proved to be this user's."""

    address: Address
    path: str
    token: str


class Finder:
    """Looks at server.json and trusts it only after the server's proof."""

    def __init__(self, home: Home, options: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self._home = home
        self._options = options
        self._environ = environ

    def stamp(self) -> tuple[int, int] | None:
        """Changes when another server has written server.json; None when there is none."""
        try:
            status = self._home.server_json.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def find(self) -> Place | None:
        """The server that serves now, or None."""
        record, token = read_record(self._home), read_token(self._home)
        address = Address.of(record.url) if record else None
        if record is None or token is None or address is None:
            return None
        place = Place(address, "/" + record.url.partition("://")[2].partition("/")[2], token)
        return place if takes_calls(place) else None

    def find_or_start(self) -> Place:
        """The server that serves now, started if need be. Raises NoServer."""
        try:
            return self._found_or_started()
        except OSError as error:
            raise NoServer(f"cannot use {self._home.state}: {why(error)}") from error

    def _found_or_started(self) -> Place:
        until = time.monotonic() + START_WAIT
        child: subprocess.Popen[bytes] | None = None
        with contextlib.ExitStack() as held:
            while time.monotonic() < until:
                place = self.find()
                if place is not None:
                    _leave(child)
                    return place
                if child is None and held.enter_context(self._spawn_lock()):
                    child = self._start()
                elif child is not None and child.poll():
                    raise NoServer(self._why())
                elif child is not None and child.returncode == 0:
                    child = None  # it found another one about to serve
                time.sleep(LOOK_EVERY)
        record = read_record(self._home)
        who = f"; pid {record.pid} has the place: resume it (fg) or end it" if record else ""
        raise NoServer(f"no server answered within {START_WAIT:.0f} s{who}; see {self._home.log}")

    @contextlib.contextmanager
    def _spawn_lock(self) -> Iterator[bool]:
        """True for the one forwarder that may start a server now."""
        prepare(self._home)
        fd = os.open(self._home.state / SPAWN_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
        finally:
            os.close(fd)

    def _start(self) -> subprocess.Popen[bytes]:
        # Costs 10 ms to import and is rarely needed.
        import subprocess

        output = self._home.state / OUTPUT
        fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            return subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=fd,
                stderr=fd,
                cwd=self._home.state,
                env=self._environment(),
                start_new_session=True,
            )
        finally:
            os.close(fd)

    def _command(self) -> list[str]:
        # -P: the working directory never shadows a module.
        command = [sys.executable, "-P", "-m", "workers_tui"]
        if "--config" in self._options:
            # Absolute, as the home below: the server works in another directory.
            command += ["--config", os.path.abspath(self._options["--config"])]  # noqa: PTH100
        return [*command, "serve", "--background", "--port", "0"]

    def _environment(self) -> dict[str, str]:
        found = server_environment(self._environ)
        if found.get("WORKERS_HOME"):  # `--home` stands there, too
            found["WORKERS_HOME"] = str(self._home.state)
        return found

    def _why(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self._home.state / OUTPUT).read_text("utf-8", "replace").strip().split("\n")
            if lines[-1]:
                return f"the server did not start: {lines[-1].removeprefix('workers-tui: ')}"
        return f"the server did not start; see {self._home.log}"


def _leave(child: subprocess.Popen[bytes] | None) -> None:
    """Let a server run on; when it has left it must not stay as a dead process until we do."""
    if child is not None:
        threading.Thread(target=child.wait, daemon=True).start()


def takes_calls(place: Place) -> bool:
    """Whether a server of this user answers there and takes calls."""
    # hashlib is loaded only now, after the client has had its first answers.
    from workers_tui.home.proof import proves

    nonce = secrets.token_hex(16)
    said = ask(place.address, "GET", f"/healthz?nonce={nonce}", {}, HEALTH_WAIT)
    if said is None or not proves(place.token, nonce, str(said.get("proof", ""))):
        return False
    return said.get("taking") is True


def server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a server of all sessions: without what belongs to this one."""
    return {
        name: value
        for name, value in environ.items()
        if name not in OF_ONE_SESSION and not name.startswith(OF_CLAUDE)
    }

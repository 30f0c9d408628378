"""Who serves this user: one process holds a lock, and says where in server.json.

The lock, not the file or a pid, decides: it is free the moment its holder is
dead, also after kill -9, so a stale server.json misleads nobody.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
from dataclasses import dataclass
from typing import Any

from workers_tui.engine.errors import StoreUnusable
from workers_tui.forwarder.wire import Address, ask
from workers_tui.home.files import why
from workers_tui.home.places import Home
from workers_tui.home.proof import proves
from workers_tui.home.server_record import ServerRecord, read_record, read_token

LOCK = "server.lock"
PATIENCE = 2.0
TAKE_WAIT = 10.0
"""For a server that gives way, or holds its place and does not answer, as one that is stopped."""
LOOK_EVERY = 1.0


class Claim:
    """The lock that the serving process holds."""

    def __init__(self, home: Home) -> None:
        self._path = home.state / LOCK
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        return self._fd is not None

    def take(self) -> bool:
        """Take the lock if it is free; True when it is ours. Raises StoreUnusable."""
        if self._fd is not None:
            return True
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnusable(f"cannot use {self._path}: {why(error)}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def release(self) -> None:
        """Let another process serve."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@dataclass(frozen=True, slots=True)
class Other:
    """Another server of this user that answers now."""

    record: ServerRecord
    kind: str
    """`dashboard`, `serve` or `background`."""

    @property
    def gives_way(self) -> bool:
        """Only a server that nobody started on purpose does."""
        return self.kind == "background"


async def take(claim: Claim, home: Home, *, background: bool) -> str:
    """Take the claim; empty when it is ours, else one line on who has it.

    A background server is asked to give way, but not by another one.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + TAKE_WAIT
    while not claim.take():
        other = await asyncio.to_thread(find_other, home)
        if other is not None:
            if background or not other.gives_way:
                return f"viewer of pid {other.record.pid}, which serves {other.record.url}"
            await asyncio.to_thread(ask_hand_over, home, other)
        if loop.time() >= until:
            return await asyncio.to_thread(blame_holder, home)
        await asyncio.sleep(0.1)
    return ""


async def wait_for(claim: Claim, home: Home) -> None:
    """Look on until the claim is ours.

    A background server may have been quicker when the last one left: it has to give way
    as at any other time, or its clients would keep it, and the viewer would look on.
    """
    seen = None
    while not claim.take():
        record = await asyncio.to_thread(read_record, home)
        if record is not None and record != seen:
            seen, other = record, await asyncio.to_thread(find_other, home)
            if other is not None and other.gives_way:
                await asyncio.to_thread(ask_hand_over, home, other)
        await asyncio.sleep(LOOK_EVERY)


def find_other(home: Home) -> Other | None:
    """The server that server.json names, if it answers and proves to be this user's."""
    record, token = read_record(home), read_token(home)
    if record is None or token is None:
        return None
    said = ask_health(record.url, token)
    return None if said is None else Other(record, str(said.get("kind", "")))


def ask_health(url: str, token: str) -> dict[str, Any] | None:
    """What /healthz beside this URL says, when it proves to know the token."""
    nonce = secrets.token_hex(16)
    said = _ask(url, "GET", f"/healthz?nonce={nonce}", {})
    if said is None or not proves(token, nonce, str(said.get("proof", ""))):
        return None
    return said


def ask_hand_over(home: Home, other: Other) -> bool:
    """Ask a background server to give way; True when it agreed."""
    head = {"Authorization": f"Bearer {read_token(home)}"}
    return _ask(other.record.url, "POST", "/control/hand-over", head) is not None


def blame_holder(home: Home) -> str:
    """Who holds the claim and does not answer, and what to do about it."""
    record = read_record(home)
    who = "another process of yours" if record is None else f"pid {record.pid}"
    return f"{who} holds {home.state / LOCK} and does not answer: resume it (fg) or end it"


def name_stranger(host: str, port: int) -> str:
    """Who holds a port, as well as it can be told."""
    said = _ask(f"http://{host}:{port}/", "GET", "/healthz", {})
    ours = said is not None and said.get("name") == "workers-tui"
    return "another user's workers-tui" if ours else "another program"


def _ask(url: str, method: str, path: str, headers: dict[str, str]) -> dict[str, Any] | None:
    address = Address.of(url)
    return None if address is None else ask(address, method, path, headers, PATIENCE)

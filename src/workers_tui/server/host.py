"""Hosts the server in the engine's loop: claims the serving, binds, serves, gives way, leaves.

One process of a user serves at a time. A background server gives way to a
dashboard; a second dashboard looks on and takes over when the first leaves.
The heavy imports happen in a thread, so a screen is painted before them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workers_tui import __version__
from workers_tui.engine.board import Key, ServerView, Topic
from workers_tui.engine.errors import WorkersError, WrongUse
from workers_tui.engine.events import Level
from workers_tui.home.server_record import (
    ServerRecord,
    ensure_token,
    remove_record,
    write_record,
)
from workers_tui.server import claim
from workers_tui.server.control import Control
from workers_tui.server.gate import Gate, Token, Traffic, own_hosts
from workers_tui.server.sessions import Clients

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.server.mcp_server import McpSide

Kind = Literal["dashboard", "serve", "background"]

IDLE = 60.0
LOOK_EVERY = 1.0
CLAIM_WAIT = 10.0
PORTS_TRIED = 50


class Host:
    """The server of one engine."""

    def __init__(
        self,
        engine: Engine,
        *,
        host: str = "127.0.0.1",
        port: int = 4747,
        project: Path | None = None,
        kind: Kind = "dashboard",
        idle: float = IDLE,
    ) -> None:
        self.engine = engine
        self.kind = kind
        self.url: str | None = None
        self.gone = asyncio.Event()
        """Set when the server left by itself: idle, or another one took over."""
        self.clients = Clients()
        self.traffic = Traffic()
        self.claim = claim.Claim(engine.home)
        self.taking = True
        self._address = (host, port)
        self._project = project
        self._idle = idle
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._serving: asyncio.Task[None] | None = None
        self._side: McpSide | None = None
        self._reason = "workers-tui is shutting down"
        self._message = ""

    async def start(self) -> str | None:
        """Serve and return the URL; None when another process of this user serves.

        Raises WorkersError when no port can be had.
        """
        self._show()
        if await self._claimed():
            await self._serve()
        else:
            self._spawn(self._wait_for_claim())
        return self.url

    async def stop(self, reason: str = "workers-tui is shutting down") -> None:
        """Let running calls answer, then close every door. May be called again."""
        self._reason = reason
        self.taking = False
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._serving is not None:
            await self._serving
            self._serving = None
        self._leave()

    def hand_over(self) -> int:
        """Give way to another server of this user: no new calls; leave when the jobs are done.

        Returns how many jobs still run.
        """
        if self.taking:
            self.taking = False
            if self._side is not None:
                self._side.doors.taking = False
            self._leave()
            self._spawn(self._leave_when_done())
        return len(self.running())

    def running(self) -> list[str]:
        """Jobs of this engine that have not ended."""
        board = self.engine.board
        jobs = [board.get(Key(Topic.JOB, name)) for name in board.names(Topic.JOB)]
        mine = self.engine.id
        return [job.id for job in jobs if job and job.engine == mine and not job.state.ended]

    async def _claimed(self) -> bool:
        """Whether we may serve. A background server is asked to give way."""
        home = self.engine.home
        waited = 0.0
        while not self.claim.take():
            other = await asyncio.to_thread(claim.find_other, home)
            gives_way = other is not None and other.kind == "background"
            if other is not None and (self.kind == "background" or not gives_way):
                self._message = f"viewer of pid {other.record.pid}, which serves {other.record.url}"
                self._show()
                return False
            if other is not None:
                await asyncio.to_thread(claim.ask_hand_over, home, other)
            if waited >= CLAIM_WAIT:
                self._message = "another process of yours holds the server lock but does not answer"
                self._show()
                return False
            await asyncio.sleep(0.1)
            waited += 0.1
        return True

    async def _wait_for_claim(self) -> None:
        """As a viewer: take over when the one who serves has left."""
        while not self.claim.take():
            await asyncio.sleep(LOOK_EVERY)
        self._message = ""
        await self._serve()

    async def _serve(self) -> None:
        home = self.engine.home
        try:
            await asyncio.to_thread(ensure_token, home)
            listener = await asyncio.to_thread(self._bind)
            # A second of imports: in a thread, so that the screen stays alive meanwhile.
            web = await asyncio.to_thread(import_module, "workers_tui.server.web")
        except BaseException:
            self.claim.release()
            raise
        port = listener.getsockname()[1]
        await self._open(web, listener, port)
        self.url = f"http://{_literal(self._address[0])}:{port}/mcp"
        record = ServerRecord(self.url, os.getpid(), __version__)
        await asyncio.to_thread(write_record, home, record)
        self._show()
        self._spawn(self._watch())
        if self.kind == "background":
            self._spawn(self._leave_when_idle())

    async def _open(self, web: Any, listener: socket.socket, port: int) -> None:
        hosts = own_hosts(self._address[0], port)
        doors = web.Doors(self.engine, self.clients, self._project, seen=self._show)
        self._side = side = web.make_side(doors)
        token = Token(self.engine.home)
        control = Control(self, token)
        routes = {
            "/mcp": web.mcp_app(side, hosts),
            "/healthz": control.health,
            "/control": control,
            **_gateway(self.engine),
        }
        ready = asyncio.Event()
        self._serving = asyncio.create_task(
            web.serve(
                side,
                Gate(web.route(routes), token, hosts, self.traffic),
                listener,
                ready.set,
                self._stop,
                self._drain,
            )
        )
        waiter = asyncio.create_task(ready.wait())
        await asyncio.wait({waiter, self._serving}, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        if self._serving.done():
            self._serving.result()

    async def _drain(self) -> None:
        if self._side is not None:
            self._side.doors.taking = False
        await self.engine.drain(self._reason)

    def _bind(self) -> socket.socket:
        """A listening socket on the wanted port, else on the next free one, which is said."""
        host, wanted = self._address
        for port in [wanted, *range(wanted + 1, min(wanted + PORTS_TRIED, 65536)), 0]:
            try:
                listener = _listen(host, port)
            except OSError as error:
                if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                    raise WrongUse(f"cannot listen on {host}: {error.strerror}") from error
                continue
            if wanted and port != wanted:
                taken = listener.getsockname()[1]
                who = claim.name_stranger(host, wanted)
                self._message = f"port {wanted} is taken by {who}, took {taken}"
            return listener
        raise WorkersError(f"no free port on {host}")

    async def _watch(self) -> None:
        """Tell clients when the tiers or the delegation mode change."""
        side = self._side
        assert side is not None
        watcher = self.engine.board.watch()
        known = (side.tiers(), side.modes())
        try:
            while True:
                changed = await watcher.changed()
                now = (side.tiers(), side.modes())
                if any(key.topic is Topic.CONFIG for key in changed) and now != known:
                    known = now
                    await side.tools_changed()
        finally:
            watcher.close()

    async def _leave_when_idle(self) -> None:
        while self.taking and (self.running() or self.traffic.idle_for() < self._idle):
            await asyncio.sleep(min(LOOK_EVERY, self._idle / 4))
        if self.taking:
            self.taking = False
            self.gone.set()

    async def _leave_when_done(self) -> None:
        """After a hand-over: wait for the jobs, and for the calls that wait for them."""
        while self.running():
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        self.gone.set()

    def _leave(self) -> None:
        """Nobody is to find us any more."""
        remove_record(self.engine.home, os.getpid())
        self.claim.release()
        self.url = None
        self._show()

    def _show(self) -> None:
        view = ServerView(self.url, self.clients.count(), self._message)
        before = self.engine.board.get(Key(Topic.SERVER))
        self.engine.board.put(Key(Topic.SERVER), view)
        if self._message and (before is None or before.message != self._message):
            self.engine.events.tell("server", self._message, level=Level.WARNING)

    def _spawn(self, work: Any) -> None:
        self._tasks.append(asyncio.create_task(work))


async def start_server(
    engine: Engine,
    *,
    host: str = "127.0.0.1",
    port: int = 4747,
    project: Path | None = None,
    kind: Kind = "dashboard",
) -> Host:
    """A started host: what the command line gives to the dashboard."""
    made = Host(engine, host=host, port=port, project=project, kind=kind)
    await made.start()
    return made


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that say they are TCP; without it
    # each answer waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(256)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _literal(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _gateway(engine: Engine) -> dict[str, Any]:
    """The metering gateway's routes; its module is loaded with the server's."""
    with contextlib.suppress(ModuleNotFoundError):
        return {"/gateway": import_module("workers_tui.server.gateway").gateway_app(engine)}
    return {}

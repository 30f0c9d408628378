"""Hosts the server in the engine's loop: claims the serving, binds, serves, gives way, leaves.

One process of a user serves at a time. A background server gives way to a
dashboard; a second dashboard looks on and takes over when the first leaves.
The heavy imports happen in a thread, so a screen is painted before them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workers_tui import __version__
from workers_tui.engine.board import Key, ServerView, Topic
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.events import Level
from workers_tui.home.server_record import (
    ServerRecord,
    ensure_token,
    read_record,
    remove_record,
    write_record,
)
from workers_tui.server import claim
from workers_tui.server.control import Control
from workers_tui.server.gate import Gate, Token, Traffic, own_hosts
from workers_tui.server.listener import Listener, listen
from workers_tui.server.sessions import Clients

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.server.mcp_server import McpSide

Kind = Literal["dashboard", "serve", "background"]

IDLE = 60.0
LOOK_EVERY = 1.0
COUNT_EVERY = 30.0
SAY_EVERY = 5.0
DRAIN_WAIT = 10.0
ANSWER_WAIT = 0.5
"""For the last calls to pass their jobs' outcome on."""


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
        self._token = Token(engine.home)
        self._address = (host, port)
        self._project = project
        self._idle = idle
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._serving: asyncio.Task[None] | None = None
        self._side: McpSide | None = None
        self.message = ""
        """One line worth knowing: a port that was taken, who serves instead."""

    async def start(self) -> str | None:
        """Serve and return the URL; None when another process of this user serves.

        Raises WorkersError when no port can be had.
        """
        self._show()
        background = self.kind == "background"
        self.message = await claim.take(self.claim, self.engine.home, background=background)
        if self.claim.held:
            await self._serve()
        else:
            self._show()
            self._spawn(self._serve_later())
        return self.url

    async def stop(self, reason: str = "it is shutting down") -> None:
        """Cancel what runs, let the clients hear of it, close every door. May be called again."""
        self._close_to_calls()
        await self._cancel_jobs(reason)
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._serving is not None:
            await self._serving
            self._serving = None
        # Last, when the port is free again: whoever waits for the claim wants it too.
        self.claim.release()

    async def _cancel_jobs(self, reason: str) -> None:
        for job_id in self.running():
            with contextlib.suppress(WrongUse):  # it ended by itself in this moment
                await self.engine.cancel(job_id, by=f"workers-tui: {reason}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_WAIT):
                await self.engine.drain(reason)

    def _close_to_calls(self) -> None:
        """Take no new calls and let nobody find us any more."""
        self.taking = False
        if self._side is not None:
            self._side.doors.taking = False
        if self.url is not None:
            remove_record(self.engine.home, os.getpid())
            self.url = None
        self._show()

    def hand_over(self) -> int:
        """Give way to another server of this user: no new calls; leave when the jobs are done.

        Returns how many jobs still run.
        """
        if self.taking:
            self._close_to_calls()
            self.claim.release()
            self._spawn(self._leave_when_done())
        return len(self.running())

    async def end_call(self, headers: Mapping[str, str], request: int) -> None:
        """A forwarder's client cancelled a call that it sent here under this id."""
        if self._side is not None:
            await self._side.cancel(headers, request)

    def running(self) -> list[str]:
        """Jobs of this engine that have not ended."""
        board = self.engine.board
        jobs = [board.get(Key(Topic.JOB, name)) for name in board.names(Topic.JOB)]
        mine = self.engine.id
        return [job.id for job in jobs if job and job.engine == mine and not job.state.ended]

    async def _serve_later(self) -> None:
        """As a viewer: take over when the one who serves has left."""
        await claim.wait_for(self.claim, self.engine.home)
        self.message = ""
        await self._serve()

    async def _serve(self) -> None:
        home = self.engine.home
        try:
            await asyncio.to_thread(ensure_token, home)
            listener = await asyncio.to_thread(listen, *self._address)
            # A second of imports: in a thread, so that the screen stays alive meanwhile.
            web = await asyncio.to_thread(import_module, "workers_tui.server.web")
        except BaseException:
            self.claim.release()
            raise
        self.message = listener.message
        side = await self._open(web, listener)
        self.url = listener.url
        await self._say_where(self.url)
        self._show()
        self._spawn(self._watch(side))
        self._spawn(self._count_clients())
        self._spawn(self._stay_findable(self.url, self._token))
        if self.kind == "background":
            self._spawn(self._leave_when_idle())

    async def _say_where(self, url: str) -> None:
        record = ServerRecord(url, os.getpid(), __version__)
        try:
            await asyncio.to_thread(write_record, self.engine.home, record)
        except OSError as error:  # a full disk: who knows the address can still come
            why = error.strerror or error
            self.message = f"cannot write server.json ({why}): Claude Code will not find {url}"

    async def _stay_findable(self, url: str, token: Token) -> None:
        """Whoever cleans up the home must not shut everybody out of this server for its life."""
        while True:
            await asyncio.sleep(SAY_EVERY)
            with contextlib.suppress(OSError):  # a full disk: tried again
                await asyncio.to_thread(token.keep)
            record = await asyncio.to_thread(read_record, self.engine.home)
            if self.taking and (record is None or record.url != url):
                await self._say_where(url)
                if not self.taking:  # it gave way meanwhile
                    remove_record(self.engine.home, os.getpid())

    async def _open(self, web: Any, listener: Listener) -> McpSide:
        hosts = own_hosts(self._address[0], listener.port)
        doors = web.Doors(self.engine, self.clients, self._project, seen=self._show)
        side: McpSide = web.make_side(doors)
        self._side = side
        token = self._token
        control = Control(self, token)
        routes = {
            "/mcp": web.mcp_app(side),
            "/healthz": control.health,
            "/control": control,
            "/gateway": web.gateway_app(self.engine),
        }
        ready = asyncio.Event()
        self._serving = asyncio.create_task(
            web.serve(
                side,
                Gate(web.route(routes), token, hosts, self.traffic),
                listener.socket,
                ready.set,
                self._stop,
            )
        )
        waiter = asyncio.create_task(ready.wait())
        await asyncio.wait({waiter, self._serving}, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        if self._serving.done():
            self._serving.result()
        return side

    async def _watch(self, side: McpSide) -> None:
        """Tell clients when the tiers or the delegation mode change."""
        watcher = self.engine.board.watch(Topic.CONFIG)
        known = (side.tiers(), side.modes())
        try:
            while True:
                await watcher.changed()
                now = (side.tiers(), side.modes())
                if now != known:
                    known = now
                    await side.tools_changed()
        finally:
            watcher.close()

    async def _count_clients(self) -> None:
        """Clients leave without a word: look again now and then."""
        while True:
            await asyncio.sleep(COUNT_EVERY)
            self._show()

    async def _leave_when_idle(self) -> None:
        while self._busy():  # noqa: ASYNC110 - it is the passing of time that is waited for
            await asyncio.sleep(min(LOOK_EVERY, self._idle / 4))
        if self.taking:
            self._close_to_calls()
            self.gone.set()

    def _busy(self) -> bool:
        return self.taking and (bool(self.running()) or self.traffic.idle_for() < self._idle)

    async def _leave_when_done(self) -> None:
        """After a hand-over: wait for the jobs, and for the calls that wait for them."""
        while self.running():  # noqa: ASYNC110 - cheap, and only once in a server's life
            await asyncio.sleep(0.1)
        await asyncio.sleep(ANSWER_WAIT)
        self.gone.set()

    def _show(self) -> None:
        view = ServerView(self.url, self.clients.count(), self.message)
        before = self.engine.board.get(Key(Topic.SERVER))
        self.engine.board.put(Key(Topic.SERVER), view)
        if self.message and (before is None or before.message != self.message):
            self.engine.events.tell("server", self.message, level=Level.WARNING)

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

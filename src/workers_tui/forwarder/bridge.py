"""Joins one client on stdio to whoever serves: answers at once what it can, forwards the rest.

Rules: a request's progress and cancellation go to the server that has it; a new
server gets the client's initialize again and the client hears that the tools may
have changed; a tools/call whose bytes went out is never repeated, the client
gets its job id instead.
"""

from __future__ import annotations

import itertools
import os
import select
import signal
import threading
import time

from workers_tui.forwarder import eras, frames
from workers_tui.forwarder.eras import Era
from workers_tui.forwarder.frames import ClientGone, Fault, Message, Output
from workers_tui.forwarder.listing import Listing
from workers_tui.forwarder.running import JOBS, Running
from workers_tui.forwarder.subscriptions import CHANGED, LISTEN, Subscriptions

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from workers_tui.forwarder.connections import Connections
    from workers_tui.forwarder.finder import Place
    from workers_tui.forwarder.upstream import Server

CALLS_AT_ONCE = 256
LINGER = 600.0
UNANSWERED = 256
"""Questions of servers that are remembered for a client that does not answer."""


class Bridge:
    """The forwarder's state between one client and its servers."""

    def __init__(
        self, options: Mapping[str, str], environ: Mapping[str, str], output: Output
    ) -> None:
        self._options = options
        self._environ = environ
        self._output = output
        self._headers: Mapping[str, str] = {}
        self._listing = Listing(options, environ)
        self._initialize = eras.introduced({})
        self._era = Era()
        self._subscriptions = Subscriptions()
        self._connections: Connections | None = None
        self._roots_told: threading.Thread | None = None
        self._loading = threading.Lock()
        self._lock = threading.Lock()
        self._running: dict[Any, Running] = {}
        self._asked: dict[str, tuple[Server, Any]] = {}
        self._ask_ids = itertools.count(1)
        self._here: dict[str, Callable[[Message], Message]] = {
            "initialize": self._on_initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": self._listing.tools()},
        }
        self._here_newest: dict[str, Callable[[Message], Message]] = {
            eras.DISCOVER: lambda _: self._listing.discovery(),
            "tools/list": self._on_list_newest,
        }

    # From the client

    def take(self, message: Message | Fault) -> None:
        """Handle one frame of the client. Never blocks for long."""
        if isinstance(message, Fault):
            self._output.send(frames.error(message.id, message.code, message.text))
        elif "method" not in message:
            self._answer_server(message)
        elif "id" not in message:
            self._on_notice(message)
        else:
            self._on_request(message)

    def _on_request(self, message: Message) -> None:
        refusal = self._era.refusal(message)
        if refusal is not None:
            self._output.send(refusal)
        elif message["method"] == "tools/call":
            self._on_call(message)
        elif message["method"] == LISTEN and self._era.newest:
            self._on_listen(message)
        else:
            self._answer_here(message)

    def _answer_here(self, message: Message) -> None:
        newest = eras.enveloped(message)
        handler = (self._here_newest if newest else self._here).get(message["method"])
        if handler is None:
            text = f"there is no method {message['method'][:100]}"
            self._output.send(frames.error(message["id"], frames.NO_METHOD, text))
            return
        answer = frames.result(message["id"], handler(message.get("params", {})))
        self._output.send(self._complete(answer) if newest else answer)

    def _complete(self, answer: Message) -> Message:
        return eras.complete(answer, self._listing.server_info())

    def _on_list_newest(self, _: Message) -> Message:
        # There is no `initialized` in this era: asking for the tools is how a client begins.
        self._in_thread(lambda: self._servers().connect_early())
        return {"tools": self._listing.tools(), "ttlMs": 0, "cacheScope": "private"}

    def _on_listen(self, message: Message) -> None:
        request_id = message["id"]
        refusal = self._refusal(request_id)
        opened = refusal or self._subscriptions.open(request_id, message["params"])
        self._output.send(opened)

    def _on_initialize(self, params: Message) -> Message:
        self._initialize = eras.introduced(params)
        version = self._initialize["protocolVersion"]
        return {**self._listing.introduction(), "protocolVersion": version}

    def _on_notice(self, message: Message) -> None:
        match message["method"]:
            case "notifications/initialized":
                self._in_thread(lambda: self._servers().connect_early())
            case "notifications/cancelled":
                self._cancel(message.get("params", {}))
            case "notifications/roots/list_changed":
                self._roots_told = self._in_thread(lambda: self._servers().notify(message))

    def _on_call(self, message: Message) -> None:
        refusal = self._refusal(message["id"])
        if refusal is not None:
            self._output.send(refusal)
            return
        running = Running(message["id"], message.get("params", {}), newest=self._era.newest)
        with self._lock:
            self._running[running.id] = running
        self._in_thread(lambda: self._call(running))

    def _refusal(self, request_id: Any) -> Message | None:
        with self._lock:
            if request_id in self._running or self._subscriptions.has(request_id):
                text = f"a request with the id {request_id!r} is still running"
                return frames.error(request_id, frames.INVALID_REQUEST, text)
            if len(self._running) >= CALLS_AT_ONCE:
                text = f"{CALLS_AT_ONCE} calls are running; wait for one, or use delegate_batch"
                return frames.tool_error(request_id, text)
        return None

    def _call(self, running: Running) -> None:
        if self._roots_told is not None:
            self._roots_told.join()  # a call after the notice means the new roots
        try:
            answer = running.forward(self._servers())
        except Exception as error:  # noqa: BLE001 - a client that gets no answer waits for ever
            said = f"a defect in workers-tui ended this call: {type(error).__name__}: {error}"
            answer = frames.tool_error(running.id, said)
        finally:
            with self._lock:
                self._running.pop(running.id, None)
        if not running.cancelled:
            answer = {**answer, "id": running.id}
            self._output.send(self._complete(answer) if running.newest else answer)

    def _cancel(self, params: Message) -> None:
        wanted = params.get("requestId")
        if not frames.proper_id(wanted):
            return
        self._subscriptions.end(wanted)
        with self._lock:
            running = self._running.get(wanted)
        if running is not None:
            self._in_thread(lambda: running.cancel(params))

    def _answer_server(self, message: Message) -> None:
        with self._lock:
            asked = self._asked.pop(str(message["id"]), None)
        if asked is not None:
            server, server_id = asked
            self._in_thread(lambda: server.notify({**message, "id": server_id}))

    # From a server

    def _from_server(self, server: Server, message: Message) -> None:
        """Something a server says that is not the answer to a request."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "notifications/progress":
            self._progress(server, params)
        elif method == "notifications/tools/list_changed":
            self._in_thread(lambda: self._servers().compare_tools(server, announce=True))
        elif method == "ping":
            self._in_thread(lambda: server.notify(frames.result(message.get("id"), {})))
        elif method is not None and "id" in message:
            ours = f"workers-{next(self._ask_ids)}"
            with self._lock:
                self._asked[ours] = (server, message["id"])
                if len(self._asked) > UNANSWERED:
                    del self._asked[next(iter(self._asked))]
            self._output.send({**message, "id": ours})

    def _progress(self, server: Server, params: Message) -> None:
        with self._lock:
            found = [
                running
                for running in self._running.values()
                if running.is_at(server, params.get("progressToken"))
            ]
        for running in found:
            meta = params.pop("_meta", None) or {}
            running.jobs = meta.get(JOBS) or running.jobs
            if running.token is not None and not running.cancelled:
                told = {**params, "progressToken": running.token}
                self._output.send(frames.notice("notifications/progress", told))

    # Life

    def linger(self) -> None:
        """The client closed its end: let running calls answer while somebody reads."""
        until = time.monotonic() + LINGER
        while self._running and time.monotonic() < until and not _reader_gone(1):
            time.sleep(0.02)

    def _servers(self) -> Connections:
        """The way to a server. Late import: the client's first answers do not wait for it."""
        with self._loading:
            if self._connections is None:
                from workers_tui.forwarder.connections import Connections
                from workers_tui.forwarder.finder import Finder
                from workers_tui.forwarder.told import pack
                from workers_tui.home.places import find_home

                self._headers = pack(self._environ)
                self._connections = Connections(
                    Finder(find_home(self._environ), self._options, self._environ),
                    self._listing,
                    self._dial,
                    self._busy,
                )
                self._connections.changed = self._say_tools_changed
            return self._connections

    def _dial(self, place: Place, lost: Callable[[], None]) -> Server:
        """A server in the client's era, not yet open."""
        from workers_tui.forwarder.upstream import HandshakeServer
        from workers_tui.forwarder.upstream_newest import NewestServer

        if self._era.envelope is not None:
            envelope = self._era.envelope
            return NewestServer(place, self._headers, self._from_server, lost, envelope)
        initialize = self._initialize
        return HandshakeServer(place, self._headers, self._from_server, lost, initialize)

    def _say_tools_changed(self) -> None:
        notices = self._subscriptions.notices() if self._era.newest else [frames.notice(CHANGED)]
        for notice in notices:
            self._output.send(notice)

    def _busy(self, server: Server) -> bool:
        with self._lock:
            return any(running.server is server for running in self._running.values())

    def _in_thread(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=_until_client_leaves, args=(work,), daemon=True)
        thread.start()
        return thread


def _until_client_leaves(work: Callable[[], None]) -> None:
    try:
        work()
    except ClientGone:
        os._exit(0)  # nobody is left to tell


def _reader_gone(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(0))


def run(options: Mapping[str, str]) -> int:
    """Forward until standard input ends."""
    # Ctrl+C reaches the whole process group; the client then cancels by message.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bridge = Bridge(options, os.environ, Output(1))

    def session() -> None:
        for line in frames.read_lines(0):
            bridge.take(line if isinstance(line, Fault) else frames.parse(line))
        bridge.linger()

    _until_client_leaves(session)
    # Threads may still wait for a server; nothing of theirs must be saved.
    os._exit(0)

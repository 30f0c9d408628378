"""Which server the client is connected to, and the change from one to the next.

Loaded by the first thread that needs a server, after the client's first answers.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from workers_tui.forwarder.finder import Finder, NoServer, Place, takes_calls
from workers_tui.forwarder.frames import Message
from workers_tui.forwarder.listing import Listing
from workers_tui.forwarder.upstream import Elsewhere, Server
from workers_tui.forwarder.wire import Broken

LIST_WAIT = 10.0
LOOKS = (0.1, 0.3, 1.0, 3.0)
"""Seconds before each look for the next server."""

Stamp = tuple[int, int]


class Connections:
    """Keeps one server session, and makes a new one when another server has taken over."""

    def __init__(
        self,
        finder: Finder,
        listing: Listing,
        dial: Callable[[Place, Callable[[], None]], Server],
        busy: Callable[[Server], bool],
    ) -> None:
        self._finder = finder
        self._listing = listing
        self._dial = dial
        self._busy = busy
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._failure = ""
        self._failed_at = 0.0
        self.current: Server | None = None
        self.changed: Callable[[], None] = lambda: None
        """Called when the client should ask for the tools again."""

    def connected(self, avoid: Server | None = None) -> Server:
        """The server that serves now, connected. Raises NoServer or OSError.

        `avoid` has refused the call, though its record may still stand.
        """
        asked = time.monotonic()
        with self._lock:
            if self._failed_at > asked:
                raise NoServer(self._failure)  # it was tried while we stood in line
            server = self.current
            usable = server is not None and server.alive and server is not avoid
            if usable and server is not None and self._still_serves(server):
                return server
            place = self._find_or_start()
            stamp = self._finder.stamp()
            if usable and server is not None and server.place == place:
                self._stamp = stamp
                return server
            return self._connect(place, stamp)

    def look_again(self) -> None:
        """The server went away: go to the next one if there is one soon; start none."""
        for pause in LOOKS:
            time.sleep(pause)
            with self._lock:
                if self.current is not None and self.current.alive:
                    return
                stamp, place = self._finder.stamp(), self._finder.find()
                if place is not None:
                    with contextlib.suppress(OSError):
                        self._connect(place, stamp)
                        return

    def connect_early(self) -> None:
        """Connect while the client is busy with itself, so that its first call is quick."""
        with contextlib.suppress(NoServer, OSError):
            self.connected()

    def notify(self, message: Message) -> None:
        """Tell the present server something, if there is one."""
        if self.current is not None:
            self.current.notify(message)

    def compare_tools(self, server: Server, *, announce: bool) -> None:
        """Take the server's tool list; say so when it is not what the client was told."""
        request = {"jsonrpc": "2.0", "id": server.new_id(), "method": "tools/list"}
        try:
            answer = server.request(request, LIST_WAIT)
        except (OSError, Elsewhere):
            return
        tools = answer.get("result", {}).get("tools")
        changed = isinstance(tools, list) and self._listing.learn(tools)
        if changed or announce:
            self.changed()

    def _find_or_start(self) -> Place:
        try:
            return self._finder.find_or_start()
        except NoServer as error:
            self._failure, self._failed_at = str(error), time.monotonic()
            raise

    def _still_serves(self, server: Server) -> bool:
        stamp = self._finder.stamp()
        if stamp is None:
            return takes_calls(server.place)
        return stamp == self._stamp

    def _connect(self, place: Place, stamp: Stamp | None) -> Server:
        server = self._dial(place, self.look_again)
        try:
            server.open()
        except Elsewhere as error:
            raise Broken(str(error)) from error
        before, self.current, self._stamp = self.current, server, stamp
        if before is not None and not self._busy(before):
            before.close()
        threading.Thread(
            target=self.compare_tools,
            args=(server,),
            kwargs={"announce": before is not None},
            daemon=True,
        ).start()
        return server

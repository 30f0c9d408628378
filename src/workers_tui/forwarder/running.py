"""One tools/call of the client: sent to a server once, followed there, never repeated."""

from __future__ import annotations

import os
import threading

from workers_tui.forwarder import frames
from workers_tui.forwarder.frames import Message

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

    from workers_tui.forwarder.connections import Connections
    from workers_tui.forwarder.upstream import Server

CALL_ID = "workers-tui/call"
TOOL_USE_ID = "claudecode/toolUseId"
JOBS = "workers-tui/jobs"
TRIES = 5


class Running:
    """A call that the client waits for."""

    def __init__(self, request_id: Any, params: Message, *, newest: bool = False) -> None:
        given = params.get("_meta")
        meta = given if isinstance(given, dict) else {}
        self.id = request_id
        self.params = params
        self.newest = newest
        """It came in the newest protocol era."""
        token = meta.get("progressToken")
        self.token = token if frames.proper_id(token) else None
        """The client's own, None when it wants no progress."""
        self.name = str(meta.get(TOOL_USE_ID) or os.urandom(12).hex())
        """Names the call in the store, whichever server took it."""
        self.server: Server | None = None
        self.sent_as = 0
        """Its id and progress token at that server."""
        self.jobs: list[str] = []
        """What it became, once the server said so."""
        self.cancelled = False
        self._meta = meta
        self._lock = threading.Lock()

    def is_at(self, server: Server, sent_as: object) -> bool:
        """Whether it is the request that this server means."""
        return self.server is server and self.sent_as == sent_as

    def forward(self, servers: Connections) -> Message:
        """The answer of whoever serves; what goes wrong on the way is a tool error in words."""
        # Loaded by now, and not before the client's first answers.
        from workers_tui.forwarder.finder import NoServer
        from workers_tui.forwarder.upstream import Elsewhere
        from workers_tui.forwarder.wire import Broken, NotSent

        avoid = None
        for _ in range(TRIES):
            server = None
            try:
                server = servers.connected(avoid)
                outgoing = self._outgoing(server)
                return self._dropped() if outgoing is None else server.request(outgoing)
            except NoServer as error:
                return frames.tool_error(self.id, str(error))
            except Elsewhere:
                avoid = server
            except NotSent:
                if server is not None:
                    server.close()
            except Broken:
                if server is not None:
                    server.close()
                    return self._lost(servers)
        return frames.tool_error(self.id, "no server would take this call; nothing was sent")

    def cancel(self, params: Message) -> None:
        """Tell the server that has it, if one has."""
        with self._lock:
            self.cancelled = True
            server = self.server
        if server is not None:
            server.cancel(self.sent_as, params)

    def _outgoing(self, server: Server) -> Message | None:
        """The call as this server gets it: our id, our progress token, a name for the store."""
        with self._lock:
            if self.cancelled:
                return None
            self.server, self.sent_as = server, server.new_id()
        meta = {**self._meta, CALL_ID: self.name, "progressToken": self.sent_as}
        return {
            "jsonrpc": "2.0",
            "id": self.sent_as,
            "method": "tools/call",
            "params": {**self.params, "_meta": meta},
        }

    def _dropped(self) -> Message:
        return frames.tool_error(self.id, "cancelled before it was sent")

    def _lost(self, servers: Connections) -> Message:
        """The server died with the call: say which job it had become."""
        import contextlib

        from workers_tui.forwarder.finder import NoServer

        if not self.jobs:
            with contextlib.suppress(NoServer, OSError):
                self.jobs = servers.connected().ask_jobs(self.name)
        if not self.jobs:
            return frames.tool_error(
                self.id,
                "the server went away during this call and no job came of it; nothing was sent "
                "to a provider: call again",
            )
        return frames.tool_error(
            self.id,
            f"the server went away during this call, which is job {', '.join(self.jobs)}; it was "
            f'not repeated. Read what came of it with delegate_result(job_id="{self.jobs[0]}")',
        )

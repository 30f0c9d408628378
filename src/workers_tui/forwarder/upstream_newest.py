"""A server met in the newest protocol era: no session, every request stands for itself.

The client is on stdio, where a vanished client is no cancellation. So a stream
that breaks does not end a job here, and a cancellation goes to /control.
"""

from __future__ import annotations

import base64
import contextlib
import re
import threading
from typing import Any

from workers_tui.forwarder.eras import VERSION
from workers_tui.forwarder.frames import Message
from workers_tui.forwarder.subscriptions import ACKNOWLEDGED, LISTEN
from workers_tui.forwarder.upstream import QUICK, Server
from workers_tui.forwarder.wire import Broken, Exchange

PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
CODED = re.compile(r"=\?base64\?.*\?=")


class NewestServer(Server):
    """Every request carries the envelope; the server pushes on an open subscription."""

    def open(self) -> None:
        """Listen for changes of the tools. Raises NotSent, Broken or Elsewhere."""
        wanted = {"notifications": {"toolsListChanged": True}}
        request = {"jsonrpc": "2.0", "id": self.new_id(), "method": LISTEN, "params": wanted}
        stream = self._post(request, QUICK)
        events = stream.events()
        try:
            first = next(iter(events), {})
            if stream.status != 200 or first.get("method") != ACKNOWLEDGED:
                raise Broken(f"the server refused to be listened to: {first.get('error')}")
            stream.wait(None)
        except OSError:
            stream.close()
            raise
        self._stream = stream
        threading.Thread(target=self._hear, args=(events,), daemon=True).start()

    def notify(self, message: Message) -> None:
        """Nothing: the newest era has no notices from clients."""

    def cancel(self, request_id: int, params: Message) -> None:  # noqa: ARG002 - no reason is sent
        path = f"/control/cancel?request={request_id}"
        with contextlib.suppress(OSError):
            Exchange(self.place.address, "POST", path, self._headers, timeout=QUICK).close()

    def _post(self, message: Message, timeout: float | None) -> Exchange:
        params = message.get("params", {})
        meta = {**self._client, **(params.get("_meta") or {})}
        return super()._post({**message, "params": {**params, "_meta": meta}}, timeout)

    def _head_of(self, message: Message) -> dict[str, str]:
        params = message["params"]
        head = {
            "mcp-protocol-version": params["_meta"][VERSION],
            "mcp-method": message["method"],
        }
        name: Any = params.get("name")
        return {**head, "mcp-name": coded(name)} if isinstance(name, str) else head


def coded(value: str) -> str:
    """A value as the protocol puts it into a header: plain where it can be, else base64."""
    if PLAIN.fullmatch(value) and not CODED.fullmatch(value):
        return value
    raw = value.encode("utf-8", "replace")
    return f"=?base64?{base64.b64encode(raw).decode()}?="

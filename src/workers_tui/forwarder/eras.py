"""The protocol's two eras: which one a client speaks, and what a request of the newest must say.

Handshake: `initialize` once, then a session. Newest: no session; each request
says its version and what its client can do in `_meta`, the envelope. The first
request that is more than a look (`server/discover`) decides for good.
"""

from __future__ import annotations

from workers_tui.forwarder import frames
from workers_tui.forwarder.frames import Message

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST = ("2026-07-28",)

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
SERVER = "io.modelcontextprotocol/serverInfo"
ENVELOPE = (VERSION, CLIENT, CAPABILITIES)

DISCOVER = "server/discover"
UNSUPPORTED = -32022
"""The error code for a protocol version that is not spoken here."""


class Era:
    """What one client speaks."""

    def __init__(self) -> None:
        self.envelope: Message | None = None
        """What the newest request said of itself; None in the handshake era."""
        self._settled = False

    @property
    def newest(self) -> bool:
        """Whether the client speaks the newest era."""
        return self.envelope is not None

    def refusal(self, message: Message) -> Message | None:
        """Take a request into account; the error to answer when it does not fit the era."""
        meta = message.get("params", {}).get("_meta")
        said = meta if isinstance(meta, dict) else {}
        if message["method"] == "initialize" or VERSION not in said:
            return self._without_envelope(message)
        if self._settled and not self.newest:
            text = "this connection began with initialize; requests must not carry an envelope"
            return frames.error(message["id"], frames.INVALID_REQUEST, text)
        return self._with_envelope(message, said)

    def _without_envelope(self, message: Message) -> Message | None:
        if not self.newest:
            self._settled = True
            return None
        if message["method"] == "initialize":
            wanted = message.get("params", {}).get("protocolVersion")
            return _unsupported(message["id"], wanted)
        text = f"params._meta must have {VERSION} and {CAPABILITIES}"
        return frames.error(message["id"], frames.BAD_PARAMS, text)

    def _with_envelope(self, message: Message, meta: Message) -> Message | None:
        version = meta[VERSION]
        if not isinstance(version, str) or not isinstance(meta.get(CAPABILITIES), dict):
            text = f"params._meta must have {VERSION}, a text, and {CAPABILITIES}, an object"
            return frames.error(message["id"], frames.BAD_PARAMS, text)
        if version not in NEWEST:
            return _unsupported(message["id"], version)
        if message["method"] != DISCOVER:
            self._settled = True
            self.envelope = {key: meta[key] for key in ENVELOPE if key in meta}
        return None


def introduced(params: Message) -> Message:
    """The client's initialize, complete and in a version that our servers speak."""
    wanted = params.get("protocolVersion")
    return {
        "capabilities": {},
        "clientInfo": {"name": "unknown", "version": "0"},
        **params,
        "protocolVersion": wanted if wanted in HANDSHAKE else HANDSHAKE[0],
    }


def enveloped(message: Message) -> bool:
    """Whether a request came in the newest era's envelope."""
    meta = message.get("params", {}).get("_meta")
    return isinstance(meta, dict) and VERSION in meta and message["method"] != "initialize"


def complete(answer: Message, server: Message) -> Message:
    """An answer as the newest era wants it: it says that it is whole, and whose it is."""
    if "result" not in answer:
        return answer
    result = answer["result"]
    meta = {SERVER: server, **(result.get("_meta") or {})}
    return {**answer, "result": {"resultType": "complete", **result, "_meta": meta}}


def _unsupported(request_id: object, wanted: Any) -> Message:
    answer = frames.error(request_id, UNSUPPORTED, "this protocol version is not spoken here")
    data: Message = {"supported": list(NEWEST)}
    if isinstance(wanted, str):
        data["requested"] = wanted
    answer["error"]["data"] = data
    return answer

"""One line of a Claude Code transcript: which lines matter and what they say.

Only this module knows the field names of the files. A line is decoded in part
and by type; what it says leaves as small values without text of the user.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from struct import Struct
from typing import Annotated, Any

import msgspec

from workers_tui.engine.usage import MOST_TOKENS

SYNTHETIC = "<synthetic>"
"""The model name of messages that Claude Code wrote itself."""
FINISHED, FAST, ODD_SPEED = 1, 2, 4

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)] | None


class Loose(msgspec.Struct, array_like=True, gc=False):
    """What stands in for a request id where the endpoint sent none."""

    slot: str
    """Session, agent and message id: lines of one message share it."""
    lines: list[str]
    """Message id and uuid (else time and usage) of each line: a copy of a line has the same."""
    parents: list[str]
    """The same of the line that each line follows."""
    ended: bool
    """The message's stop reason was neither null nor a tool use."""


class Message(msgspec.Struct, array_like=True, gc=False):
    """One assistant message: the largest of every count over its lines."""

    key: str
    """Message id and request id; the first line's name where there is no request id."""
    at: str
    """Time of its first line, as written."""
    session: str
    model: str
    input: int
    output: int
    creation: int
    """Tokens written to the cache, for an hour or less."""
    creation_1h: int
    """The part of `creation` that is kept for an hour."""
    read: int
    web: int
    """Web searches, which are billed apart."""
    flags: int
    loose: Loose | None = None


class _Creation(msgspec.Struct, gc=False):
    ephemeral_5m_input_tokens: Count = None
    ephemeral_1h_input_tokens: Count = None


class _ServerTools(msgspec.Struct, gc=False):
    web_search_requests: Count = None


class Usage(msgspec.Struct, gc=False):
    """Counts as the API names them."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation: _Creation | None = None
    server_tool_use: _ServerTools | None = None
    speed: str | None = None


class Block(msgspec.Struct, gc=False):
    """One block of a message's content."""

    name: str | None = None
    """The tool, where it is a tool use."""


class LineMessage(msgspec.Struct, gc=False):
    """The message inside a line."""

    model: str | None = None
    id: str | None = None
    content: list[Block] | str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None


class Line(msgspec.Struct, gc=False, rename={"request_id": "requestId"}):
    """The part of a line that is always wanted. Every field here costs time.

    Fields stand in the order of the files, in which the decoder looks for them.
    """

    message: LineMessage | None = None
    request_id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    session: str | None = msgspec.field(default=None, name="sessionId")
    api_error: bool | None = msgspec.field(default=None, name="isApiErrorMessage")


class Names(msgspec.Struct, gc=False):
    """The part of a line that only some lines are asked for."""

    uuid: str | None = None
    parent: str | None = msgspec.field(default=None, name="parentUuid")
    agent: str | None = msgspec.field(default=None, name="agentId")
    cwd: str | None = None


class _Type(msgspec.Struct, gc=False):
    type: Any = None


decode_line = msgspec.json.Decoder(Line).decode
"""A line's typed part. Raises ValueError (msgspec's errors are such) or RecursionError."""
_decode_names = msgspec.json.Decoder(Names).decode
_decode_type = msgspec.json.Decoder(_Type).decode


def is_bad(raw: bytes) -> bool:
    """Whether a line that cannot be decoded is a loss.

    An assistant line is, with its impossible counts; so is what is not JSON.
    Any other line may have whatever shape it likes.
    """
    try:
        raw.decode()
        return bool(_decode_type(raw).type == "assistant")
    except (ValueError, RecursionError):
        return True


def names_of(raw: bytes) -> Names:
    """The names in a line; none where they have an unknown shape."""
    try:
        return _decode_names(raw)
    except (ValueError, RecursionError):
        return Names()


def message_of(line: Line, raw: bytes, session: str, at: str) -> Message:
    """The message of which this line is a part, as far as this line tells."""
    message = line.message
    assert message is not None and message.usage is not None  # noqa: S101, PT018 - the caller saw them
    if message.id and line.request_id:
        key, loose = f"{message.id} {line.request_id}", None
    else:
        loose = _loose(line, names_of(raw), session)
        key = loose.lines[0]
    usage = message.usage
    split, tools, speed = usage.cache_creation, usage.server_tool_use, usage.speed
    creation, hour = usage.cache_creation_input_tokens or 0, 0
    if split is not None:
        hour = split.ephemeral_1h_input_tokens or 0
        # What no split explains is kept for 5 minutes.
        creation = max(creation, hour + (split.ephemeral_5m_input_tokens or 0))
    flags = FINISHED if message.stop_reason is not None else 0
    if speed is not None and speed != "standard":
        flags |= FAST if speed == "fast" else ODD_SPEED
    return Message(
        key,
        at,
        session,
        message.model or "unknown",
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        creation,
        hour,
        usage.cache_read_input_tokens or 0,
        (tools.web_search_requests or 0) if tools is not None else 0,
        flags,
        loose,
    )


def _loose(line: Line, names: Names, session: str) -> Loose:
    message = line.message or LineMessage()
    name = message.id or ""
    identity = names.uuid or f"{line.timestamp} {message.usage}"
    return Loose(
        slot=f"slot {session} {names.agent} {name or identity}",
        lines=[f"line {name} {identity}"],
        parents=[f"line {name} {names.parent}"] if names.parent else [],
        ended=message.stop_reason not in {None, "tool_use"},
    )


# names and times as the index keeps them


def hashed(text: str) -> int:
    """A stable 64-bit name for what the text identifies."""
    (number,) = _signed(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
    return int(number)


_signed = Struct("<q").unpack


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(timestamp: str) -> int:
    """Seconds since 1970 of an ISO time; 0 when it makes no sense."""
    try:
        moment = datetime.fromisoformat(timestamp)
        since = (moment if moment.tzinfo else moment.astimezone()) - _EPOCH
    except (ValueError, OverflowError):
        return 0
    return since.days * 86_400 + since.seconds

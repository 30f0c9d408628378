"""Reads a transcript file piece by piece: whole new lines, one reused buffer.

Most bytes are tool results, which cost no decoding: a line is looked into only
when its head does not prove that it is something else than an assistant's.
Nothing here remembers anything between files; a Place says where to go on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from workers_tui.engine.transcripts.messages import Grouping
from workers_tui.engine.transcripts.transcript_delegation import (
    DELEGATE,
    Delegation,
    OwnRead,
    Returned,
    returned,
    tool_uses,
)
from workers_tui.engine.transcripts.transcript_lines import (
    SYNTHETIC,
    Block,
    Line,
    Message,
    decode_line,
    is_bad,
    message_of,
    names_of,
)
from workers_tui.engine.transcripts.transcript_place import Place, go_on, tail

PIECE = 1 << 18
"""Bytes read at once: what the processor keeps near while lines are looked for."""
LONGEST_LINE = 32 << 20
"""A longer line that may be an assistant's is skipped and counted as bad."""
HEAD = 800
"""A line's type stands within so many bytes, or the whole line is looked through."""

BOM = b"\xef\xbb\xbf"
OPEN, CLOSE = 0x7B, 0x7D
ANSWER = (b'{"model":"', b'{"id":"')
"""How the inner object of an assistant's line begins; other lines are rarely so."""
PROMPT = b'"type":"user","message":'
"""What stands before it in a line of the user, of which most are tool results."""


class News(msgspec.Struct, array_like=True):
    """What the new lines of one file say."""

    place: Place
    afresh: bool = False
    """It was read from its start."""
    messages: list[Message] = []
    bad: int = 0
    """Lines that are no JSON or have impossible counts."""
    errors: int = 0
    """Messages by which Claude Code tells that the API failed."""
    cwd: str = ""
    """The first working directory that a line named."""
    delegations: list[Delegation] = []
    returns: list[Returned] = []
    reads: list[OwnRead] = []
    error: str = ""
    """Why the file could not be read."""


class Reader:
    """Reads files one after another through the same buffer."""

    def __init__(self, piece: int = PIECE) -> None:
        self._piece = piece
        self._buffer = bytearray(piece)

    def read(self, path: str, session: str, place: Place | None = None) -> News:
        """The lines after `place`; all of them when the file was replaced, cut or rewritten.

        `session` is for lines that name none. Raises OSError.
        """
        # A pipe that took the file's place would keep us waiting for its other end.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            now, fresh = go_on(fd, place)
            pass_ = _Pass(session, now)
            self._run(fd, pass_)
            now.tail = tail(fd, now.offset)
        finally:
            os.close(fd)
        return pass_.news(afresh=fresh)

    def _run(self, fd: int, lines: _Pass) -> None:
        """Hand whole lines to the pass, piece by piece, until the file ends."""
        buffer, have, skipping, lost = self._buffer, 0, False, False
        position = line = os.lseek(fd, lines.place.offset, os.SEEK_SET)
        while count := os.readv(fd, [memoryview(buffer)[have:]]):
            end = have + count
            begin = 0
            if skipping:
                begin = buffer.find(b"\n", have, end) + 1
                skipping = begin == 0
                begin = begin or end
                if not skipping:
                    lines.bad += lost  # not before: an unfinished line is read again
            done = begin if skipping else lines.take(buffer, begin, end)
            position += done
            have = end - done
            line = line if skipping else position
            if have == len(buffer):
                skipping, lost, have = self._long_line()
                position += len(buffer) if skipping else 0
                buffer = self._buffer
            else:
                buffer[:have] = buffer[done:end]
        lines.last(bytes(buffer[:have]), line, skipping=skipping)
        if len(self._buffer) > self._piece:
            self._buffer = bytearray(self._piece)

    def _long_line(self) -> tuple[bool, bool, int]:
        """A line fills the buffer: skip it (is it a loss?), else make room."""
        have = len(self._buffer)
        if passes_by(self._buffer, 0, have):
            return True, False, 0
        if have >= LONGEST_LINE:
            return True, True, 0
        self._buffer = self._buffer + bytes(have)
        return False, False, have


def passes_by(buffer: bytearray, start: int, end: int) -> bool:
    """True when the line's head proves that it is no assistant line.

    Before the type stands no second brace, so it is the line's own.
    """
    found = buffer.find(b'"type":"', start, min(end, start + HEAD))
    return (
        found >= 0
        and buffer.find(b"{", start + 1, found) < 0
        and not buffer.startswith(b'assistant"', found + 8)
    )


class _Pass:
    """One reading of one file."""

    def __init__(self, session: str, place: Place) -> None:
        self.place = place
        self.bad = 0
        self._session = session
        self._errors = 0
        self._cwd = ""
        self._group = Grouping()
        self._delegations: list[Delegation] = []
        self._returns: list[Returned] = []
        self._reads: list[OwnRead] = []

    def take(self, buffer: bytearray, start: int, end: int) -> int:
        """Look at every whole line; returns where the unfinished one starts."""
        find, starts, ends = buffer.find, buffer.startswith, buffer.endswith
        view = memoryview(buffer)
        while (stop := find(b"\n", start, end)) >= 0:
            # This runs for every line there is; the order of the tests is that of their use.
            inner = find(b"{", start + 1, stop)
            if inner > 0 and starts(ANSWER, inner):
                self._line(bytes(view[start:stop]))
            elif (
                buffer[start] == OPEN
                and buffer[stop - 1] == CLOSE
                and ((inner > 0 and ends(PROMPT, start, inner)) or passes_by(buffer, start, stop))
            ):
                if self.place.delegates and find(b'"mcpMeta"', start, stop) >= 0:
                    self._result(bytes(view[start:stop]))
            elif self._matters(buffer, start, stop):
                self._line(bytes(view[start:stop]))
            start = stop + 1
        return start

    def _matters(self, buffer: bytearray, start: int, stop: int) -> bool:
        """A line may have usage though its head tells no type, or look unlike a JSON object."""
        if stop - start < 2 or buffer[start] != OPEN or buffer[stop - 1] != CLOSE:
            return stop > start
        if buffer.find(b'"type":"', start, min(stop, start + HEAD)) >= 0:
            return True
        if buffer.find(b'"usage"', start, stop) >= 0:
            return True
        return self.place.delegates and buffer.find(b'"mcpMeta"', start, stop) >= 0

    def last(self, rest: bytes, position: int, *, skipping: bool) -> None:
        """The end of the file: a whole line without its line feed counts, a torn one waits."""
        self.place.offset = position
        if skipping or not rest:
            self.place.torn = skipping
            return
        bad = self.bad
        self._line(rest)
        if self.bad > bad:
            self.bad, self.place.torn = bad, True
        else:
            self.place.offset += len(rest)

    def news(self, *, afresh: bool) -> News:
        """What was found."""
        return News(
            self.place,
            afresh,
            self._group.messages(),
            self.bad,
            self._errors,
            self._cwd,
            self._delegations,
            self._returns,
            self._reads,
        )

    def _line(self, raw: bytes) -> None:
        try:
            raw.isascii() or raw.decode()  # msgspec does not look into the texts that it skips
            line = decode_line(raw)
        except (ValueError, RecursionError):
            self._odd_line(raw)
            return
        message = line.message
        if line.type != "assistant" or message is None:
            if self.place.delegates and b'"mcpMeta"' in raw:
                self._result(raw)
        elif line.api_error or message.model == SYNTHETIC:
            self._errors += bool(line.api_error)
        else:
            if message.usage is not None and not self._group.repeats(line):
                self._message(line, raw)
            content = message.content
            if content.__class__ is list and self._may_ask(content):
                self._asks(line, raw)

    def _odd_line(self, raw: bytes) -> None:
        """A line that is no JSON: blank, marked with a BOM, or lost."""
        if raw.startswith(BOM):
            self._line(raw.removeprefix(BOM))
        elif raw.strip():
            self.bad += is_bad(raw)

    def _message(self, line: Line, raw: bytes) -> None:
        self._cwd = self._cwd or names_of(raw).cwd or ""
        at = self.place.clock = line.timestamp or self.place.clock
        self._group.add(message_of(line, raw, line.session or self._session, at))

    def _may_ask(self, content: Sequence[Block]) -> bool:
        """Some block uses a tool that delegates, or any in a session that has delegated."""
        for block in content:
            if block.name is not None and (self.place.delegates or DELEGATE in block.name):
                return True
        return False

    def _asks(self, line: Line, raw: bytes) -> None:
        at = line.timestamp or self.place.clock
        asked, read = tool_uses(raw, line.session or self._session, at)
        self._delegations += asked
        if self.place.delegates or asked:
            self._reads += read
            self.place.delegates = True

    def _result(self, raw: bytes) -> None:
        back = returned(raw)
        if back is not None:
            self._returns.append(back)

"""Server-sent events from bytes as they come: cut at line ends only, never inside a character.

Line iterators of HTTP clients also cut at U+2028 and its kin and so break the
JSON within; here only CR, LF and both together end a line.
"""

from __future__ import annotations

DATA = b"data:"
BOM = b"\xef\xbb\xbf"


LONGEST = 8_000_000
"""Bytes of one event; a provider that sends more without an end sends no answer."""


class EventTooLong(Exception):
    """No event ends within `LONGEST`."""


class EventReader:
    """Gives the data of each event once the event is complete."""

    def __init__(self) -> None:
        self._rest = [b""]
        """What belongs to no whole event yet; joined only when a line has ended."""
        self._held = 0
        self._begun = False

    def feed(self, piece: bytes) -> list[bytes]:
        """Take the next bytes; return the data of the events they complete.

        Raises EventTooLong.
        """
        self._rest.append(piece)
        if self._begun and b"\n" not in piece and b"\r" not in piece:
            self._hold(self._held + len(piece))
            return []
        text = b"".join(self._rest)
        if not self._begun:
            text = text.removeprefix(BOM)
            self._begun = len(text) >= len(BOM)
        if b"\r" in text:
            text = _plain_ends(text)
        *blocks, rest = text.split(b"\n\n")
        self._rest = [rest]
        self._hold(len(rest))
        return [data for block in blocks if (data := _data(block))]

    def _hold(self, size: int) -> None:
        self._held = size
        if size > LONGEST:
            raise EventTooLong

    def end(self) -> list[bytes]:
        """The stream is over: an event whose blank line never came counts too."""
        last, self._rest = _data(b"".join(self._rest).replace(b"\r", b"\n")), [b""]
        return [last] if last else []


def _plain_ends(text: bytes) -> bytes:
    """All line ends as LF; a CR at the end stays until it is known what follows."""
    held = b"\r" if text.endswith(b"\r") else b""
    kept = text.removesuffix(b"\r")
    return kept.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held


def _data(block: bytes) -> bytes:
    """The data of one event; comments and other fields carry nothing for us."""
    if block.startswith(DATA) and b"\n" not in block:
        return _value(block)
    lines = block.split(b"\n")
    return b"\n".join(_value(line) for line in lines if line.startswith(DATA) or line == b"data")


def _value(line: bytes) -> bytes:
    return line[6:] if line.startswith(b"data: ") else line[5:]

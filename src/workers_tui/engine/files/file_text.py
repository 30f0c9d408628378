"""Bytes of a caller's file turned into text that a worker can read.

It never guesses in silence: what was not plain UTF-8, and what was cut, stands
in the note. A cut falls at a line end, never inside a character.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

BOMS: tuple[tuple[bytes, str, str], ...] = (
    (codecs.BOM_UTF8, "utf-8", "byte order mark removed"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "decoded from UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "decoded from UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "decoded from UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "decoded from UTF-16"),
)
WIDE_BOMS = tuple(bom for bom, encoding, _ in BOMS if encoding != "utf-8")
CONTROL = bytes({*range(32), 127} - {7, 8, 9, 10, 11, 12, 13, 27})
CONTROL_SHARE = 0.02
"""More control bytes than this share: not a text."""


class NotText(ValueError):
    """The bytes are not a text; the message says what they look like."""


@dataclass(frozen=True, slots=True)
class Text:
    """A decoded file or the first part of one."""

    text: str
    note: str
    """How it was decoded, empty for plain UTF-8."""
    cut: bool
    """Bytes beyond the limit were left out."""


def decode(raw: bytes, *, more: bool) -> Text:
    """Text of `raw`; with `more` the file goes on and the text ends at its last line end.

    Raises NotText.
    """
    encoding, note, body = _encoding(raw)
    text, mended = _decode_body(body, encoding, more=more)
    if more:
        text = _whole_lines(text)
    return Text(text, "; ".join(part for part in (note, mended) if part), more)


def _encoding(raw: bytes) -> tuple[str, str, bytes]:
    for bom, encoding, note in BOMS:
        if raw.startswith(bom):
            return encoding, note, raw[len(bom) :]
    kind = looks_binary(raw)
    if kind:
        raise NotText(kind)
    return "utf-8", "", raw


def looks_binary(raw: bytes) -> str:
    """What kind of binary this looks like, empty for text without a byte order mark."""
    head = raw[:65536]
    if b"\0" in head:
        pairs = head[: len(head) & ~1]
        halves = (pairs[0::2].count(0), pairs[1::2].count(0))
        if pairs and max(halves) > len(pairs) * 0.2 and min(halves) == 0:
            return "UTF-16 without a byte order mark"
        return "binary"
    control = len(head) - len(head.translate(None, CONTROL))
    return "binary" if control > len(head) * CONTROL_SHARE else ""


def _decode_body(body: bytes, encoding: str, *, more: bool) -> tuple[str, str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        return decoder.decode(body, final=not more), ""
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise NotText(f"broken {encoding.upper()}") from None
    return _not_utf8(body, more=more)


def _not_utf8(body: bytes, *, more: bool) -> tuple[str, str]:
    """One-byte text as Windows-1252; stray bytes in UTF-8 text are shown as escapes."""
    if more:
        body = body[: body.rfind(b"\n") + 1] or body
    escaped = body.decode("utf-8", "backslashreplace")
    if any(ord(char) > 127 for char in escaped):
        return escaped, "bytes that are not UTF-8 are shown as \\xNN"
    return body.decode("cp1252", "backslashreplace"), "not UTF-8; read as Windows-1252"


def _whole_lines(text: str) -> str:
    end = text.rfind("\n") + 1
    return text[:end] if end else text

"""Reads and writes small JSON without the standard module, whose import is most of a hook's run.

What is not plain (large, odd numbers, broken) goes to that module, so the results
are always its own; a test holds the two equal.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

MOST_QUOTES = 3_000
"""Above that the standard module is faster, its import included."""
BOM = b"\xef\xbb\xbf"
SPACE = " \t\n\r"
DIGITS = frozenset("0123456789")
WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
ESCAPES = (
    ('\\"', '"'), ("\\/", "/"), ("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\b", "\b"),
    ("\\f", "\f"),
)  # fmt: skip


class _NotPlainError(ValueError):
    """Left to the standard module."""


def loads(raw: bytes) -> Any:
    """The value of a JSON text in UTF-8, with or without BOM. Raises ValueError, RecursionError."""
    raw = raw.removeprefix(BOM)
    try:
        return _Reader(raw.decode()).whole()
    except (ValueError, IndexError, RecursionError):
        import json  # late: it costs as much as all else that a hook does

        return json.loads(raw)


def dumps(value: Any) -> str:
    """JSON of strings, and of lists and objects of them."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(dumps, value))}]"
    members = (f"{_quoted(name)}: {dumps(member)}" for name, member in value.items())
    return f"{{{', '.join(members)}}}"


class _Reader:
    """One text and how far it is read."""

    def __init__(self, text: str) -> None:
        if text.count('"') > MOST_QUOTES:
            raise _NotPlainError
        self._text = text
        self._at = 0

    def whole(self) -> Any:
        value = self._value(self._sign())
        if self._text[self._at :].strip(SPACE):
            raise _NotPlainError
        return value

    def _sign(self) -> str:
        """The next character that is no space, which is passed."""
        text, at = self._text, self._at
        while text[at] in SPACE:
            at += 1
        self._at = at + 1
        return text[at]

    def _value(self, sign: str) -> Any:
        if sign == '"':
            return self._string()
        if sign == "{":
            return self._object()
        if sign == "[":
            return self._array()
        return self._word()

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        sign = self._sign()
        while sign != "}":
            if sign != '"':
                raise _NotPlainError
            name = self._string()
            if self._sign() != ":":
                raise _NotPlainError
            found[name] = self._value(self._sign())
            sign = self._next("}")
        return found

    def _array(self) -> list[Any]:
        found: list[Any] = []
        sign = self._sign()
        while sign != "]":
            found.append(self._value(sign))
            sign = self._next("]")
        return found

    def _next(self, end: str) -> str:
        """After a member: the end, or the first character of the next one."""
        sign = self._sign()
        if sign == end:
            return end
        if sign != ",":
            raise _NotPlainError
        sign = self._sign()
        if sign == end:
            raise _NotPlainError
        return sign

    def _string(self) -> str:
        text, start = self._text, self._at
        end = text.index('"', start)
        while text[end - 1] == "\\" and self._is_escaped(end):
            end = text.index('"', end + 1)
        self._at = end + 1
        piece = text[start:end]
        if not piece.isprintable() and min(piece) < " ":
            raise _NotPlainError
        return _unescaped(piece) if "\\" in piece else piece

    def _is_escaped(self, at: int) -> bool:
        """An odd number of backslashes stands before this place."""
        back = at
        while self._text[back - 1] == "\\":
            back -= 1
        return (at - back) % 2 == 1

    def _word(self) -> Any:
        text, start = self._text, self._at - 1
        end = start
        while text[end : end + 1] not in {",", "}", "]", "", *SPACE}:
            end += 1
        self._at = end
        word = text[start:end]
        return WORDS[word] if word in WORDS else _number(word)


def _unescaped(piece: str) -> str:
    parts = piece.split("\\\\")
    for escape, sign in ESCAPES:
        parts = [part.replace(escape, sign) for part in parts]
    if any("\\" in part for part in parts):
        raise _NotPlainError
    return "\\".join(parts)


def _number(word: str) -> int | float:
    """`12`, `-3`, `0.5`; exponents and the like are not plain."""
    whole, point, part = word.removeprefix("-").partition(".")
    if not whole or not DIGITS.issuperset(whole + part) or (whole[0] == "0" and whole != "0"):
        raise _NotPlainError
    if not point:
        return int(word)
    if not part:
        raise _NotPlainError
    return float(word)


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(sign: str) -> str:
    for escape, plain in ESCAPES:
        if sign == plain and sign != "/":
            return escape
    if " " <= sign <= "~":
        return "\\\\" if sign == "\\" else sign
    code = ord(sign)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"

"""Text of providers, models and files on its way to a terminal, which must not obey it."""

from __future__ import annotations

import sys

PICTURES: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20)}
PICTURES |= {0x7F: "␡", **dict.fromkeys(range(0x80, 0xA0), "\ufffd")}
"""What stands on a terminal for a character that it would obey."""
KEPT = {code: text for code, text in PICTURES.items() if chr(code) not in "\t\n"}


def one_line(text: str) -> str:
    """The text on one line that no terminal obeys."""
    return text.translate(PICTURES)


def answer(text: str) -> str:
    """A worker's text as it came for a pipe or a file; on a terminal nothing of it is obeyed."""
    return text.replace("\r\n", "\n").translate(KEPT) if is_terminal() else text


def is_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout is not None and sys.stdout.isatty()

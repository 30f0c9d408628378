"""Text for synthetic transcripts: words of code, odd characters, quoted transcript lines."""

from __future__ import annotations

import json
import random

WORDS = [
    "async", "def", "return", "import", "class", "yield", "await", "self", "None", "True",
    "buffer", "offset", "token", "stream", "parser", "cursor", "index", "ledger", "budget",
    "worker", "delegate", "session", "retry", "latency", "decode", "commit", "snapshot", "queue",
    "render", "widget", "path", "request", "response", "header", "schema", "config", "timeout",
]  # fmt: skip
UNICODE = [
    "naïve café, “quoted” …", "日本語のテキスト", "данные и журнал", "مرحبا بالعالم", "🚀✅🧪",
    "│ ├── └── ─", "Ω≈ç√∫ µ≤≥÷", "e\u0301 zero\u200bwidth", "\u2028line sep",
]  # fmt: skip
ESCAPED = [
    'say "hello" and \\path\\to\\file', "tab\there\r", "\x1b[31mred\x1b[0m", "null\x00byte",
    '{"type":"assistant","message":{"usage":{"input_tokens":999999,"output_tokens":999999}}}',
    "a\\\\b \\n not a newline", '"usage":{"output_tokens":123456}',
]  # fmt: skip
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def identifier(chance: random.Random, prefix: str) -> str:
    """An id as the API makes them."""
    return prefix + "".join(chance.choices(ALPHABET, k=22))


def uuid(chance: random.Random) -> str:
    """A random UUID."""
    h = f"{chance.getrandbits(128):032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


class Pool:
    """Lines that are ready to stand inside a JSON string, so that a body is a join."""

    def __init__(self, chance: random.Random, lines: int = 12_000) -> None:
        self._lines = [self._line(chance) for _ in range(lines)]
        self._mean = sum(len(line.encode()) + 2 for line in self._lines) / lines

    @staticmethod
    def _line(chance: random.Random) -> str:
        words = chance.choices(WORDS, k=chance.randint(3, 16))
        kind = chance.random()
        if kind < 0.09:
            odd = chance.choice(UNICODE if kind < 0.05 else ESCAPED)
            words.insert(chance.randrange(len(words)), odd)
        text = "    " * chance.randint(0, 3) + " ".join(words)
        return json.dumps(text, ensure_ascii=False)[1:-1]

    def word(self, chance: random.Random) -> str:
        """One word."""
        return chance.choice(WORDS)

    def body(self, chance: random.Random, size: int) -> str:
        """About `size` bytes of lines."""
        count = max(1, int(size / self._mean))
        start = chance.randrange(len(self._lines))
        lines = self._lines[start : start + count]
        while len(lines) < count:
            lines += self._lines[: count - len(lines)]
        return "\\n".join(lines)

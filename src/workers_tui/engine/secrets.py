"""Finds keys and passwords in text before it leaves the machine.

One pass splits the text into words and looks the long ones up by how they
begin; the rest are looked for beside the words that give them away. What it
reports is masked: a finding never holds the secret.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from workers_tui.engine.denied import key_file
from workers_tui.engine.secret_kinds import KEYS, MARKED, HowRandom, KeyKind, MarkedKind

FINDINGS_LIMIT = 100
SHORTEST_KEY = 20
WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~"
TO_WORDS = bytes(byte if byte in WORD else 0x20 for byte in range(256))
"""Everything that no key is made of becomes a space."""
PLACEHOLDER = re.compile(
    # Short words count only where a word begins or ends: random keys hold any four letters.
    rb"example|sample|change.?me|placeholder|redacted|dummy|foo.?bar|lorem|insert|replace|undefined|"
    rb"(?<![a-z0-9])(?:your|fake|here)|(?:your|fake)[-_]|[-_]here|x{6}|\*\*\*|\.\.\.|1234567890|"
    rb"abcdefgh|<|>|\$\{|\{\{|%\(|process\.env|\{[a-z_.]+|arn:|[\w.]+\(|environ|getenv|"
    rb"secrets\.|vault:|\$[A-Z_(]",
    re.IGNORECASE,
)
CODE = re.compile(
    rb"(?:[A-Za-z]+|\w{1,3})(?:[_./:-]+(?:[A-Za-z]+|\w{1,3}))*[_./:-]*|[^A-Za-z]+", re.IGNORECASE
)
"""Names, dotted names and plain numbers: not random enough to be a secret."""
COMMON = re.compile(rb"(?i)\w*(?:pass|pwd|secret)\w*|postgres|root|admin|guest|user\w*|test|mysql")
"""Passwords of nobody's database, as documents show them."""
DIGITS_MEET_LETTERS = re.compile(rb"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")
UUID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
HEX = re.compile(rb"(?:0x)?[0-9a-f]+", re.IGNORECASE)
PATH_OR_URL = re.compile(rb"(?:\w+:/|[.~]{0,2}/[\w.-]+/|[\w-]+/[\w-]+/)")

denied_file = key_file
"""What kind of key file a path names, or None; such files are never sent."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret in a text, told without telling it."""

    kind: str
    line: int
    excerpt_masked: str
    """Its fixed beginning and its length."""
    fingerprint: str
    """First 12 hex digits of its SHA-256: goes into `allow_secrets`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a secret stands, in bytes."""

    kind: str
    start: int
    end: int
    shown: str


def scan(text: str, *, allow: Sequence[str] = ()) -> list[Finding]:
    """Every secret found, in order, at most a hundred. Blocking: call it in a thread.

    `allow` holds kinds, fingerprints, or globs of the harmless texts themselves.
    """
    raw = text.encode("utf-8", "replace")
    allowed = [entry.strip().lower() for entry in allow]
    found: list[Finding] = []
    last_end = line = counted = 0
    for hit in sorted([*_keys(raw), *_marked(raw)], key=lambda hit: (hit.start, -hit.end)):
        if hit.start < last_end:
            continue
        last_end = hit.end
        secret = raw[hit.start : hit.end]
        print_ = hashlib.sha256(secret).hexdigest()[:12]
        names = (hit.kind, print_, secret.decode("utf-8", "replace").lower())
        if any(fnmatchcase(name, entry) for name in names for entry in allowed):
            continue
        line += raw.count(b"\n", counted, hit.start)
        counted = hit.start
        found.append(Finding(hit.kind, line + 1, hit.shown, print_))
        if len(found) == FINDINGS_LIMIT:
            break
    return found


def _keys(raw: bytes) -> Iterator[Hit]:
    """Keys told by how they begin: words of key characters, looked up by two bytes."""
    words = {word for word in raw.translate(TO_WORDS).split() if len(word) >= SHORTEST_KEY}
    for word in words:
        for offset in _beginnings(word):
            pattern = BY_BEGINNING.get(word[offset : offset + 2])
            match = pattern.match(word, offset) if pattern else None
            if match and _random(match[0]):
                yield from _places(raw, match[0])
                break


def _beginnings(word: bytes) -> Iterator[int]:
    """Where a key may begin in a word: at its start, or after an escape such as `\\n`."""
    yield len(word) - len(word.lstrip(b"-._~"))
    if word[:1] in b"nrt":
        yield 1


def _places(raw: bytes, key: bytes) -> Iterator[Hit]:
    kind, begins = next((kind, begins) for kind, begins, one in ONE_BY_ONE if one.fullmatch(key))
    start = raw.find(key)
    while start >= 0:
        yield Hit(kind, start, start + len(key), _mask(begins, len(key)))
        start = raw.find(key, start + len(key))


def _marked(raw: bytes) -> Iterator[Hit]:
    """Secrets told by a word beside them."""
    low = raw.lower()
    for mark, tried in BY_MARK.items():
        at = low.find(mark)
        while at >= 0:
            for kind, pattern in tried:
                match = pattern.match(raw, at)
                if match and _is_secret(match["secret"], kind.random):
                    shown = _mask(f"{mark.decode()} ", len(match["secret"]))
                    yield Hit(kind.kind, *match.span("secret"), shown)
            at = low.find(mark, at + len(mark))


def _is_secret(secret: bytes, how_random: HowRandom) -> bool:
    if PLACEHOLDER.search(secret):
        return False
    if how_random is HowRandom.ANY:
        return len(set(secret)) > 2 and not (len(secret) <= 20 and COMMON.fullmatch(secret))
    if CODE.fullmatch(secret) or UUID.fullmatch(secret) or PATH_OR_URL.match(secret):
        return False
    if HEX.fullmatch(secret):
        return len(secret) == 32 and _entropy(secret) > 3  # longer ones are hashes as a rule
    if how_random is HowRandom.VERY and len(DIGITS_MEET_LETTERS.findall(secret)) < 4:
        return False  # a name such as Ed25519PrivateKey
    return _entropy(secret) > (2.4 if len(secret) < 16 else 3.3)


def _random(key: bytes) -> bool:
    return not PLACEHOLDER.search(key) and _entropy(key) > 2.7


def _entropy(data: bytes) -> float:
    """Bits per character, as far as the characters' frequencies tell."""
    size = len(data)
    return -sum(n / size * math.log2(n / size) for n in Counter(data).values())


def _mask(begins: str, length: int) -> str:
    return f"{begins}… ({length} characters)"


def _key_pattern(begins: str, rest: str) -> str:
    return f"{re.escape(begins)}(?:{rest})(?![A-Za-z0-9_])"


def _by_beginning(kinds: Sequence[KeyKind]) -> dict[bytes, re.Pattern[bytes]]:
    patterns: dict[bytes, list[str]] = {}
    for kind in kinds:
        for begins in kind.begins:
            patterns.setdefault(begins[:2].encode(), []).append(_key_pattern(begins, kind.rest))
    return {two: re.compile("|".join(some).encode()) for two, some in patterns.items()}


BY_BEGINNING = _by_beginning(KEYS)
ONE_BY_ONE = tuple(
    (kind.kind, begins, re.compile(_key_pattern(begins, kind.rest).encode()))
    for kind in KEYS
    for begins in kind.begins
)


def _by_mark(
    kinds: Sequence[MarkedKind],
) -> dict[bytes, list[tuple[MarkedKind, re.Pattern[bytes]]]]:
    marks: dict[bytes, list[tuple[MarkedKind, re.Pattern[bytes]]]] = {}
    for kind in kinds:
        pattern = re.compile(kind.pattern.encode(), re.IGNORECASE | re.MULTILINE)
        for mark in kind.marks:
            marks.setdefault(mark.encode(), []).append((kind, pattern))
    return marks


BY_MARK = _by_mark(MARKED)

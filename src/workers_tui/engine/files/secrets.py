"""Finds keys and passwords in text before it leaves the machine.

Three ways in: keys by how they begin, random values by the name before them,
and the rest beside the words that give them away. What it reports is masked: a
finding never holds the secret.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from workers_tui.engine.files.secret_kinds import KEYS, MARKED, TO_WORDS, WORD, KeyKind, MarkedKind
from workers_tui.engine.files.secret_names import NOTHING, TO_ZEROS, Told, told_before
from workers_tui.engine.files.secret_values import is_assigned_secret, is_random, is_secret

FINDINGS_LIMIT = 100
SHORTEST_KEY = 20
SHORTEST_VALUE = 15
LONGEST_VALUE = 400
NEAR, FAR = 24, 100
"""Bytes before a value in which its name is looked for: the few first, as they repeat."""
RUN = WORD + b"+/%"
"""What values are made of, apart from the padding at their end."""
TO_RUNS = bytes(byte if byte in RUN else 0x20 for byte in range(256))
INSIDE = frozenset(RUN)
TAIL = re.compile(rb"[A-Za-z0-9_.~+/=%-]*")
BEFORE_VALUE = frozenset(b"=:,>| \"'`")
AFTER_VALUE = frozenset(b" \t\r\n\"'`;,<&)}]\\#:")
QUOTED_BY = frozenset(b"\"'`>")
EQUALS, SLASH = b"=/"
DIGITS = b"0123456789"
NUMBER = b"0123456789abcdefABCDEF-_.T"
"""Of hexadecimal numbers, dates and versions."""
SHORTEST_NUMBER = 24
NO_VALUES = (b"/", b"sha512-", b"sha256-", b"sha384-", b"sha1-")
"""Beginnings of paths and of the hashes in lock files."""
NEARBY = 2000
"""A search in a longer stretch spends more on getting ready."""


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
    line = counted = 0
    runs = [run for run in raw.translate(TO_RUNS).split() if len(run) >= SHORTEST_VALUE]
    for hit in _apart([*_keys(runs, raw), *_marked(raw)], _assigned(runs, raw)):
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


def _apart(sure: Sequence[Hit], more: Iterable[Hit]) -> list[Hit]:
    """In order and without overlaps; those told by more than a name come before the others."""
    taken: list[Hit] = []
    extra: list[Hit] = []
    for hit in sorted(sure, key=lambda hit: (hit.start, -hit.end)):
        if not taken or hit.start >= taken[-1].end:
            taken.append(hit)
    starts = [hit.start for hit in taken]
    for hit in more:
        place = bisect_left(starts, hit.end)
        if not place or taken[place - 1].end <= hit.start:
            extra.append(hit)
    return sorted([*taken, *extra], key=lambda hit: hit.start)


def _keys(runs: Sequence[bytes], raw: bytes) -> Iterator[Hit]:
    """Keys told by how they begin: words of key characters, looked up by two bytes."""
    words = b" ".join(runs).translate(TO_WORDS).split()
    for word in {word for word in words if len(word) >= SHORTEST_KEY}:
        if word[:2] not in BY_BEGINNING and word[0] not in LEADING:
            continue
        for offset in _beginnings(word):
            pattern = BY_BEGINNING.get(word[offset : offset + 2])
            match = pattern.match(word, offset) if pattern else None
            if match and is_random(match[0]):
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
                if match and is_secret(match["secret"], kind.random):
                    shown = _mask(f"{mark.decode()} ", len(match["secret"]))
                    yield Hit(kind.kind, *match.span("secret"), shown)
            at = low.find(mark, at + len(mark))


def _assigned(runs: Sequence[bytes], raw: bytes) -> Iterator[Hit]:
    """Random values told by the name before them: `api_key = "..."`.

    Looks at values first, as few runs of a text are random, and then back for a name.
    """
    zeros = raw.translate(TO_ZEROS)
    at = 0
    for run in runs:
        if run.startswith(NO_VALUES) or not _may_be_random(run):
            continue
        at = _find(raw, run, at)
        before = raw[at - 1] if at else SLASH
        if before in BEFORE_VALUE and told_before(zeros[max(0, at - NEAR) : at]) is not NOTHING:
            told = told_before(zeros[max(0, at - FAR) : at], whole=True)
            if told and told.weight:
                yield from _valued(raw, at, at + len(run), told)
        at += len(run)


def _may_be_random(run: bytes) -> bool:
    """No name without digits, no short number; cheap, as it is asked of every run."""
    size = len(run)
    if len(run.translate(None, DIGITS)) == size:
        return False
    return size >= SHORTEST_NUMBER or len(run.translate(None, NUMBER)) > 0


def _find(raw: bytes, run: bytes, start: int) -> int:
    """Where the run stands by itself, not at the end of a longer one."""
    at = raw.find(run, start, start + NEARBY)
    if at < 0:
        at = raw.find(run, start)
    while at and raw[at - 1] in INSIDE:
        at = raw.find(run, at + 1)
    return at


def _valued(raw: bytes, at: int, end: int, told: Told) -> Iterator[Hit]:
    """The value that stands here beside a name that tells of a secret."""
    if end - at > LONGEST_VALUE:
        return
    end = TAIL.match(raw, end).end()  # type: ignore[union-attr]  # matches anything
    if end == len(raw) or raw[end] in AFTER_VALUE:
        setting = raw[at - 1] == EQUALS and (end == len(raw) or raw[end] in b"\r\n\\&")
        quoted = setting or raw[at - 1] in QUOTED_BY or told.kind == "environment-secret"
        value = raw[at:end].rstrip(b".")
        if is_assigned_secret(value, told.weight, quoted=quoted):
            yield Hit(told.kind, at, at + len(value), _mask(f"{told.kind} ", len(value)))


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
LEADING = frozenset(b"-._~nrt")
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

"""Whether a text looks like a secret rather than like a name, a number or a placeholder.

Pure functions of the bytes; where they stand is for the caller to know.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from workers_tui.engine.files.secret_kinds import HowRandom
from workers_tui.engine.files.secret_names import Weight

PLACEHOLDER = re.compile(
    # Short words count only where a word begins or ends: random keys hold any four letters.
    rb"example|sample|change.?me|placeholder|redacted|dummy|foo.?bar|lorem|insert|replace|undefined|"
    rb"(?<![a-z0-9])(?:your|fake|here)|(?:your|fake)[-_]|[-_]here|x{6}|\*\*\*|\.\.\.|1234567890|"
    rb"abcdefgh|<|>|\$\{|\{\{|%\(|process\.env|\{[a-z_.]+|arn:|[\w.]+\(|environ|getenv|"
    rb"secrets\.|vault:|\$[A-Z_(]|\[[A-Z_ ]+\]",
    re.IGNORECASE,
)
CODE = re.compile(
    rb"(?:[A-Za-z]+|\w{1,3})(?:[_./:-]+(?:[A-Za-z]+|\w{1,3}))*[_./:-]*|[^A-Za-z]+", re.IGNORECASE
)
"""Names, dotted names and plain numbers: not random enough to be a secret."""
COMMON = re.compile(
    rb"(?i)[\w%]*(?:pass|pwd|secret)\w*|[\w:]*anon\w*|postgres|root|admin|guest|user\w*|test|mysql"
)
"""Passwords of nobody's database, as documents show them."""
COMMON_SHORT = re.compile(rb"(?i)\w{0,4}(?:pass(?:word|wd)?|pwd|secret)\w{0,4}")
UUID = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
HEX = re.compile(rb"(?:0x)?[0-9a-f]+", re.IGNORECASE)
PATH_OR_URL = re.compile(rb"(?:\w+:/|[.~]{0,2}/[\w.-]+/|[\w-]+/[\w-]+/)")
ADDRESS = re.compile(rb"(?:\w+:/|[.~]{1,2}/|/[a-z]+/|[\w-]+(?:\.[a-z-]+)+(?:[/:]|$))")
RUNS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
"""As a reader splits a name: `Http2Server` is three."""
DIGITS_MEET_LETTERS = re.compile(rb"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")
CONSONANTS = re.compile(rb"[bcdfghj-np-tv-z]{4}", re.IGNORECASE)
"""Rare in words, at every third place in a random value."""
SEPARATED = re.compile(rb"[-_.~/+=]+")
MASKED = re.compile(rb"([xX0*.#_-])\1{5}")
# Characters in a run on average: a random value has 1.6 to 4, a name mostly over 3.
LOOKS: dict[Weight | None, tuple[tuple[float, int], ...]] = {
    Weight.LITTLE: ((3.0, 0),),
    Weight.MUCH: ((3.7, 0), (5.0, 3)),
    None: ((2.6, 0), (3.8, 4)),
}
"""Longest runs with the places where digits meet letters that they need; None is program text."""
SHORTEST = {Weight.LITTLE: 20, Weight.MUCH: 15}


def is_secret(secret: bytes, how_random: HowRandom) -> bool:
    """Whether what stands at a mark is a secret."""
    if PLACEHOLDER.search(secret):
        return False
    if how_random is HowRandom.ANY:
        return len(set(secret)) > 2 and not (len(secret) <= 20 and COMMON.fullmatch(secret))
    if COMMON_SHORT.fullmatch(secret):
        return False
    if CODE.fullmatch(secret) or UUID.fullmatch(secret) or PATH_OR_URL.match(secret):
        return False
    if HEX.fullmatch(secret):
        return len(secret) == 32 and entropy(secret) > 3  # longer ones are hashes as a rule
    return entropy(secret) > (2.4 if len(secret) < 16 else 3.3)


def is_assigned_secret(value: bytes, weight: Weight, *, quoted: bool) -> bool:
    """Whether the value of a name that says this much is a secret."""
    if len(value) < SHORTEST[weight] or PLACEHOLDER.search(value) or MASKED.search(value):
        return False
    if UUID.fullmatch(value) or HEX.fullmatch(value):
        return weight is Weight.MUCH and _random_number(value)
    if CODE.fullmatch(value) or ADDRESS.match(value):
        return False
    text = quoted or (value.isalnum() and value.islower())  # names of this length have humps
    if entropy(value) <= 2.9:
        return False
    looks = LOOKS[weight if text else None]
    unspeakable = text and weight is Weight.MUCH and len(CONSONANTS.findall(value)) >= 2
    return unspeakable or _random_runs(value, looks)


def is_random(key: bytes) -> bool:
    """Whether what follows a key's fixed beginning is more than filling."""
    return not PLACEHOLDER.search(key) and entropy(key) > 2.7


def entropy(data: bytes) -> float:
    """Bits per character, as far as the characters' frequencies tell."""
    size = len(data)
    return -sum(n / size * math.log2(n / size) for n in Counter(data).values())


def _random_number(value: bytes) -> bool:
    """A key of hexadecimal digits is 24 to 128 long, with letters and digits among them."""
    return (
        24 <= len(value) <= 128
        and value[:2] != b"0x"
        and not value.isdigit()
        and entropy(value) > 2.9
    )


def _random_runs(value: bytes, looks: tuple[tuple[float, int], ...]) -> bool:
    plain = SEPARATED.sub(b"", value)
    runs, meetings = len(RUNS.findall(plain)), len(DIGITS_MEET_LETTERS.findall(value))
    return len(plain) >= 12 and any(
        runs * longest >= len(plain) and meetings >= needed for longest, needed in looks
    )

"""Answers that look like work: by the task's words, always the same for the same task.

Nothing here is clever; it is there so that a demo reads like a working day.
"""

from __future__ import annotations

import hashlib
import random
import re

SUMMARY = (
    "- 14:02 to 14:31: `disk full` on /var, 17 times, first from backup.sh",
    "- 14:40: three requests to /login failed with 502, upstream auth-2",
    "- 15:07: the connection pool ran dry (64 of 64), recovered after 90 s",
    "- two warnings repeat every minute: clock skew of 1.8 s on node-3, deprecated TLS on smtp-1",
    "- no error after 15:12; the nightly job ended with exit code 0",
    "- the longest gap between two lines is 4 min 10 s, at 14:33",
    "- 61 % of all lines come from the scheduler and say nothing of use",
    "- the failed requests share one client address, 10.4.0.17",
)
REVIEW = (
    "The lock is taken after the check, so two callers can both see it open and close it twice.",
    "`retry` swallows the last exception: after the loop it returns None instead of raising.",
    "The cache key leaves out the locale; a French page can be served to a German reader.",
    "A negative offset passes `parse_range` and becomes an index from the end of the file.",
    "The timeout covers the connection only, not the body: a slow peer holds the worker for ever.",
    "`sorted(rows)[:limit]` sorts a million rows to take ten; `heapq.nsmallest` needs one pass.",
)
CODE = '''def parse_range(text: str, size: int) -> tuple[int, int]:
    """Turn `10-200` into a first and a last line, both within the file."""
    first, dash, last = text.partition("-")
    start = int(first)
    end = int(last) if dash and last else start
    if start < 1 or end < start:
        raise ValueError(f"not a range of lines: {text!r}")
    return start, min(end, size)
'''
TESTS = """import pytest

from parser import parse_range


def test_a_single_line_is_a_range_of_one():
    assert parse_range("7", 10) == (7, 7)


def test_the_end_is_held_to_the_file():
    assert parse_range("7-99", 10) == (7, 10)


@pytest.mark.parametrize("text", ["0", "5-4", "-3", "x"])
def test_nonsense_is_refused(text):
    with pytest.raises(ValueError):
        parse_range(text, 10)
"""
DIFF = """--- a/app/pages.py
+++ b/app/pages.py
@@ -41,9 +41,9 @@ def page_of(rows, number, size=50):
-    start = number * size
-    return rows[start:start + size], len(rows) // size
+    start = (number - 1) * size
+    pages = -(-len(rows) // size)
+    return rows[start:start + size], pages
"""
KINDS = (
    (r"\btests?\b|pytest|unit test", "tests"),
    (r"\bdiff\b|fix|patch|refactor|rename|pagination", "diff"),
    (r"\bcode\b|implement|function|write a|script|boilerplate", "code"),
    (r"review|opinion|debug|why|race|bug|risk", "review"),
)


def answer_for(task: str, model: str = "") -> str:
    """A plausible answer; equal tasks get equal answers."""
    seed = hashlib.sha256(f"{model}\n{task}".encode()).digest()
    dice = random.Random(seed)
    asked = task[-2000:].rpartition("Task:\n")[2]  # files that come before it say nothing of it
    kind = next(
        (name for words, name in KINDS if re.search(words, asked, re.IGNORECASE)), "summary"
    )
    if kind == "tests":
        return f"```python\n{TESTS}```\n"
    if kind == "diff":
        return f"```diff\n{DIFF}```\n"
    if kind == "code":
        return f"```python\n{CODE}```\n"
    lines = list(REVIEW if kind == "review" else SUMMARY)
    dice.shuffle(lines)
    chosen = lines[: dice.randint(3, len(lines))]
    if kind == "review":
        return "\n\n".join(f"{number}. {line}" for number, line in enumerate(chosen, 1)) + "\n"
    return "\n".join(chosen) + "\n"

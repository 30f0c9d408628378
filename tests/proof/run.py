"""Shows that tests fail without the code they are for: `make proof`, or

    python -m tests.proof.run [AREA …] [--only WORDS]… [--jobs N]

Each line of a table names a promise, the code that keeps it and the tests that
hold it. In a copy of the project the code is taken out; a named test that still
passes proves nothing and is reported.
"""

from __future__ import annotations

import argparse
import importlib
import queue
import sys
import tempfile
import time
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.proof.copies import Copy
from tests.proof.promise import Moved, Promise, change
from tests.proof.runs import of, outcomes

AREAS = ("doors", "files", "money")


def main(arguments: list[str]) -> int:
    """0 when every promise is proven, else 1."""
    given = _given(arguments)
    promises = [one for area in given.areas or AREAS for one in table(area)]
    wanted = [one for one in promises if any(words in one.says for words in given.only or [""])]
    if not wanted:
        print("no promise has these words")
        return 1
    with tempfile.TemporaryDirectory(prefix="proof-") as place:
        workers: queue.Queue[Copy] = queue.Queue()
        for number in range(given.jobs):
            workers.put(Copy(Path(place) / str(number)))
        copies = list(workers.queue)
        with ThreadPoolExecutor(given.jobs) as pool:
            shares = [_tests(wanted)[number :: given.jobs] for number in range(given.jobs)]
            before = dict(ChainMap(*pool.map(outcomes, copies, shares)))
            good = list(pool.map(lambda one: _shown(one, before, workers), wanted))
    print(f"{sum(good)} of {len(good)} promises are proven")
    return 0 if all(good) else 1


def table(area: str) -> tuple[Promise, ...]:
    """The promises of one area."""
    promises: tuple[Promise, ...] = importlib.import_module(f"tests.proof.{area}").PROMISES
    return promises


def _tests(promises: list[Promise]) -> list[str]:
    """All tests that are named, once each and side by side where they share a file."""
    return sorted({test for promise in promises for test in promise.tests})


def _given(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proof", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument(
        "--only", action="append", help="only promises with these words; may be given again"
    )
    parser.add_argument("--jobs", type=int, default=1, help="copies at work at once")
    return parser.parse_args(arguments)


def _shown(promise: Promise, before: dict[str, bool], workers: queue.Queue[Copy]) -> bool:
    copy = workers.get()
    began = time.monotonic()
    try:
        wrong = doubts(promise, before, copy)
    finally:
        workers.put(copy)
    mark = "NOT PROVEN" if wrong else "ok"
    print(f"{mark:10} {promise.says} ({time.monotonic() - began:.0f} s)", flush=True)
    for line in wrong:
        print(f"           {line}", flush=True)
    return not wrong


def doubts(promise: Promise, before: dict[str, bool], copy: Copy) -> list[str]:
    """What keeps a promise from being proven; nothing when it is.

    `before` is how the tests ended with everything in place.
    """
    source = copy.place / "src" / "workers_tui"
    wrong = [f"{test} does not pass" for test in promise.tests if not _all(of(test, before))]
    if wrong:
        return wrong
    try:
        text = change(promise, source)
    except Moved as error:
        return [str(error)]
    try:
        after = outcomes(copy, promise.tests)
    finally:
        (source / promise.file).write_text(text, encoding="utf-8")
    return [doubt for test in promise.tests if (doubt := _doubt(test, of(test, after)))]


def _doubt(test: str, found: list[bool]) -> str:
    # A change that nothing can import proves as little as one that nobody notices.
    if not found:
        return f"{test} did not run without the code"
    return f"{test} passes without the code" if all(found) else ""


def _all(found: list[bool]) -> bool:
    return bool(found) and all(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

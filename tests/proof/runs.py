"""Runs named tests in a copy of the project and says of each whether it passed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable

from tests.proof.copies import Copy, environment

PATIENCE = 120.0
EACH = 20.0
"""Seconds for a run, and for each of its tests; a change may make a program wait for ever."""
OPTIONS = (
    *("-q", "-rA", "--tb=no", "--timeout", "45"),
    *("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-o", "addopts=--strict-markers --strict-config --import-mode=importlib"),
)
LINE = re.compile(r"^(PASSED|FAILED|ERROR) (tests/\S+)")


def outcomes(copy: Copy, tests: Iterable[str]) -> dict[str, bool]:
    """By node id, parameters included: whether it passed. What was skipped is not there."""
    wanted = [f"tests/{test}" for test in tests]
    command = [str(copy.python), "-m", "pytest", *OPTIONS, *wanted]
    process = subprocess.Popen(
        command,
        cwd=copy.place,
        env={**environment(), "PYTEST_DEBUG_TEMPROOT": str(copy.place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=PATIENCE + EACH * len(wanted))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
    found: dict[str, bool] = {}
    for line in said.splitlines():
        if match := LINE.match(line):
            name = match[2].removeprefix("tests/")
            found[name] = found.get(name, True) and match[1] == "PASSED"
    return found


def of(test: str, found: dict[str, bool]) -> list[bool]:
    """The outcomes of one named test, one for each of its parameters."""
    return [passed for name, passed in found.items() if name.split("[")[0] == test or name == test]

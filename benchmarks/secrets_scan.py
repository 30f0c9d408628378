"""How long the key scan of 300 KB takes, for texts of several kinds; target 10 ms.

python benchmarks/secrets_scan.py
"""

from __future__ import annotations

import base64
import inspect
import json
import random
import statistics
import time
import typing
from collections.abc import Callable

from workers_tui.engine.secrets import scan

SIZE = 300_000
RUNS = 15
TARGET_MS = 10.0
RANDOM = random.Random(1)


def _code() -> str:
    return inspect.getsource(typing) * 3


def _log() -> str:
    line = "2026-11-29T20:{:02}:07Z INFO worker-{} id={:016x} path=/api/v1/users/{} took {}ms"
    return "\n".join(
        line.format(n % 60, n % 9, RANDOM.getrandbits(64), n, n % 900) for n in range(4000)
    )


def _base64() -> str:
    return base64.b64encode(RANDOM.randbytes(SIZE)).decode()


def _lock_file() -> str:
    entries = {
        f"node_modules/p{n}": {"version": f"1.0.{n}", "integrity": "sha512-" + _base64()[:86]}
        for n in range(20)
    }
    return json.dumps(entries, indent=2) * 150


TEXTS: dict[str, Callable[[], str]] = {
    "source code": _code,
    "log": _log,
    "base64": _base64,
    "lock file": _lock_file,
}


def main() -> None:
    """Print one row per kind of text."""
    print(f"{'text':<14}{'median ms':>10}{'best ms':>10}{'found':>7}   target {TARGET_MS} ms")
    for name, make in TEXTS.items():
        text = make()[:SIZE]
        times = []
        for _ in range(RUNS):
            started = time.perf_counter()
            found = scan(text)
            times.append((time.perf_counter() - started) * 1000)
        median, best = statistics.median(times), min(times)
        print(f"{name:<14}{median:>10.2f}{best:>10.2f}{len(found):>7}")


if __name__ == "__main__":
    main()

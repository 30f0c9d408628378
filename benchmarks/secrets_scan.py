"""How much processor time the key scan of 300 KB takes, for texts of several kinds.

Target 10 ms. Time on the processor, as other programs must not count:
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

from workers_tui.engine.files.secrets import scan

SIZE = 300_000
RUNS = 25
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


def _minified() -> str:
    line = 'var {0}{1}=function(e,t){{return e.token{1}&&t.key[{1}]?n("{0}"):{{id:"{2:x}"}}}};'
    return "".join(line.format("abcdefgh"[n % 8], n, RANDOM.getrandbits(48)) for n in range(4000))


def _settings() -> str:
    line = "ACME_{0}_URL=https://a.example/{0}\nACME_{0}_TOKEN=${{T{0}}}\nkey_{0}_id: {1:032x}\n"
    return "".join(line.format(n, RANDOM.getrandbits(128)) for n in range(4000))


TEXTS: dict[str, Callable[[], str]] = {
    "source code": _code,
    "log": _log,
    "base64": _base64,
    "lock file": _lock_file,
    "minified code": _minified,
    "settings": _settings,
}


def main() -> None:
    """Print one row per kind of text."""
    print(f"{'text':<14}{'median ms':>10}{'best ms':>10}{'found':>7}   target {TARGET_MS} ms")
    for name, make in TEXTS.items():
        text = make()[:SIZE]
        times = []
        for _ in range(RUNS):
            started = time.process_time()
            found = scan(text)
            times.append((time.process_time() - started) * 1000)
        median, best = statistics.median(times), min(times)
        print(f"{name:<14}{median:>10.2f}{best:>10.2f}{len(found):>7}")


if __name__ == "__main__":
    main()

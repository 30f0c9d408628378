"""Row 12: from start to the first paint, against an empty Textual app, in turns."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import bytecode
from tests.walk.terminal import PtyProgram

RUNS = 9
EMPTY = (
    "from textual.app import App\n"
    "from textual.widgets import Static\n"
    "class Empty(App):\n"
    "    def compose(self):\n"
    "        yield Static('painted')\n"
    "Empty().run()\n"
)
TARGET = 1.3


def first_paint(command: list[str], wanted: bytes, home: Path) -> float:
    """Milliseconds from exec until the terminal shows the bytes."""
    environ = dict(os.environ) | {"WORKERS_HOME": str(home), "TERM": "xterm-256color"}
    program = PtyProgram(command, environ)
    try:
        program.wait_for(wanted)
        return (time.perf_counter() - program.started) * 1_000
    finally:
        program.close()


def main() -> int:
    """Print both medians and their ratio; 1 when the target is missed."""
    bytecode.kept()
    ours, empty = [], []
    binary = Path(sys.executable).with_name("workers-tui")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS + 1):
            empty.append(first_paint([sys.executable, "-c", EMPTY], b"painted", Path(folder)))
            ours.append(first_paint([str(binary), "--port", "0"], b"workers", Path(folder)))
    # The first run of each fills the page cache and writes bytecode.
    mine, theirs = statistics.median(ours[1:]), statistics.median(empty[1:])
    ratio = mine / theirs
    print(f"first paint: workers-tui {mine:.0f} ms, empty Textual app {theirs:.0f} ms")
    print(f"ratio {ratio:.2f}, target <= {TARGET}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())

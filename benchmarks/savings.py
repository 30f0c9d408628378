"""Speed and size of the savings, beside ccusage on the same tree.

    python -m benchmarks.savings ROW [--tree DIR] [--ccusage FILE] [--runs 7]

ROW: exact, scan, cat, cold, index, warm, append, memory, or all. Without
`--tree` a tree of 1 GB is generated in a temporary directory. Every figure is
the median of paired runs: both programs run in turn, so that a busy machine is
busy for both. `cold` wants the page cache dropped, which takes root.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import bytecode
from benchmarks.savings_live import measure_live

PYTHON = sys.executable
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Setting:
    """What is compared, and where."""

    tree: Path
    ccusage: Path
    runs: int
    work: Path

    @property
    def environ(self) -> dict[str, str]:
        """For every program here; ours may keep its bytecode, as it does where it is installed."""
        mine = {**os.environ, "CLAUDE_CONFIG_DIR": str(self.tree), "TZ": "UTC"}
        mine.pop("PYTHONDONTWRITEBYTECODE", None)
        return mine

    def peer(self) -> list[str]:
        """The peer, as its users run it."""
        return [str(self.ccusage), "daily", "--json", "--offline"]

    def ours(self, *more: str, home: str = "home") -> list[str]:
        """Our command with a home of its own."""
        options = ["--home", str(self.work / home), "savings", "--json"]
        where = ["--claude-dir", str(self.tree), "--workers-root", str(self.work / "none")]
        return [PYTHON, "-m", "workers_tui", *options, *where, *more]

    def cat(self) -> list[str]:
        """Reading every byte, and nothing else."""
        find = f"find {self.tree}/projects -name '*.jsonl' -print0 | xargs -0 cat > /dev/null"
        return ["sh", "-c", find]


@dataclass(frozen=True)
class Run:
    """One run of a program."""

    wall: float
    cpu: float
    """With its children."""
    mib: float
    """Largest process among it and its children."""


LAUNCHER = """
import json, os, sys, time
begun = time.perf_counter()
quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(pid, 0)
wall, cpu = time.perf_counter() - begun, usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), wall, cpu, usage.ru_maxrss / 1024]))
"""
"""A program begins as large as the one that starts it, so a small one does."""


def run(command: list[str], environ: dict[str, str]) -> Run:
    """Run a program to its end."""
    launch = [PYTHON, "-I", "-S", "-c", LAUNCHER, *command]
    told = subprocess.run(launch, env=environ, capture_output=True, text=True, check=True)
    code, *figures = json.loads(told.stdout)
    if code:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Run(*figures)


def paired(
    setting: Setting, ours: list[str], peer: list[str], before: Callable[[], None] | None = None
) -> tuple[list[Run], list[Run]]:
    """Both in turn, as often as asked."""
    runs: tuple[list[Run], list[Run]] = ([], [])
    for _ in range(setting.runs):
        for command, done in zip((ours, peer), runs, strict=True):
            if before is not None:
                before()
            done.append(run(command, setting.environ))
    return runs


def tell(row: str, what: str, ours: float, peer: float, target: str, unit: str = "s") -> None:
    """One line: our figure, the peer's, their ratio, the target."""
    ratio = ours / peer if peer else float("nan")
    print(f"{row:>7}  {what:<34} {ours:8.3f} {unit}  {peer:8.3f} {unit}  {ratio:6.3f}  {target}")


def compare(row: str, runs: tuple[list[Run], list[Run]], targets: dict[str, str]) -> None:
    """Medians of the wanted figures."""
    for what, target in targets.items():
        medians = [statistics.median(getattr(one, what) for one in side) for side in runs]
        tell(row, what, medians[0], medians[1], target, "MiB" if what == "mib" else "s")


# the rows


def exact(setting: Setting) -> None:
    """Row 0: totals equal the truth, cold, warm and without an index."""
    truth = json.loads((setting.tree / "truth.json").read_text(encoding="utf-8"))
    for name, more in (("cold", []), ("warm", []), ("no index", ["--no-index"])):
        for axis in ("model", "day", "project"):
            command = setting.ours("--by", axis, *more, home="exact")
            found = subprocess.run(command, env=setting.environ, capture_output=True, check=True)
            groups = {row["key"]: _counts(row) for row in json.loads(found.stdout)["by"]}
            wanted = {key: _truth(row) for key, row in truth[f"by_{axis}"].items()}
            print(f"  exact  {name:<9} by {axis:<8} {'equal' if groups == wanted else 'DIFFERENT'}")


NAMES = {
    "messages": "messages",
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_creation": "cache_creation_input_tokens",
    "cache_creation_1h": "cache_creation_1h",
    "cache_read": "cache_read_input_tokens",
}


def _counts(row: dict[str, Any]) -> list[int]:
    return [row[name] for name in NAMES]


def _truth(row: dict[str, int]) -> list[int]:
    return [row[name] for name in NAMES.values()]


def scan(setting: Setting) -> None:
    """Row 1: a scan without an index, pages in the cache."""
    run(setting.cat(), setting.environ)
    runs = paired(setting, setting.ours("--no-index"), setting.peer())
    compare("scan", runs, {"wall": "<= 0.65", "cpu": "<= 0.60"})


def cat(setting: Setting) -> None:
    """Row 2: the same against reading the bytes."""
    runs = paired(setting, setting.ours("--no-index"), setting.cat())
    compare("cat", runs, {"cpu": "<= 5"})


def cold(setting: Setting) -> None:
    """Row 2: the same with an empty page cache."""
    runs = paired(setting, setting.ours("--no-index"), setting.cat(), drop_caches)
    compare("cold", runs, {"wall": "<= 1.3"})


def drop_caches() -> None:
    """Forget what the kernel keeps of files."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")


def index(setting: Setting) -> None:
    """Row 3: the first build of the index."""

    def forget() -> None:
        shutil.rmtree(setting.work / "index", ignore_errors=True)

    runs = paired(setting, setting.ours(home="index"), setting.peer(), forget)
    compare("index", runs, {"cpu": "<= 0.75", "wall": ""})


def warm(setting: Setting) -> None:
    """Row 4: a start when nothing is new."""
    run(setting.ours(), setting.environ)
    runs = paired(setting, setting.ours(), setting.peer())
    compare("warm", runs, {"wall": "<= 0.083"})
    script = f"""
import sys, time
from pathlib import Path
from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts.indexer import Indexer
from workers_tui.engine.transcripts.transcript_files import find_sources
conn = store_file.connect(Path({str(setting.work / "home" / "index.db")!r}), durable=False)
sources = find_sources({{}}, claude_dirs=[Path({str(setting.tree)!r})], workers_root=Path("/none"))
indexer = Indexer(lambda work: work(conn), sources)
for _ in range(8):
    begun = time.perf_counter()
    done = indexer.refresh()
    print(time.perf_counter() - begun, done.files)
"""
    told = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True)
    times = sorted(float(line.split()[0]) for line in told.stdout.splitlines())
    tell("warm", "refresh in process", times[len(times) // 2] * 1000, 60, "<= 60 ms", "ms")


def append(setting: Setting) -> None:
    """Row 5: from an appended line to new totals on the board."""
    copy = setting.work / "live"
    shutil.copytree(setting.tree, copy)
    asyncio.run(measure_live(copy, setting.work / "live-home"))
    shutil.rmtree(copy)


def memory(setting: Setting) -> None:
    """Row 6: memory of a scan, cold and warm."""
    runs = paired(setting, setting.ours("--no-index"), setting.peer())
    compare("memory", runs, {"mib": "<= 0.6"})
    bare = run([PYTHON, "-c", "import workers_tui.cli.main"], setting.environ)
    launcher = run(["true"], setting.environ)
    run(setting.ours(), setting.environ)
    warm = run(setting.ours(), setting.environ)
    if bare.mib < 1.2 * launcher.mib:
        raise SystemExit("the program is as small as what starts it: nothing was measured")
    tell("memory", "warm", warm.mib, bare.mib, f"<= {bare.mib + 40:.0f} MiB", "MiB")


ROWS = {row.__name__: row for row in (exact, scan, cat, cold, index, warm, append, memory)}


@contextmanager
def setting_of(options: argparse.Namespace) -> Iterator[Setting]:
    """The setting, with a tree if none is given; what was made is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="savings-") as work:
        tree = options.tree or Path(work, "tree")
        Path(work, "none").mkdir()
        if options.tree is None:
            command = [PYTHON, "-m", "benchmarks.gen_transcripts", "--out", str(tree)]
            subprocess.run([*command, "--bytes", options.bytes], cwd=ROOT, check=True)
        yield Setting(tree.resolve(), options.ccusage, options.runs, Path(work))


def main() -> int:
    """Measure the rows that are named."""
    bytecode.kept()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("row", choices=[*ROWS, "all"])
    parser.add_argument("--tree", type=Path, help="directory from gen_transcripts")
    parser.add_argument("--bytes", default="1g", help="size of the tree to generate")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--ccusage", type=Path, default=shutil.which("ccusage") or "ccusage")
    options = parser.parse_args()
    with setting_of(options) as setting:
        print(f"{'row':>7}  {'what':<34} {'ours':>10}  {'peer':>10}  {'ratio':>6}  target")
        for name, row in ROWS.items():
            if options.row == name or (options.row == "all" and name != "cold"):
                row(setting)
    print(f"largest process here: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

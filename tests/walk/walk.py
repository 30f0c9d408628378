"""`make walk`: the demo in tmux, through every key at five sizes, under load.

Each step presses keys, waits for a text, and saves a picture under
.cache/walk/SIZE/. A step whose text never comes ends the walk with the screen.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "screenshots")]

from tests.walk.tmux import NeverCame, Window  # noqa: E402 - the path is set above

SIZES = ((200, 50), (140, 45), (100, 30), (80, 24), (60, 15))
PICTURES = ROOT / ".cache" / "walk"
FACTS = r"│ state  "
HOME = r"(?m)^.?. *Jobs ──"
SETTLES = 0.5
"""Seconds in which a screen gets what it loads, after its text came."""


@dataclass(frozen=True)
class Step:
    """Keys to press and what must then be on the screen."""

    name: str
    keys: tuple[str, ...]
    shows: str
    """A regular expression."""
    typed: str = ""
    """Text typed after the keys."""
    gone: str = ""
    """What must not be on the screen any more."""
    timeout: float = 20.0


def steps(wide: bool) -> Sequence[Step]:
    """Every key, in an order that leaves each screen as it was found."""
    twice = 2 if wide else 1

    def full(key: str, name: str, shows: str) -> tuple[Step, Step]:
        return (
            Step(name, (key,) * twice, shows),
            Step(
                f"{name}-back", ("Escape",), HOME, gone=r"esc back +e edit|Where it went|i formula"
            ),
        )

    return (
        Step("start", (), r"[1-9] ended", timeout=60),
        Step("move", ("j", "k", "Down", "Up", "G", "g", "End", "Home", "PPage", "NPage"), HOME),
        Step("help", ("?",), r"Open what the cursor is on"),
        Step("help-end", ("G",), r"keymap\.json"),
        Step("help-back", ("Escape",), HOME, gone="keymap"),
        Step("palette", ("C-p",), r"Search for commands|Open what"),
        Step("palette-search", (), r"(?s)theme.*Choose a theme", typed="theme"),
        Step("palette-back", ("Escape",), HOME),
        Step("detail", ("G", "Enter"), FACTS),
        Step("detail-scroll", ("j", "k", "Tab", "G", "g"), r"state"),
        Step("detail-back", ("Escape",), HOME, gone=FACTS),
        Step("filter", ("/",), r"filter:"),
        Step("filter-typed", (), r"filter: state:done", typed="state:done"),
        Step("filter-kept", ("Enter",), r"/state:done"),
        Step("filter-back", ("Escape",), HOME, gone="/state:done"),
        Step("nothing", ("/",), r"filter: zzzz", typed="zzzz"),
        Step("nothing-kept", ("Enter",), r"No job matches"),
        Step("nothing-back", ("Escape",), HOME, gone="No job matches"),
        Step("pause", ("p",), r"paused|No new call"),
        Step("resume", ("p",), HOME, gone="paused"),
        Step("cap", ("b",), r"free until|below spent"),
        Step("cap-wrong", (), r"type dollars", typed="x"),
        Step("cap-gone", ("Escape",), HOME, gone="type dollars"),
        Step("cap-new", ("b",), r"free until", typed="9"),
        Step("cap-saved", ("Enter",), r"of \$9|The cap is \$9"),
        Step("undo", ("u",), r"Undone"),
        *full("2", "tiers", r"fast +deepseek"),
        *full("3", "budget", r"By tier"),
        Step("savings", ("4",) * twice, r"this session|all time|No saving yet"),
        Step("savings-formula", ("i",), r"How it is counted"),
        Step("savings-figures", ("i",), r"this session|all time|No saving yet"),
        Step("savings-end", ("G",), r"Savings ──"),
        Step("savings-back", ("Escape",), HOME, gone="i formula"),
        Step("workers", ("W",), r"glm +\w+ .*glm-5|glm +glm-5"),
        Step("workers-back", ("Escape",), HOME, gone="Workers ──"),
        Step("agent", (), r"/kind:agent", typed="1/kind:agent\r"),
        Step("agent-runs", (), r"glm"),
        Step("agent-steps", ("g", "Enter"), r"Steps ── s shows the output"),
        Step("agent-output", ("s",), r"Output ── s shows the steps"),
        Step("agent-back", ("Escape",), HOME, gone="s shows the"),
        Step("agent-all", ("Escape",), HOME, gone="/kind:agent"),
        *full("5", "events", r"(?i)events ──"),
        Step("picker", ("1", "e"), r"type to search|No tier"),
        Step("picker-search", (), r"(?s)flash.*deepseek/deepseek-v4-flash", typed="flash"),
        Step("picker-back", ("Escape",), HOME, gone="type to search"),
        Step("themes", ("T",), r"(?s)Theme.*dracula"),
        Step("themes-search", (), r"nord", typed="nord", gone="dracula"),
        Step("themes-back", ("Escape",), HOME, gone="nord"),
        Step("history", ("h",), r"(?s)History ── [0-9].*[0-9]{2}:[0-9]{2}"),
        Step("history-moves", ("j", "j", "G", "g"), r"History ──"),
        Step("history-detail", ("Enter",), FACTS),
        Step("history-back", ("Escape", "Escape"), HOME, gone="History ──"),
        Step("ask", (), r"task for a worker: Count the words", typed="nCount the words"),
        Step("asked", ("Enter",), HOME, gone="task for a worker"),
        Step("again", ("G", "r"), r"repeats|is queued|agent"),
        Step("again-on", ("R",), r"again on"),
        Step("again-on-back", ("Escape",), HOME, gone="again on"),
        Step("copy", ("y",), r"Copied|no output"),
        Step("save", ("G", "w"), r"save to:|no output"),
        Step("save-back", ("Escape",), HOME, gone="save to:"),
        Step("try", ("1", "t"), r"works|Testing|does not work|No tier", timeout=40),
        Step("accept-nothing", ("G", "a"), r"asks nothing|goes on"),
        Step("reject-nothing", ("G", "x"), r"asks nothing|is refused"),
        Step("steps", ("f",), r"Only an agent|next task"),
        Step("panes", ("Escape", "Tab", "Tab", "BTab", "F", "C-l"), HOME),
        Step("first-steps", ("S",), r"A key for a provider"),
        Step("first-steps-connect", ("m",), r"The demo connects nothing"),
        Step("first-steps-local", ("l",), r"No local model server|Tier local"),
        Step("first-steps-back", ("Escape",), HOME, gone="A key for a provider"),
        Step("cancel", ("g", "c"), HOME),
        Step("cancel-all", ("C",), r"y/n|No job runs"),
        Step("cancel-all-no", ("n",), HOME, gone="y/n"),
    )


def accept_and_reject(window: Window) -> None:
    """Find a job that asks, and accept it."""
    window.press("1", "/")
    window.wait_for(r"filter:")
    window.type("state:asking")
    window.press("Enter")
    window.wait_for(r"waits for you|No job matches", 30)
    if "waits for you" in window.text():
        window.press("g", "a")
        window.wait_for("goes on|asks nothing")
    window.press("Escape")
    window.wait_gone("/state:asking")


def walk(size: tuple[int, int], picture: Callable[[str], None], window: Window) -> None:
    """All steps at one size."""
    for step in steps(size[0] >= 120):
        window.press(*step.keys)
        if step.typed:
            window.type(step.typed)
        window.wait_for(step.shows, step.timeout)
        if step.gone:
            window.wait_gone(step.gone, step.timeout)
        time.sleep(SETTLES)
        picture(step.name)
    accept_and_reject(window)
    window.press("q")
    window.wait_for("y/n|^$", 10)
    window.press("y")
    end = time.monotonic() + 15
    while window.alive and time.monotonic() < end:
        time.sleep(0.1)
    if window.alive:
        raise NeverCame(f"it did not end at {size}:\n{window.text()}")


def main() -> int:
    """Walk at each size; 1 at the first step that fails."""
    draw = importlib.import_module("terminal_picture").draw
    options = argparse.ArgumentParser()
    options.add_argument("sizes", nargs="*", help="such as 80x24; all five without")
    wanted = options.parse_args().sizes
    binary = Path(sys.executable).with_name("workers-tui")
    for size in SIZES:
        name = f"{size[0]}x{size[1]}"
        if wanted and name not in wanted:
            continue
        folder = PICTURES / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        window = Window([str(binary), "--demo"], size)
        count = 0

        def picture(step: str, window: Window = window, folder: Path = folder) -> None:
            nonlocal count
            count += 1
            image = draw(window.coloured(), *window.size)
            image.save(folder / f"{count:02}-{step}.png")
            (folder / f"{count:02}-{step}.txt").write_text(window.text(), encoding="utf-8")

        try:
            walk(size, picture, window)
        except NeverCame as failed:
            print(f"{name}: after {count} steps: {failed}")
            return 1
        finally:
            window.close()
        print(f"{name}: {count} steps, pictures in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

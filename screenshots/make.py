# ruff: noqa: INP001, T201 - scripts that print what they made
"""`make pictures`: the README's pictures and its short recording, from the running demo.

python screenshots/make.py            all of them
python screenshots/make.py dashboard  one of them
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "screenshots")]

from tests.walk.tmux import NeverCame, Window  # noqa: E402 - the path is set above

terminal_picture = importlib.import_module("terminal_picture")
draw = terminal_picture.draw
OCTREE = 2  # Pillow's number for the method that keeps rare colours, which here mean something

HERE = ROOT / "screenshots"
WIDE, NARROW = (140, 40), (80, 24)
FRAMES, FRAME_MS = 40, 300
TRIES = 8
COLOURS = 64
"""Of the recording: few keep it light."""


@dataclass(frozen=True)
class Shot:
    """One picture: a size, keys, and the text to wait for."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...]
    shows: str


STREAMS = r"(?s)[2-9] running.*following(.*\n[│├][^│]*[a-z]{3}){3}.*▌"
"""Several jobs run, and the selected one has written some lines."""

SHOTS = (
    Shot("dashboard", WIDE, ("1", "g"), STREAMS),
    Shot("detail", WIDE, ("g", "Enter"), "asked by"),
    Shot("tiers", WIDE, ("2", "2"), "Picked lately"),
    Shot("budget", WIDE, ("3", "3"), "By tier"),
    Shot("picker", WIDE, ("2", "e"), "type to search"),
    Shot("history", WIDE, ("h",), "History ── [0-9]"),
    Shot("savings", WIDE, ("4", "4"), "By day"),
    Shot("narrow", NARROW, ("1", "g"), "[3-9] running"),
)
WARM_UP = 10.0
"""Seconds until the demo looks like a day, after its first ten jobs have ended."""


def open_demo(size: tuple[int, int], warm_up: float) -> Window:
    """The demo after a while."""
    window = Window([str(Path(sys.executable).with_name("workers-tui")), "--demo"], size)
    window.wait_for(r"[1-9][0-9]+ ended", 120)
    time.sleep(warm_up)
    return window


def take(size: tuple[int, int], names: Sequence[str]) -> None:
    """Save the pictures of one size, all from one demo."""
    shots = [shot for shot in SHOTS if shot.size == size and (not names or shot.name in names)]
    if not shots:
        return
    window = open_demo(size, WARM_UP)
    try:
        for shot in shots:
            come_to(window, shot)
            picture = draw(window.coloured(), *size).quantize(128, method=OCTREE)
            picture.save(HERE / f"{shot.name}.png", optimize=True)
            window.press("Escape", "Escape", "1")
            time.sleep(0.5)
            print(f"{shot.name}.png")
    finally:
        window.close()


def come_to(window: Window, shot: Shot) -> None:
    """Press until the screen shows it: a selected job may end before it has written enough."""
    for _ in range(TRIES):
        window.press(*shot.keys)
        try:
            window.wait_for(shot.shows, 8)
        except NeverCame:
            window.press("Escape", "Escape")
            continue
        time.sleep(0.3)
        return
    raise NeverCame(f"{shot.name}: {shot.shows}")


def record() -> None:
    """A short animation of the first screen."""
    size = (120, 34)
    window = open_demo(size, 6.0)
    frames = []
    try:
        for number in range(FRAMES):
            if number == 8:
                window.press("g")
            if number in {20, 23}:
                window.press("j")
            if number == 27:
                window.press("Enter")
            if number == 36:
                window.press("Escape")
            frames.append(draw(window.coloured(), *size))
            time.sleep(FRAME_MS / 1_000)
    finally:
        window.close()
    # One palette for all keeps only what changed; from several: none has every colour.
    several = terminal_picture.below_each_other(frames[:: len(frames) // 4])
    palette = several.quantize(COLOURS, method=OCTREE)
    first, *rest = (frame.quantize(palette=palette, dither=0) for frame in frames)
    first.save(
        HERE / "demo.gif", save_all=True, append_images=rest, duration=FRAME_MS, loop=0,
        optimize=True,
    )  # fmt: skip


def main(names: Sequence[str]) -> int:
    """Make what is asked for."""
    for size in (WIDE, NARROW):
        take(size, names)
    if not names or "demo" in names:
        record()
        print("demo.gif")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

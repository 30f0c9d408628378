# ruff: noqa: INP001 - a module for the scripts beside it
"""Draws a terminal's screen, captured with its colours, as a picture on an exact grid.

`tmux capture-pane -e -p` gives text with SGR sequences; nothing else is read.
Box lines and blocks are drawn as shapes, so that they meet whatever the font.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from rich.cells import cell_len

FONTS = Path("/usr/share/fonts/truetype")
SGR = re.compile(r"\x1b\[([0-9;:]*)m")
OTHER = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-ln-z]|[()][A-Z0-9]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
WIDTH, HEIGHT, SIZE = 10, 21, 16
FOREGROUND, BACKGROUND = (0xC0, 0xCA, 0xF5), (0x1A, 0x1B, 0x26)
BASIC = (
    (0x15, 0x16, 0x1E), (0xF7, 0x76, 0x8E), (0x9E, 0xCE, 0x6A), (0xE0, 0xAF, 0x68),
    (0x7A, 0xA2, 0xF7), (0xBB, 0x9A, 0xF7), (0x7D, 0xCF, 0xFF), (0xA9, 0xB1, 0xD6),
)  # fmt: skip
EIGHTHS = "▁▂▃▄▅▆▇█"
LINES = {  # left, right, up, down
    "─": (1, 1, 0, 0), "│": (0, 0, 1, 1), "╭": (0, 1, 0, 1), "╮": (1, 0, 0, 1),
    "╰": (0, 1, 1, 0), "╯": (1, 0, 1, 0), "├": (0, 1, 1, 1), "┤": (1, 0, 1, 1),
}  # fmt: skip

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Look:
    """How the next characters are drawn."""

    ink: Colour | None = None
    paper: Colour | None = None
    bold: bool = False
    reverse: bool = False
    underline: bool = False


def draw(captured: str, columns: int, rows: int) -> Image.Image:
    """The picture of one captured screen."""
    image = Image.new("RGB", (columns * WIDTH, rows * HEIGHT), BACKGROUND)
    canvas = ImageDraw.Draw(image)
    look = Look()
    for y, line in enumerate(captured.split("\n")[:rows]):
        look = _draw_line(canvas, line, y * HEIGHT, columns, look)
    return image


def below_each_other(images: Sequence[Image.Image]) -> Image.Image:
    """One sheet of all of them, which have one size."""
    width, height = images[0].size
    sheet = Image.new("RGB", (width, height * len(images)))
    for number, image in enumerate(images):
        sheet.paste(image, (0, number * height))
    return sheet


def _draw_line(canvas: ImageDraw.ImageDraw, line: str, top: int, columns: int, look: Look) -> Look:
    """Draw a line; the look at its end is the next line's at its start."""
    x = 0
    parts = SGR.split(OTHER.sub("", line))
    for number, part in enumerate(parts):
        if number % 2:
            look = _read(look, part)
            continue
        for char in part:
            cells = cell_len(char)
            if cells and x + cells <= columns:
                _draw_char(canvas, char, (x * WIDTH, top), cells, look)
            x += cells
    return look


def _draw_char(
    canvas: ImageDraw.ImageDraw, char: str, at: tuple[int, int], cells: int, look: Look
) -> None:
    ink, paper = look.ink or FOREGROUND, look.paper or BACKGROUND
    if look.reverse:
        ink, paper = paper, ink
    left, top = at
    right, bottom = left + cells * WIDTH - 1, top + HEIGHT - 1
    canvas.rectangle((left, top, right, bottom), fill=paper)
    if char in LINES:
        _draw_box(canvas, LINES[char], at, ink)
    elif char in EIGHTHS:
        tall = round(HEIGHT * (EIGHTHS.index(char) + 1) / 8)
        canvas.rectangle((left, bottom + 1 - tall, right, bottom), fill=ink)
    elif char in "▒░":
        share = 0.5 if char == "▒" else 0.22
        mixed = tuple(round(a * share + b * (1 - share)) for a, b in zip(ink, paper, strict=True))
        canvas.rectangle((left, top + 3, right, bottom - 3), fill=mixed)
    elif char in "▕▏":
        edge = right if char == "▕" else left
        canvas.line((edge, top + 3, edge, bottom - 3), fill=ink)
    elif char == "▌":
        canvas.rectangle((left, top, left + WIDTH // 2, bottom), fill=ink)
    elif char != " ":
        canvas.text((left, top + 1), char, font=_font(char, bold=look.bold), fill=ink)
    if look.underline:
        canvas.line((left, bottom - 1, right, bottom - 1), fill=ink)


def _draw_box(
    canvas: ImageDraw.ImageDraw, arms: tuple[int, ...], at: tuple[int, int], ink: Colour
) -> None:
    x, y = at[0] + WIDTH // 2, at[1] + HEIGHT // 2
    ends = ((at[0], y), (at[0] + WIDTH - 1, y), (x, at[1]), (x, at[1] + HEIGHT - 1))
    for arm, end in zip(arms, ends, strict=True):
        if arm:
            canvas.line((x, y, *end), fill=ink)


def _read(look: Look, codes: str) -> Look:
    numbers = [int(code or 0) for code in re.split("[;:]", codes)] if codes else [0]
    while numbers:
        code = numbers.pop(0)
        if code in {38, 48}:
            colour, numbers = _colour(numbers)
            look = replace(look, ink=colour) if code == 38 else replace(look, paper=colour)
        else:
            look = _plain(look, code)
    return look


def _plain(look: Look, code: int) -> Look:
    simple = {
        0: Look(), 1: replace(look, bold=True), 4: replace(look, underline=True),
        7: replace(look, reverse=True), 22: replace(look, bold=False),
        24: replace(look, underline=False), 27: replace(look, reverse=False),
        39: replace(look, ink=None), 49: replace(look, paper=None),
    }  # fmt: skip
    if code in simple:
        return simple[code]
    for base in (30, 90):
        if base <= code < base + 8:
            return replace(look, ink=BASIC[code - base])
        if base + 10 <= code < base + 18:
            return replace(look, paper=BASIC[code - base - 10])
    return look


def _colour(numbers: list[int]) -> tuple[Colour | None, list[int]]:
    if numbers[:1] == [2] and len(numbers) >= 4:
        return (numbers[1], numbers[2], numbers[3]), numbers[4:]
    if numbers[:1] == [5] and len(numbers) >= 2:
        return _indexed(numbers[1]), numbers[2:]
    return None, []


def _indexed(number: int) -> Colour:
    if number < 16:
        return BASIC[number % 8]
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    number -= 16
    steps = (0, 95, 135, 175, 215, 255)
    return steps[number // 36], steps[number // 6 % 6], steps[number % 6]


@cache
def _font(char: str, *, bold: bool) -> ImageFont.FreeTypeFont:
    """Fira Code where it has the character, else DejaVu Sans Mono."""
    name = "firacode/FiraCode-SemiBold.ttf" if bold else "firacode/FiraCode-Regular.ttf"
    if char in "▶◆↻✓✗⊘→●○▼▲":
        name = "dejavu/DejaVuSansMono-Bold.ttf" if bold else "dejavu/DejaVuSansMono.ttf"
    return ImageFont.truetype(str(FONTS / name), SIZE)

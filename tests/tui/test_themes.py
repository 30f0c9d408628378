"""Every theme can be read: dark, light, and without colours."""

from __future__ import annotations

import pytest
from rich.color import Color
from tests.tui.conftest import Open
from textual.theme import BUILTIN_THEMES

from workers_tui.tui.panes.jobs import JobList

LIGHT = sorted(name for name, theme in BUILTIN_THEMES.items() if not theme.dark)
ANSI = {"ansi-light"}
"""Its colours are the terminal's own."""
WORDS = ("", "dim", "head", "good", "warn", "bad", "run", "key", "held")
LEAST = 3.0
"""Contrast, as WCAG counts it, below which no word of ours may lie on a light ground."""


def luminance(color: Color) -> float:
    assert color.triplet is not None
    red, green, blue = (_linear(part / 255) for part in color.triplet)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else float(((part + 0.055) / 1.055) ** 2.4)


def contrast(one: Color, other: Color) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [name for name in LIGHT if name not in ANSI])
async def test_words_stand_out_on_a_light_ground(desk: Open, theme: str) -> None:
    async with desk() as d:
        d.app.theme = theme
        await d.settled()
        jobs = d.app.screen.query_one(JobList)
        ground = jobs.rich_style
        found = {}
        for name in WORDS:
            style = ground + jobs.style_of(name)
            assert style.color is not None
            assert style.bgcolor is not None
            found[name] = contrast(style.color, style.bgcolor)
    assert {name: round(value, 1) for name, value in found.items() if value < LEAST} == {}


async def test_every_theme_can_be_chosen(desk: Open) -> None:
    async with desk() as d:
        for name in d.app.available_themes:
            d.app.theme = name
            await d.press("down")
        assert "detail" in d.footer

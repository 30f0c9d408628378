"""Filters, rates, live text, undo, memory, keymap: parts without a screen."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.sandbox_kit import close_directory
from tests.tui.fakes import make_job

from workers_tui.engine.jobs.job import JobKind, JobState
from workers_tui.home.places import Home
from workers_tui.tui import filters, pager
from workers_tui.tui.job_words import agent_line
from workers_tui.tui.keymap import DEEDS, read_keymap
from workers_tui.tui.live_text import LiveText
from workers_tui.tui.memory import Memory
from workers_tui.tui.rates import Rates
from workers_tui.tui.screens.help import rows_of
from workers_tui.tui.screens.job_verbs import remark_on
from workers_tui.tui.screens.settings_verbs import cap_typed, read_cap
from workers_tui.tui.undo import Undo


@pytest.mark.parametrize(
    ("typed", "passes"),
    [
        ("", True),
        ("state:failed", True),
        ("state:done", False),
        ("tier:fa", True),
        ("tier:code", False),
        ("project:shop", True),
        ("disk full", True),
        ("disk empty", False),
        ("state:failed disk tier:fast", True),
        ("nonsense:x", False),
        ("state:", True),
    ],
)
def test_filters(typed: str, passes: bool) -> None:
    job = make_job(
        "k7f2q", JobState.FAILED, task="Disk is full", project="/home/ada/shop", error="no answer"
    )
    assert filters.parse(typed).passes(job) is passes


def test_a_rate_looks_back_a_few_seconds_only() -> None:
    rates = Rates()
    rates.note("a", 0, 0.0)
    assert rates.rate("a", 0.1) is None
    for second in range(1, 11):
        rates.note("a", 80 * second, float(second))
    assert rates.rate("a", 10.0) == 80
    assert rates.rate("a", 20.0) == 0
    rates.forget("a")
    assert rates.rate("a", 20.0) is None


def test_only_new_text_is_added() -> None:
    live = LiveText()
    assert live.enter("a", "one") is None
    assert live.enter("a", "one two") == " two"
    assert live.enter("b", "other") is None
    assert live.enter("b", "no common part") is None


@given(st.text(min_size=300, max_size=2_000), st.integers(1, 500))
def test_a_bounded_tail_that_moved_on_continues(text: str, moved: int) -> None:
    live = LiveText()
    start = len(text) // 3
    live.enter("a", text[: start + 250])
    added = live.enter("a", text[min(moved, 40) : start + 260])
    assert added is None or text[: start + 260].endswith(added)


async def test_undo_takes_the_newest_change_back_first() -> None:
    undo, done = Undo(), []

    async def back(name: str) -> None:
        done.append(name)

    undo.push("one", lambda: back("one"))
    undo.push("two", lambda: back("two"))
    assert await undo.pop() == "Undone: two."
    assert await undo.pop() == "Undone: one."
    assert done == ["two", "one"]
    assert "nothing" in await undo.pop()


def test_the_theme_is_remembered(home: Home) -> None:
    Memory(home).remember(theme="nord")
    assert Memory(home).theme == "nord"
    assert not Memory(home).first_steps_shown


def test_a_broken_memory_is_an_empty_one(home: Home) -> None:
    home.ui_json.write_text("{", encoding="utf-8")
    assert Memory(home).theme is None


def test_the_keymap_names_what_it_does_not_know(home: Home) -> None:
    home.keymap_json.write_text(json.dumps({"cancel": "z", "fly": "f", "help": 3}))
    chosen, wrong = read_keymap(home)
    assert chosen == {"cancel": "z"}
    assert len(wrong) == 2
    home.keymap_json.write_text("[]")
    assert read_keymap(home)[1]


def test_the_keymap_tells_of_a_key_with_two_meanings(home: Home) -> None:
    home.keymap_json.write_text('{"cancel": "r", "down": "n,down"}', encoding="utf-8")
    chosen, wrong = read_keymap(home)
    assert chosen == {"cancel": "r", "down": "n,down"}
    assert wrong == [
        "keymap.json: 'r' is the key of 'cancel' and of 'rerun'",
        "keymap.json: 'n' is the key of 'down' and of 'ask'",
    ]


@pytest.mark.parametrize(
    ("cap", "typed"),
    [
        ("0.8", "0.80"),
        ("0", "0.00"),
        ("123456", "123456.00"),
        ("0.005", "0.005"),
        ("1E+3", "1000.00"),
    ],
)
def test_a_cap_is_edited_to_its_last_digit(cap: str, typed: str) -> None:
    assert cap_typed(Decimal(cap)) == typed
    assert read_cap(typed) == Decimal(cap)


@pytest.mark.parametrize("typed", ["1,000", "$1,000.50", "0,500"])
def test_a_comma_that_can_mean_two_things_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="a comma can mean both"):
        read_cap(typed)


def test_what_an_agent_did_is_counted_once() -> None:
    agent = make_job("m2qx4", JobState.DONE, kind=JobKind.AGENT, worker="glm", turns=3)
    done = replace(agent, tool_calls=2, last_action="2 tool calls, denied: Write x")
    assert agent_line(done) == "glm · turn 3 · 2 tool calls, denied: Write x"
    working = replace(agent, tool_calls=2, last_action="Edit pages.py")
    assert agent_line(working) == "glm · turn 3 · 2 tool calls · Edit pages.py"


def test_every_deed_has_help_that_is_a_sentence() -> None:
    assert all(deed.help.endswith(".") and deed.help[0].isupper() for deed in DEEDS.values())


def test_the_pager_falls_back_to_less() -> None:
    assert pager.command({}) == ["less"]
    assert pager.command({"PAGER": "bat -p"}) == ["bat", "-p"]
    assert pager.command({"PAGER": "'broken"}) == ["less"]


def test_a_count_that_is_corrected_downward_is_no_negative_speed() -> None:
    rates = Rates()
    rates.note("k7f", 900, 10.0)
    rates.note("k7f", 40, 11.0)
    assert rates.rate("k7f", 11.0) == 0


def test_long_names_of_keys_do_not_touch_what_they_do() -> None:
    lines = ["".join(text for text, _ in parts) for parts in rows_of({})]
    assert any("page down, ctrl+f, space  Move down a page." in line for line in lines)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "!type a file name"),
        ("a\0b", "!type a file name"),
        (".", "!this is a directory"),
        ("x" * 300, "!cannot be used: File name too long"),
        ("none/x.txt", "!there is no directory "),
        ("~nobody-of-that-name/x.txt", "!there is no directory "),
        ("x.txt", "in "),
        ("there.txt", "exists; asks before it is replaced"),
    ],
)
def test_every_file_name_that_can_be_typed_has_its_remark(
    typed: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.txt").write_text("old")
    assert remark_on(typed).startswith(said)


def test_a_file_name_in_a_closed_directory_has_its_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    close_directory(tmp_path / "closed", monkeypatch)
    assert remark_on(f"{tmp_path}/closed/deep/x.txt") == "!cannot be used: Permission denied"

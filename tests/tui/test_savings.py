"""The savings screen: three spans, plots, losses, warnings, and the formula one key away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tui.conftest import Open
from tests.tui.fakes import FakeEngine, make_savings

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.money import from_usd
from workers_tui.engine.transcripts.savings import Figures, Tokens
from workers_tui.engine.transcripts.savings_view import Period, Reading, SavingsView
from workers_tui.tui.lines import Row
from workers_tui.tui.panes.savings import basis, net, sentences, span, summary, warned
from workers_tui.tui.panes.savings_full import bar, formula, tables


def said(rows: list[Row]) -> str:
    return "\n".join("".join(text for text, _ in row) for row in rows)


async def test_figures_and_formula(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        engine.board.put(Key(Topic.SAVINGS), make_savings())
        await d.press("4", "4")
        await d.until(lambda: "By day" in d.text("SavingsFull"))
        shown = d.text("SavingsFull")
        for heading in ("today", "this session", "all time", "By worker", "By Claude's own model"):
            assert heading in shown
        assert "! Claude read docs/plan.md itself" in shown
        assert "l0ss1" in shown
        await d.press("i")
        assert "How it is counted" in d.text("SavingsFull")
        assert "2.0M cache reads (not counted)" in " ".join(d.text("SavingsFull").split())
        await d.press("escape")
        assert "By day" in d.text("SavingsFull")
        await d.press("escape")
        await d.until(lambda: bool(d.app.screen.query("#job-list")))


def test_ranges_may_be_negative_and_unknown_stays_unknown() -> None:
    shown = said(tables(make_savings(), 120))
    assert "+$3.10 to +$5.80" in shown
    assert "-$0.42 to -$0.11" in shown
    assert "net is unknown while Claude's own price is" in shown
    assert "$1.07 + 2 unknown" in shown
    assert "-9.0k" in shown


def test_a_worker_without_a_price_is_named() -> None:
    assert "? no price" in said(tables(make_savings(), 120))


def test_who_worked_stands_in_order_with_what_it_cost() -> None:
    rows = said(tables(make_savings(), 120)).split("\n")
    at = next(number for number, row in enumerate(rows) if "By worker" in row)
    assert "▒" in rows[at + 1]  # as in the days above, not in the colour of Claude
    assert [" ".join(row.replace("▒", " ").split()) for row in rows[at + 1 : at + 5]] == [
        "fast 300k $0.31",
        "glm, by hand 100k $7.50",
        "reason 9.0k $0.05 + 2 ?",
        "local, by hand 120 ? no price",
    ]


def test_a_loss_says_why() -> None:
    assert "Claude read 1 file itself" in said(tables(make_savings(), 120))


def test_reasons_and_amounts_of_losses_stand_in_columns() -> None:
    one = make_savings().lost_money[0]
    other = replace(one, net_low_pico=from_usd("-0.3000"), read_again=())
    rows = tables(replace(make_savings(), lost_money=(one, other)), 120)[-2:]
    first, second = ("".join(text for text, _ in parts) for parts in rows)
    assert len(first) == len(second)
    assert first.index("Claude read") == second.index("cost more")


def test_the_line_fits_a_terminal_of_eighty() -> None:
    assert summary(make_savings()).startswith("workers did 22 % · 363k kept out · net +$3.10")
    assert len(summary(make_savings())) <= 62


def test_a_share_is_not_cut_where_there_is_little_room() -> None:
    assert "22 % of the work" in said(tables(make_savings(), 138))
    narrow = said(tables(make_savings(), 56))
    assert "22 %" in narrow
    assert "…" not in narrow.partition("kept out")[0]


@pytest.mark.parametrize("width", [30, 58, 78, 138, 198])
def test_tables_fit_the_width(width: int) -> None:
    table = [row for row in tables(make_savings(), width) if len(row) > 2]
    assert max(sum(len(text) for text, _ in row) for row in table) <= max(width, 58)


def test_without_figures_it_says_what_has_to_happen() -> None:
    assert "with the first job" in said(tables(None, 80))
    assert "workers-tui savings --explain" in said(formula(None))


def test_while_transcripts_are_read_the_pane_says_how_far_they_are() -> None:
    begun = SavingsView(reading=Reading(0, 0))
    assert said(sentences(begun, 42)) == " looking through Claude's transcripts"
    reading = SavingsView(reading=Reading(450_000_000, 1_000_000_000))
    for shown in (said(sentences(reading, 42)), said(tables(reading, 80))):
        assert "reading transcripts: 45 % of 1.0 GB" in shown
        assert "No saving yet" not in shown
    assert summary(reading) == basis(reading) == "reading transcripts: 45 % of 1.0 GB"
    assert span(reading) == "not yet"


def test_figures_that_stand_stay_while_more_transcripts_are_read() -> None:
    view = make_savings(warnings=(), reading=Reading(1, 3))
    shown = said(sentences(view, 42))
    assert "22 % of the work" in shown
    assert "reading transcripts: 33 % of 3 B" in shown
    assert "today" in said(tables(view, 120))
    assert basis(view).startswith("reading transcripts: 33 %")


def test_where_nothing_was_delegated_the_pane_says_so_and_what_is_wrong() -> None:
    own = Period(Figures(), make_savings().today.manager)
    view = SavingsView(own, own, warnings=("cannot use index.db: the disk is full",))
    shown = said(sentences(view, 60))
    assert "with the first job" in shown
    assert "Claude's own work: 100k tokens, $7.50" in shown
    assert "! cannot use index.db: the disk is full" in shown
    unpriced = replace(own, manager=replace(own.manager, unpriced=("glm-9",)))
    assert "$7.50 + ?" in said(sentences(replace(view, all_time=unpriced), 60))
    assert summary(view) == "nothing yet"
    full = said(tables(view, 120))
    assert "with the first job" in full
    assert "By Claude's own model" in full
    assert "workers did" not in full


def test_jobs_that_no_known_session_asked_for_are_not_nothing() -> None:
    alone = Period(Figures(jobs=3, net_low_pico=None, net_high_pico=None), Tokens())
    view = SavingsView(alone, alone)
    assert basis(view) == "for no session of Claude Code that is known"
    assert "net ?: Claude's own cost is not known" in summary(view)


def test_a_net_amount_names_the_jobs_whose_cost_nobody_knows() -> None:
    view = make_savings()
    assert "net +$3.10 to +$5.80 less 2 unknown" in said(sentences(view, 60))
    assert summary(view).endswith("net +$3.10 to +$5.80 - 2 ?")
    assert "net counts what is unknown of the workers' cost as 0" in said(tables(view, 120))


def test_the_formula_says_what_makes_the_counts_less_than_exact() -> None:
    view = make_savings()
    assert "lower bound" not in said(formula(view))
    sums = view.today.manager.sums._replace(unfinished=1, web=3, fast=1, odd=1)
    today = replace(view.today, manager=replace(view.today.manager, sums=sums))
    shown = said(formula(replace(view, today=today)))
    assert "; 1 message broken off, so output is a lower bound" in shown
    assert "; 3 web searches not in the cost" in shown
    assert "; 2 messages of another speed at standard price" in shown


def test_one_amount_is_no_range() -> None:
    assert said([tuple(net(from_usd(1), from_usd(1)))]) == "+$1.00"
    assert net(from_usd(-2), from_usd(-1))[0] == ("-$2.00", "warn")


def test_what_is_there_at_all_is_seen() -> None:
    assert bar(1, 10**9, 40) == 1
    assert bar(0, 10, 40) == 0
    assert bar(10, 10, 40) == 40


def test_a_file_that_claude_reads_itself_all_the_same_is_told_first() -> None:
    view = make_savings(warnings=("~/.claude/x.jsonl cannot be read",))
    today = replace(view.today, figures=replace(view.today.figures, read_again=2))
    first, second = warned(replace(view, today=today))
    assert first.startswith("Claude then read 2 delegated files itself")
    assert second == "~/.claude/x.jsonl cannot be read"

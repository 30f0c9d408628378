"""The savings in full: three spans of time beside each other, by day, by worker, by model.

Bars are drawn to one scale per table. Ranges are shown as they are, negative ones too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Row, row
from workers_tui.tui.panes.prose import fold
from workers_tui.tui.panes.savings import FORMULA, net, nothing_yet, waiting, warned

if TYPE_CHECKING:
    from workers_tui.engine.transcripts.cells import Sums
    from workers_tui.engine.transcripts.job_savings import JobSaving, JobSums
    from workers_tui.engine.transcripts.savings import Figures, Tokens
    from workers_tui.engine.transcripts.savings_view import DayPoint, Period
    from workers_tui.engine.transcripts.savings_view import SavingsView as Savings

NAME = 21
DAYS = 14
"""Newest days in the plot."""
CLAUDE, WORKERS = "▇", "▒"
BY_CLAUDE, BY_WORKER = (CLAUDE, "soft"), (WORKERS, "good")
"""What bars are drawn with."""
FIGURES = 22
"""Cells right of a bar: tokens, the workers' part, dollars."""
NARROWEST_SPAN = 18
Ranked = tuple[str, int, str]
"""A name, its fresh tokens, what they cost in words."""


class SavingsFull(LineView):
    """Tables and bars, laid out to the width; the formula instead of them on demand."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._view: Savings | None = None
        self.explains = False
        """The formula is shown instead of the figures."""

    def show(self, view: Savings | None) -> None:
        """Show the newest figures."""
        self._view = view
        self._lay_out()

    def explain(self, explains: bool) -> None:
        """Show how the figures come about, or the figures again."""
        self.explains = explains
        self._lay_out()
        self.scroll_to(y=0, animate=False, force=True)

    def on_resize(self) -> None:
        """Columns and bars follow the width."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        width = self.row_width
        said = formula(self._view) if self.explains else tables(self._view, width)
        self.show_rows([line for part in said for line in fold(part, width)])


def tables(view: Savings | None, width: int) -> list[Row]:
    """Everything there is to say, most important first."""
    if view is None:
        return [row(), *nothing_yet()]
    if view.reading and view.is_empty and not view.days:
        return [row(), *_warned(warned(view)), *waiting(view.reading)]
    return [
        row(),
        *_warned(warned(view)),
        *([*nothing_yet(), row()] if view.is_empty else _spans(view, width)),
        *_days(view.days[-DAYS:], width),
        *_ranked(
            "By worker", _by_worker(view), width, "No worker has done anything yet.", BY_WORKER
        ),
        *_ranked(
            "By Claude's own model",
            [(name, made.sums.fresh, _worth(made)) for name, made in view.models],
            width,
            "No transcript of Claude Code yet.",
        ),
        *_losses(view.lost_money, width),
    ]


def formula(view: Savings | None) -> list[Row]:
    """How it is counted, with the counts behind today's figures."""
    rows = [row(), row((" How it is counted", "strong")), row()]
    rows += [row((f" {line}", "")) for line in FORMULA]
    if view is not None:
        rows += [row(), row((" What it is made of", "strong")), row()]
        rows += [*_counts("today", view.today), *_counts("all time", view.all_time)]
    rows += [row(), row((" In a shell: ", "dim"), ("workers-tui savings --explain", ""))]
    return rows


def _counts(name: str, period: Period) -> Iterator[Row]:
    made, sums = period.figures, period.manager.sums
    said = (
        f"{words.count(made.worker_fresh)} of {words.count(made.all_fresh)} fresh tokens by",
        f"workers, in {words.plural(made.sessions, 'session')} that delegated; Claude in all",
        f"sessions: {words.count(sums.input)} input, {words.count(sums.creation)} cache writes,",
        f"{words.count(sums.output)} output, {words.count(sums.read)} cache reads (not counted)",
    )
    yield row(
        (f" {name:<10}", "dim"),
        (" ".join(said) + "".join(_bends(sums)), ""),
    )


def _bends(sums: Sums) -> Iterator[str]:
    """What makes these counts, or their cost, less than exact."""
    if sums.unfinished:
        broken = words.plural(sums.unfinished, "message")
        yield f"; {broken} broken off, so output is a lower bound"
    if sums.web:
        yield f"; {words.plural(sums.web, 'web search', 'web searches')} not in the cost"
    if other := sums.fast + sums.odd:
        yield f"; {words.plural(other, 'message')} of another speed at standard price"


def _warned(warnings: Sequence[str]) -> Iterator[Row]:
    for line in warnings:
        yield row((" ! ", "warn"), (safe.one_line(line), ""))
    if warnings:
        yield row()


def _spans(view: Savings, width: int) -> Iterator[Row]:
    spans: list[tuple[str, Period]] = [("today", view.today)]
    if view.session is not None:
        spans.append(("this session", view.session))
    spans.append(("all time", view.all_time))
    wide = max(NARROWEST_SPAN, min(26, (width - NAME - 1) // len(spans)))
    if NAME + 1 + wide * len(spans) > width:  # too narrow for words beside the figures
        spans = [spans[0], spans[-1]]
        wide = max(8, (width - NAME - 1) // 2)
    names = "".join(safe.fit_right(name, wide) for name, _ in spans)
    yield row((" " + " " * NAME, ""), (names, "head"))
    figures = [period.figures for _, period in spans]
    yield _line("workers did", [_share(one, wide) for one in figures], wide)
    yield _line("kept out of context", [words.count(one.kept_out_tokens) for one in figures], wide)
    parts = [net(one.net_low_pico, one.net_high_pico) for one in figures]
    nets = ["".join(text for text, _ in said) for said in parts]
    short = [said if len(said) < wide else words.UNKNOWN for said in nets]
    styles = [_gain(one) for one in figures]
    yield _line("net", short, wide, styles)
    yield _line("workers cost", [_paid(one) for one in figures], wide)
    yield _line("jobs", [words.count(one.jobs) for one in figures], wide)
    if any(one.read_again for one in figures):
        again = [words.count(one.read_again) for one in figures]
        yield _line(
            "files read twice", again, wide, ["warn" if one != "0" else "" for one in again]
        )
    yield row()
    notes = []
    if words.UNKNOWN in short:
        notes.append("net is unknown while Claude's own price is")
    if any(one.unknown_costs for one in figures):
        notes.append("net counts what is unknown of the workers' cost as 0")
    yield from (row((f" {note}", "dim")) for note in notes)
    if notes:
        yield row()


def _line(name: str, said: Sequence[str], wide: int, styles: Sequence[str] = ()) -> Row:
    cells = [
        (safe.fit_right(text, wide), styles[number] if styles else "strong")
        for number, text in enumerate(said)
    ]
    return row((f" {name:<{NAME}}", "dim"), *cells)


def _share(made: Figures, wide: int) -> str:
    if made.percent is None:
        return words.NOTHING
    share = f"{made.percent:.0f} %"
    return f"{share} of the work" if wide > len(f"{share} of the work") else share


def _paid(made: Figures) -> str:
    unknown = f" + {made.unknown_costs} unknown" if made.unknown_costs else ""
    return words.money(made.worker_pico) + unknown


def _gain(made: Figures) -> str:
    """Green for a sure gain, amber for a sure loss."""
    if made.net_low_pico is None or made.net_high_pico is None:
        return ""
    return "good" if made.net_low_pico > 0 else "warn" if made.net_high_pico < 0 else "strong"


def _days(days: Sequence[DayPoint], width: int) -> Iterator[Row]:
    yield row(
        (" By day, fresh tokens  ", "strong"),
        (CLAUDE, "soft"), (" Claude ", "dim"), (WORKERS, "good"), (" workers", "dim"),
    )  # fmt: skip
    if not days:
        yield row((" No day yet.", "dim"))
    highest = max((day.manager_fresh + day.worker_fresh for day in days), default=0)
    room = max(4, width - 10 - FIGURES - 1)
    for day in reversed(days):
        every = day.manager_fresh + day.worker_fresh
        ours = bar(day.worker_fresh, highest, room)
        claude = max(0, bar(every, highest, room) - ours)
        yield row(
            (f" {date.fromordinal(day.day):%d %b}   ", "dim"),
            (CLAUDE * claude, "soft"),
            (WORKERS * ours, "good"),
            (" " * (room - claude - ours), ""),
            (safe.fit_right(words.count(every), 7), "strong"),
            (safe.fit_right(words.share(day.worker_fresh, every), 7), "good"),
            (safe.fit_right(words.money_cell(day.worker_pico), 8), ""),
        )
    yield row()


def bar(part: int, highest: int, room: int) -> int:
    """Cells for a count; what is there at all is seen."""
    if part <= 0 or highest <= 0:
        return 0
    return max(1, min(room, round(part / highest * room)))


def _by_worker(view: Savings) -> list[Ranked]:
    """Tiers and agent workers by their jobs; worker identities that were used by hand."""
    jobs = [(name, sums.fresh, _cost(sums)) for name, sums in view.doers]
    by_hand = [(f"{name}, by hand", made.sums.fresh, _worth(made)) for name, made in view.workers]
    return sorted(jobs + by_hand, key=lambda one: -one[1])


def _cost(sums: JobSums) -> str:
    if sums.unknown_costs:
        return f"{words.money(sums.worker_pico)} + {sums.unknown_costs} ?"
    return words.money(sums.worker_pico)


def _ranked(
    title: str,
    ranked: Sequence[Ranked],
    width: int,
    nothing: str,
    ink: tuple[str, str] = BY_CLAUDE,
) -> Iterator[Row]:
    yield row((f" {title}", "strong"))
    if not ranked:
        yield row((f" {nothing}", "dim"))
    highest = max((fresh for _, fresh, _ in ranked), default=0)
    name = 26 if width >= 100 else 18
    room = max(4, width - name - FIGURES - 2)
    mark, style = ink
    for known, fresh, worth in ranked:
        cells = bar(fresh, highest, room)
        yield row(
            (f" {safe.fit(safe.one_line(known), name)}", ""),
            (mark * cells + " " * (room - cells), style),
            (safe.fit_right(words.count(fresh), 7), "strong"),
            (safe.fit_right(worth, 15), ""),
        )
    yield row()


def _worth(made: Tokens) -> str:
    if made.unpriced and not made.cost_pico:
        return f"{words.UNKNOWN} no price"
    return words.money(made.cost_pico) + (" + ?" if made.unpriced else "")


def _losses(lost: Sequence[JobSaving], width: int) -> Iterator[Row]:
    yield row((" Jobs that lost money", "strong"))
    if not lost:
        yield row((" None.", "dim"))
    nets = ["".join(text for text, _ in net(one.net_low_pico, one.net_high_pico)) for one in lost]
    reasons = [_why(one) if width >= 76 else "" for one in lost]
    why, last = max(map(len, reasons), default=0), max(map(len, nets), default=0)
    task = max(8, width - 9 - why - last - 5)
    for one, reason, said in zip(lost, reasons, nets, strict=True):
        yield row(
            (f" {safe.fit(one.job.id, 8)}", "strong"),
            (safe.fit(safe.one_line(one.job.task), task) + "  ", ""),
            (safe.fit(reason, why) + "  ", "dim"),
            (safe.fit_right(said, last), "warn"),
        )


def _why(one: JobSaving) -> str:
    if one.read_again:
        return f"Claude read {words.plural(len(one.read_again), 'file')} itself"
    if one.kept_out < 0:
        return "more came back than was kept out"
    return "cost more than it kept out"

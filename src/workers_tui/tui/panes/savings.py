"""Is it worth it: what workers did, what stayed out of Claude's context, net dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers_tui.engine.money import Pico
from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Part, Row, row

if TYPE_CHECKING:
    from workers_tui.engine.transcripts.savings import Figures
    from workers_tui.engine.transcripts.savings_view import Reading
    from workers_tui.engine.transcripts.savings_view import SavingsView as Savings


class SavingsView(LineView):
    """A few sentences with numbers in them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._view: Savings | None = None

    def show(self, view: Savings | None) -> None:
        """Show the figures, or what has to happen first."""
        self._view = view
        self.show_rows(sentences(view, self.row_width))


def sentences(view: Savings | None, width: int) -> list[Row]:
    """The figures in words; an empty state says what to do, or what is awaited."""
    warnings = warned(view) if view else []
    if view is None or view.is_empty:
        rows = waiting(view.reading) if view and view.reading else nothing_yet()
        rows += own_work(view) if view else []
        return [*rows, *(_warning(text, width) for text in warnings[:1])]
    rows = []
    if view.percent is not None:
        rows.append(row(" workers did ", (f"{view.percent:.0f} %", "strong"), " of the work"))
    kept = words.count(view.kept_out_tokens)
    rows.append(row(" ", (f"{kept} tokens", "strong"), " kept out of Claude's context"))
    rows.append(row(" net ", *net(view.net_low_pico, view.net_high_pico), *less(view.shown)))
    if warnings:
        rows.append(_warning(warnings[0], width))
    elif view.reading:
        rows.append(row((f" {progress(view.reading)}", "dim")))
    elif view.sessions:
        rows.append(row((f" {basis(view)}", "dim")))
    return rows


def _warning(text: str, width: int) -> Row:
    return row((" ! ", "warn"), (safe.fit(safe.one_line(text), max(8, width - 3)), "warn"))


def less(made: Figures) -> list[Part]:
    """What a net amount does not count: the jobs whose cost nobody knows."""
    unknown = made.unknown_costs
    return [(f" less {unknown} unknown", "dim")] if unknown else []


def progress(reading: Reading) -> str:
    """How far the reading of transcripts is, in a few words."""
    if not reading.total:
        return "looking through Claude's transcripts"
    return f"reading transcripts: {reading.percent} % of {words.size(reading.total)}"


def waiting(reading: Reading) -> list[Row]:
    """What is awaited before there is a figure."""
    rows = [row((f" {progress(reading)}", ""))]
    if reading.total:
        rows.append(row((" Each is read once; figures come then.", "dim")))
    return rows


def own_work(view: Savings) -> list[Row]:
    """What Claude did itself, which stands before anything is delegated."""
    made = view.all_time.manager
    if not made.sums.messages:
        return []
    cost = words.money(made.cost_pico) + (f" + {words.UNKNOWN}" if made.unpriced else "")
    return [row((f" Claude's own work: {words.count(made.sums.fresh)} tokens, {cost}", "dim"))]


def basis(view: Savings | None) -> str:
    """What the figures are made of, in a few words."""
    if view is not None and view.reading:
        return progress(view.reading)
    if view is None or view.is_empty:
        return "nothing yet"
    if not view.sessions:
        return "for no session of Claude Code that is known"
    return f"over {words.plural(view.sessions, 'session')} that delegated"


def summary(view: Savings | None) -> str:
    """The figures in one line."""
    if view is None or view.is_empty:
        return progress(view.reading) if view and view.reading else "nothing yet"
    said = [] if view.percent is None else [f"workers did {view.percent:.0f} %"]
    said.append(f"{words.count(view.kept_out_tokens)} kept out")
    both = net(view.net_low_pico, view.net_high_pico)
    unknown = f" - {view.shown.unknown_costs} {words.UNKNOWN}" if view.shown.unknown_costs else ""
    return " · ".join([*said, "net " + "".join(text for text, _ in both) + unknown])


def span(view: Savings | None) -> str:
    """Which time the pane's figures are of."""
    if view is not None and view.is_empty:
        return "not yet"
    return "today" if view is None or view.shown is view.today.figures else "all time"


def warned(view: Savings) -> list[str]:
    """What the user should know; first that a file was delegated and then read all the same."""
    again = view.shown.read_again
    files = words.plural(again, "delegated file")
    first = [f"Claude then read {files} itself: nothing saved there"] if again else []
    return [*first, *view.warnings]


def nothing_yet() -> list[Row]:
    """What has to happen before there is a figure."""
    return [
        row((" No saving yet: it shows with the first job", "dim")),
        row((" whose files stay out of Claude's context.", "dim")),
    ]


def net(low: Pico | None, high: Pico | None) -> list[Part]:
    """A range of dollars, which may be negative; one amount where both ends are the same."""
    if low is None or high is None:
        return [(words.UNKNOWN, ""), (": Claude's own cost is not known", "dim")]
    style = "good" if low > 0 else "warn" if high < 0 else ""
    first, last = words.signed_money(low), words.signed_money(high)
    return [(first, style)] if first == last else [(first, style), (" to ", "dim"), (last, style)]


FORMULA = (
    "Kept out of context: the tokens of the files that workers read, less those that came back.",
    "Net, high: those tokens at the input price of Claude's own model, less what the workers cost.",
    "Net, low: the same at its cache-read price, which is what a second look at a file costs.",
    "It may be negative, and is then shown so.",
    "A job whose cost nobody knows counts as 0 in it, and the amount then says so.",
    "Share of the work: the workers' fresh tokens over all, in the sessions that delegated.",
    "Fresh are input, cache writes and output; cache reads are never counted as work.",
)

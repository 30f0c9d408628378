"""Is it worth it: what workers did, what stayed out of Claude's context, net dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers_tui.tui import words
from workers_tui.tui.lines import LineView, Row, row

if TYPE_CHECKING:
    from workers_tui.engine.savings import SavingsView as Savings


class SavingsView(LineView):
    """A few sentences with numbers in them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._view: Savings | None = None

    def show(self, view: Savings | None) -> None:
        """Show the figures, or what has to happen first."""
        self._view = view
        self.show_rows(sentences(view))


def sentences(view: Savings | None) -> list[Row]:
    """The figures in words; an empty state says what to do."""
    if view is None:
        return [
            row((" No saving yet: it shows with the first job", "dim")),
            row((" whose files stay out of Claude's context.", "dim")),
        ]
    rows = []
    if view.percent is not None:
        rows.append(row(" workers did ", (f"{view.percent:.0f} %", "strong"), " of the work"))
    kept = words.count(view.kept_out_tokens)
    rows.append(row(" ", (f"{kept} tokens", "strong"), " kept out of Claude's context"))
    rows.append(row(" net ", *_net(view)))
    if view.sessions:
        rows.append(row((f" over {words.plural(view.sessions, 'session')} that delegated", "dim")))
    return rows


def summary(view: Savings | None) -> str:
    """The figures in one line."""
    if view is None:
        return "nothing yet"
    said = [] if view.percent is None else [f"workers did {view.percent:.0f} % of the work"]
    said.append(f"{words.count(view.kept_out_tokens)} tokens kept out")
    return " · ".join([*said, "net " + "".join(text for text, _ in _net(view))])


def _net(view: Savings) -> list[tuple[str, str]]:
    low, high = view.net_low_pico, view.net_high_pico
    if low is None or high is None:
        return [(words.UNKNOWN, ""), (": no price for Claude's model", "dim")]
    style = "good" if low > 0 else ""
    return [
        (words.signed_money(low), style),
        (" to ", "dim"),
        (words.signed_money(high), style),
    ]


FORMULA = (
    "Kept out of context: the tokens of the files that workers read, less those that came back.",
    "Net, high: those tokens at the input price of Claude's own model, less what the workers cost.",
    "Net, low: the same at its cache-read price, which is what a second look at a file costs.",
    "It may be negative, and is then shown so.",
    "Share of the work: the workers' fresh tokens over all, in the sessions that delegated.",
    "Fresh are input, cache writes and output; cache reads are never counted as work.",
)


def explained(view: Savings | None) -> list[Row]:
    """The figures, and how they come about."""
    rows = [row(), *sentences(view), row(), row((" How it is counted", "strong"))]
    rows += [row((f" {line}", "dim")) for line in FORMULA]
    rows += [row(), row((" In a shell: ", "dim"), ("workers-tui savings --explain", ""))]
    return rows

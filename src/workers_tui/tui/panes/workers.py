"""The agent workers: whether each can be used, its models, and what it cost this month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style

from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Row, row
from workers_tui.tui.panes.prose import fold

if TYPE_CHECKING:
    from workers_tui.engine.agents.identity import WorkerView

NAME, STATE, RUNS, JOBS, SPENT = 16, 15, 6, 7, 11
CREATE = "workers-tui worker create"
WHAT = (
    "  A worker is Claude Code on another provider's model: it gets whole tasks, "
    "and every request of it is metered here."
)

MARKS = {
    "ready": ("✓", "good"),
    "untried": ("·", "dim"),
    "failed": ("✗", "bad"),
    "not finalized": ("◆", "warn"),
    "broken": ("✗", "bad"),
}


class WorkerList(LineView):
    """One row an identity."""

    SELECTS: ClassVar[bool] = True
    ALWAYS_SHOWS_CURSOR: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.identities: tuple[WorkerView, ...] = ()

    @property
    def selected(self) -> WorkerView | None:
        """The worker under the cursor."""
        return self.identities[self.cursor] if self.cursor < len(self.identities) else None

    def show(self, identities: Sequence[WorkerView]) -> None:
        """Show these workers, or what makes the first one."""
        self.identities = tuple(identities)
        self._lay_out()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._lay_out()
        super().on_resize()

    def row_style(self, index: int) -> Style:
        """No cursor on words."""
        return super().row_style(index) if self.identities else Style.null()

    def head(self) -> str:
        """The names of the columns."""
        if not self.identities:
            return ""
        figures = f"{'runs':>{RUNS}}{'jobs':>{JOBS}}{'this month':>{SPENT}}"
        names = (safe.fit("   worker", NAME + 4), safe.fit("state", self._state()))
        return "".join((*names, safe.fit("models", self._room()), figures))

    def _state(self) -> int:
        """The state in words gives way first: its mark says it, too."""
        return STATE if self.row_width >= 72 else 0

    def _room(self) -> int:
        return max(8, self.row_width - NAME - 4 - self._state() - RUNS - JOBS - SPENT)

    def _lay_out(self) -> None:
        said = [line for each in nobody() for line in fold(each, self.row_width)]
        self.show_rows([self._row(one) for one in self.identities] or said)

    def _row(self, worker: WorkerView) -> Row:
        mark, style = MARKS.get(worker.state, ("·", "dim"))
        said = worker.problem or slots(worker)
        return row(
            (f" {mark} ", style),
            (safe.fit(safe.one_line(worker.name), NAME) + " ", "strong"),
            (safe.fit(worker.state, self._state()), style),
            (safe.fit(safe.one_line(said), self._room() - 1) + " ", ""),
            (f"{worker.running or words.NOTHING:>{RUNS}}", "run"),
            (f"{words.count(worker.month_jobs):>{JOBS}}", ""),
            (f"{spent(worker):>{SPENT}}", ""),
        )


class WorkerFacts(LineView):
    """Everything about one worker but its key."""

    def show(self, worker: WorkerView | None) -> None:
        """Show one worker."""
        self.show_rows(list(facts(worker)) if worker is not None else [])


def nobody() -> list[Row]:
    """No identity yet: what one is, and how one is made."""
    return [
        row("  No agent worker yet. In another terminal:"),
        row((f"  {CREATE}", "strong")),
        row(),
        row((WHAT, "dim")),
    ]


def facts(worker: WorkerView) -> Iterator[Row]:
    """Name and value pairs."""
    if worker.problem:
        yield row((f" {safe.one_line(worker.problem)}", "bad"))
        yield row()
    yield _fact("for main work", worker.model)
    yield _fact("for small work", worker.small_model)
    here = " on this machine" if worker.loopback else ""
    yield _fact("asked at", f"{worker.base_url}{here}")
    paid = "at a flat rate: a request costs nothing more, list prices are shown beside"
    yield _fact("paid", paid if worker.plan else "per token")
    yield _fact("this month", f"{spent(worker)} in {words.plural(worker.month_jobs, 'job')}")
    yield row()
    yield row((" enter", "key"), (" shows its jobs. In a shell: ", "dim"), "workers-tui worker")


def slots(worker: WorkerView) -> str:
    """Its models: the one for main work, then the one for small tasks where it is another."""
    main, small = words.model_name(worker.model), words.model_name(worker.small_model)
    return main if small in {"", main} else f"{main}, small {small}"


def spent(worker: WorkerView) -> str:
    """What it cost since the first of the month."""
    return words.money(worker.month_pico)


def _fact(name: str, value: str) -> Row:
    return row((f" {name:<16}", "dim"), (safe.one_line(value) or words.NOTHING, ""))

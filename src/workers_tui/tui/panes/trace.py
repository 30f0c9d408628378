"""What an agent did, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Row, row

if TYPE_CHECKING:
    from workers_tui.engine.agents.agent_trace import TraceStep

KINDS = {
    "text": ("says", ""),
    "tool": ("does", "run"),
    "result": ("gets", "dim"),
    "denied": ("denied", "bad"),
    "request": ("asks", "dim"),
    "retry": ("waits", "warn"),
    "note": ("note", "dim"),
}


def _request(step: TraceStep, text: str) -> str:
    """A request in the screen's numbers; of its text only what went wrong is new."""
    wrong = text.partition(": ")[2]
    said = [f"{words.size(step.bytes_out)} sent"] if step.bytes_out else []
    if step.usage is not None:
        said.append(f"{words.count(step.usage.input)} in, {words.count(step.usage.output)} out")
    said += [words.cost(step.cost)] if step.cost is not None else []
    return " · ".join([*said, wrong] if wrong else said)


class Trace(LineView):
    """One or more rows a step; the newest is last and stays in sight."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._steps: Sequence[TraceStep] = ()
        self._note = "No step yet."

    def show(self, steps: Sequence[TraceStep]) -> None:
        """Show the steps so far."""
        at_end = self.scroll_offset.y >= self.max_scroll_y
        self._steps = steps
        self._lay_out()
        if at_end:
            self.scroll_to(y=self.row_count, animate=False, force=True)

    def on_resize(self) -> None:
        """Steps wrap to the width."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        if not self._steps:
            self.show_rows((row((f" {self._note}", "dim")),))
            return
        self.show_rows([line for step in self._steps for line in self._lines_of(step)])

    def _lines_of(self, step: TraceStep) -> list[Row]:
        word, style = KINDS.get(str(step.kind), ("", ""))
        head = f" {step.at.astimezone():%H:%M:%S} {word:<6} "
        name = safe.one_line(step.name) + (":" if word == "note" and step.text else "")
        said = " ".join(part for part in (name, self._said(step)) if part)
        lines = safe.wrap(said, max(10, self.row_width - len(head)))[:6]
        style = style if step.ok else "bad"
        return [
            row((head if number == 0 else " " * len(head), "dim"), (line, style))
            for number, line in enumerate(lines or [""])
        ]

    @staticmethod
    def _said(step: TraceStep) -> str:
        text = " ".join(safe.clean(step.text).split())
        return text if step.usage is None else _request(step, text)

"""What panes say when there is nothing to show, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from workers_tui.engine.jobs.job import Job
from workers_tui.tui import marks, safe, words
from workers_tui.tui.lines import Row, row

CONNECT = "workers-tui connect"


def trouble(why: str, log: Path) -> list[Row]:
    """The engine could not start."""
    return [
        row(),
        row(("  The engine could not start.", "bad")),
        *(row(f"  {line}") for line in safe.wrap(safe.one_line(why), 72)),
        row(),
        row(("  r", "key"), (" tries again, ", "dim"), ("q", "key"), (" quits. The log:", "dim")),
        row((f"  {log}", "dim")),
    ]


def starting(awaited: str) -> list[Row]:
    """Nothing is known yet, and why."""
    return [row(), row((f"  Starting: {awaited}.", "dim"))]


def no_match() -> list[Row]:
    """A filter that nothing passes."""
    return [row(), row(("  No job matches. ", "dim"), ("esc", "key"), (" shows all.", "dim"))]


def no_jobs(clients: int) -> list[Row]:
    """An empty day."""
    return [
        row(),
        row("  No job yet." if clients else "  No client yet. In another terminal:"),
        *([] if clients else [row((f"  {CONNECT}", "strong")), row()]),
        row(("  Then ask Claude Code to delegate something. ", "dim")),
        row(("  Or press ", "dim"), ("n", "key"), (" and give a worker a task from here.", "dim")),
    ]


def nothing_selected() -> list[Row]:
    """The output pane without a job."""
    return [row((" The output of the selected job shows here, while it comes.", "dim"))]


def no_text(job: Job) -> list[Row]:
    """A job without output: what it asks, why it failed, or that it has only begun."""
    if marks.asks(job) and job.question is not None:
        return _question(job)
    if job.error:
        return [row(f" {safe.one_line(job.error)}")]
    if job.state.ended:
        return [row((" No output.", "dim"))]
    return [row((f" {marks.mark(job).word.capitalize()}; no output yet.", "dim"))]


def _question(job: Job) -> list[Row]:
    question = job.question
    if question is None:
        return []
    cost = f" It costs {words.money(question.cost_pico)} at most." if question.cost_pico else ""
    return [
        row((f" {safe.one_line(question.text)}", "bad")),
        *(row(f"   {safe.one_line(line)}") for line in question.details),
        row((f" {words.size(question.bytes_out)} would leave this machine.{cost}", "dim")),
        row(" ", ("a", "key"), (" accepts, ", "dim"), ("x", "key"), (" rejects.", "dim")),
    ]

"""The savings report as lines for a terminal: the table, and the explanation behind it."""

from __future__ import annotations

from workers_tui.engine.transcripts.number_words import count, money, plural
from workers_tui.engine.transcripts.savings import Tokens
from workers_tui.engine.transcripts.savings_report import Report

COLUMNS = ("messages", "input", "output", "cache write", "cache read", "fresh", "cost")
MANY_GROUPS = 40


def table_lines(report: Report) -> list[str]:
    """What `workers-tui savings` prints."""
    groups = list(report.groups.items())
    hidden = len(groups) - MANY_GROUPS
    shown = groups[-MANY_GROUPS:] if report.by == "day" else _largest(groups)
    lines = _table(report.by, [(_label(report, key), found) for key, found in shown])
    if hidden > 0:
        lines.append(f"({hidden} more; all of them with --json or --csv)")
    lines += ["", *_table("model", list(report.models.items())), ""]
    if report.workers:
        lines += [*_table("worker", list(report.workers.items())), ""]
    return [*lines, *figure_lines(report), *_notes(report)]


def _largest(groups: list[tuple[str, Tokens]]) -> list[tuple[str, Tokens]]:
    return sorted(groups, key=lambda group: -group[1].sums.fresh)[:MANY_GROUPS]


def _label(report: Report, key: str) -> str:
    return report.paths.get(key, key) if report.by == "project" else key


def _table(title: str, groups: list[tuple[str, Tokens]]) -> list[str]:
    rows = [(printable(key) or "(none)", *_cells(found)) for key, found in groups]
    head = (title, *COLUMNS)
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]


def printable(name: str) -> str:
    """A name out of a transcript for a terminal: what would move the cursor is a question mark."""
    return "".join(one if one.isprintable() else "?" for one in name)


def _cells(found: Tokens) -> tuple[str, ...]:
    sums = found.sums
    numbers = (sums.input, sums.output, sums.creation, sums.read, sums.fresh)
    cost = money(found.cost_pico) + (" + ?" if found.unpriced else "")
    return (f"{sums.messages:,}", *(count(number) for number in numbers), cost)


def figure_lines(report: Report) -> list[str]:
    """The answer in a few sentences."""
    found, delegated = report.figures, report.delegated
    if not found.jobs and not found.sessions:
        return ["Nothing was delegated yet: there is no saving to show."]
    percent = "?" if found.percent is None else f"{found.percent:.0f} %"
    unknown = f" + {delegated.unknown_calls} unknown" if delegated.unknown_calls else ""
    net = f"Net {money(found.net_low_pico)} to {money(found.net_high_pico)}"
    return [
        (
            f"Workers did {percent} of the work over {plural(found.sessions, 'session')} "
            "that delegated: "
            f"{count(found.worker_fresh)} of {count(found.all_fresh)} fresh tokens."
        ),
        f"{count(found.kept_out_tokens)} tokens were kept out of Claude's context.",
        (
            f"{plural(delegated.calls, 'request')} to workers: {count(delegated.input)} in, "
            f"{count(delegated.output)} out, {money(delegated.cost_pico)}{unknown}."
        ),
        f"{net}; the formula: workers-tui savings --explain",
    ]


def _notes(report: Report) -> list[str]:
    """What bends the figures, a line each; nothing is ignored in silence."""
    sums, notes = report.manager.sums, []
    if report.manager.unpriced:
        names = ", ".join(map(printable, report.manager.unpriced))
        notes.append(f"Without a price, so not in the cost: {names}.")
    if sums.web:
        notes.append(f"Billed apart, so not in the cost: {plural(sums.web, 'web search')}.")
    if sums.fast:
        notes.append(f"At the standard price: {plural(sums.fast, 'message')} in fast mode.")
    if sums.odd:
        notes.append(f"At the standard price: {plural(sums.odd, 'message')} of unknown speed.")
    if sums.unfinished:
        notes.append(
            f"Broken off, so their output is a lower bound: {plural(sums.unfinished, 'message')}."
        )
    if report.figures.read_again:
        notes.append(
            f"Claude read {plural(report.figures.read_again, 'delegated file')} itself afterwards: "
            "nothing was saved there."
        )
    if report.files.bad_lines:
        notes.append(
            f"Could not be read, so not counted: {plural(report.files.bad_lines, 'line')}."
        )
    notes += [f"Could not be read: {printable(path)}" for path in report.unreadable]
    return ["", *notes] if notes else []


RULES = """\
A message is counted once: lines with the same message id and request id are one message, in
whatever files they stand, and the largest of each count is taken. Without a request id, lines
belong together by message id, session, equal input and order. A message counts for the session
that wrote it first, on the local day of its first line.
Fresh tokens = input + cache writes + output; cache reads are shown, never counted as work.
Workers' share = fresh tokens of workers / fresh tokens of workers and Claude, in the sessions
that delegated.
Kept out of context = tokens of the files that calls read - tokens that came back.
Net = kept out x Claude's input price (high) or cache-read price (low) - cost of the workers.
"""


def explain_lines(report: Report) -> list[str]:
    """The rules and the counts behind the figures."""
    return [RULES, *_counts(report), *_notes(report)]


def _counts(report: Report) -> list[str]:
    found, files, sums = report.figures, report.files, report.manager.sums
    unknown = f"; not in it: {plural(found.unknown_costs, 'job')} of unknown cost"
    return [
        f"Files read, deleted ones included: {files.files:,} with {files.bytes:,} bytes",
        (
            f"Bad lines: {files.bad_lines}; files that end in the middle of a line: {files.torn}; "
            f"API errors: {files.api_errors}"
        ),
        (
            f"Claude's messages: {sums.messages:,}; input {sums.input:,} + cache writes "
            f"{sums.creation:,} ({sums.creation_1h:,} for an hour) + output {sums.output:,} "
            f"= {sums.fresh:,} fresh; {sums.read:,} cache reads"
        ),
        (
            f"Workers' share: {found.worker_fresh:,} / {found.all_fresh:,} in "
            f"{plural(found.sessions, 'session')}, {plural(found.jobs, 'job')}"
        ),
        f"Kept out: {found.kept_out_tokens:,} tokens",
        (
            f"Net: {money(found.net_low_pico)} to {money(found.net_high_pico)} after "
            f"{money(found.worker_pico)} for workers{unknown if found.unknown_costs else ''}"
        ),
        f"Prices: {report.price_source or 'none'}; looked up {report.price_date or 'never'}",
    ]

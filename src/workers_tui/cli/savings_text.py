"""The savings report as lines for a terminal: the table, and the explanation behind it."""

from __future__ import annotations

from collections.abc import Sequence

from workers_tui.cli.table import aligned
from workers_tui.engine.transcripts.job_savings import JobSaving
from workers_tui.engine.transcripts.number_words import count, money, plural, signed
from workers_tui.engine.transcripts.savings import Delegated, Figures, Tokens, add_tokens
from workers_tui.engine.transcripts.savings_report import Report

COLUMNS = ("messages", "input", "output", "cache write", "cache read", "fresh", "cost")
MANY_GROUPS = 40
WIDEST = 64
"""Cells of a name in a table."""


def table_lines(report: Report) -> list[str]:
    """What `workers-tui savings` prints."""
    lines = [f"From {report.since} on.", ""] if report.since else []
    lines += [*_own(report), ""]
    if report.workers:
        lines += [*_table("worker", list(report.workers.items())), ""]
    return [*lines, *figure_lines(report), *_notes(report)]


def _own(report: Report) -> list[str]:
    """What Claude did, by what was asked for and by model."""
    groups = list(report.groups.items())
    if not groups:
        return [f"Claude Code's transcripts hold no message{_since(report, ' yet')}."]
    hidden = len(groups) - MANY_GROUPS
    shown = groups[-MANY_GROUPS:] if report.by == "day" else _largest(groups)
    lines = _table(report.by, [(_label(report, key), found) for key, found in shown])
    if hidden > 0:
        lines.append(f"({hidden} more; all of them with --json or --csv)")
    if report.by != "model":
        lines += ["", *_table("model", list(report.models.items()))]
    return lines


def _since(report: Report, ever: str) -> str:
    """From when on something is missing."""
    return " from this day on" if report.since else ever


def _largest(groups: list[tuple[str, Tokens]]) -> list[tuple[str, Tokens]]:
    return sorted(groups, key=lambda group: -group[1].sums.fresh)[:MANY_GROUPS]


def _label(report: Report, key: str) -> str:
    return report.paths.get(key, key) if report.by == "project" else key


def _table(title: str, groups: list[tuple[str, Tokens]]) -> list[str]:
    rows = [(_short(key) or "(none)", *_cells(found)) for key, found in groups]
    return aligned([(title, *COLUMNS), *rows], right=range(1, 1 + len(COLUMNS)))


def _short(name: str) -> str:
    """A name that leaves room for the figures: of a long one both ends."""
    shown = printable(name)
    return shown if len(shown) <= WIDEST else f"{shown[:29]}…{shown[-(WIDEST - 30) :]}"


def printable(name: str) -> str:
    """A name out of a transcript for a terminal: what would move the cursor is a question mark."""
    return "".join(one if one.isprintable() else "?" for one in name)


def spreadsheet(name: str) -> str:
    """A name for a spreadsheet: what it would take for a formula is marked as text."""
    shown = printable(name)
    word = shown.replace("-", "").replace("_", "").replace(".", "").isalnum()
    return f"'{shown}" if shown[:1] in {"=", "+", "@", "-"} and not word else shown


def _cells(found: Tokens) -> tuple[str, ...]:
    sums = found.sums
    numbers = (sums.input, sums.output, sums.creation, sums.read, sums.fresh)
    cost = money(found.cost_pico) + (" + ?" if found.unpriced else "")
    return (f"{sums.messages:,}", *(count(number) for number in numbers), cost)


def figure_lines(report: Report) -> list[str]:
    """The answer in a few sentences."""
    found = report.figures
    if report.without_index:
        requests = [_requests(report.delegated)] if report.delegated.calls else []
        return [*requests, "What delegation saved is not counted with --no-index."]
    if not found.jobs and not found.sessions:
        return [f"Nothing was delegated{_since(report, ' yet')}: there is no saving to show."]
    return [
        _share(found),
        _kept_out(found.kept_out_tokens),
        _requests(report.delegated),
        f"Net {_net(found, report.manager)}; the formula: workers-tui savings --explain",
    ]


def _share(found: Figures) -> str:
    if not found.sessions:
        return "No session of Claude Code is known to have delegated, so there is no share of it."
    percent = "?" if found.percent is None else f"{found.percent:.0f} %"
    return (
        f"Workers did {percent} of the work over {plural(found.sessions, 'session')} "
        "that delegated: "
        f"{count(found.worker_fresh)} of {count(found.all_fresh)} fresh tokens."
    )


def _kept_out(tokens: int) -> str:
    if tokens < 0:
        return f"{count(-tokens)} tokens more came into Claude's context than were kept out of it."
    return f"{count(tokens)} tokens were kept out of Claude's context."


def _requests(made: Delegated) -> str:
    said = f"{plural(made.calls, 'request')} to workers: {count(made.input)} in, "
    said += f"{count(made.output)} out, {money(made.cost_pico)}"
    said += f" + {made.pending_calls} pending" if made.pending_calls else ""
    said += f" + {made.unknown_calls} unknown" if made.unknown_calls else ""
    estimated = f", of which ~{money(made.estimated_pico)} is estimated"
    return f"{said}{estimated if made.estimated_pico else ''}."


def _net(found: Figures, manager: Tokens) -> str:
    """The range of dollars, and what is not in it."""
    low, high = found.net_low_pico, found.net_high_pico
    if low is None or high is None:
        if not manager.sums.messages:
            return "?: no transcript says what Claude would have cost"
        return "?: Claude's model has no price"
    said = signed(low) if low == high else f"{signed(low)} to {signed(high)}"
    return said + (f" less {found.unknown_costs} unknown" if found.unknown_costs else "")


def _notes(report: Report) -> list[str]:
    """What bends the figures, a line each; nothing is ignored in silence."""
    everybody = add_tokens([report.manager, *report.workers.values()])
    sums, notes = everybody.sums, []
    if everybody.unpriced:
        names = ", ".join(map(_short, everybody.unpriced))
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
Net = kept out x Claude's input price (high) or cache-read price (low) - cost of the workers; where
more came back than was kept out, the input price gives the low. A cost that nobody knows counts
as 0 in it, and the amount then says so.
"""


def explain_lines(report: Report) -> list[str]:
    """The rules and the counts behind the figures."""
    return [RULES, *_counts(report), *_notes(report)]


def _counts(report: Report) -> list[str]:
    files, sums = report.files, report.manager.sums
    lines = [f"Counted: from {report.since} on"] if report.since else []
    return [
        *lines,
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
        *(figure_lines(report) if report.without_index else _figure_counts(report)),
        f"Prices: {report.price_source or 'none'}; looked up {report.price_date or 'never'}",
    ]


def _figure_counts(report: Report) -> list[str]:
    return [
        _share_counts(report),
        _kept_counts(report.jobs),
        _net_counts(report.figures, report.manager),
        _requests(report.delegated),
    ]


def _share_counts(report: Report) -> str:
    found, other = report.figures, report.unmatched_fresh
    own = found.all_fresh - found.worker_fresh
    said = (
        f"Workers' share: {found.worker_fresh:,} / ({found.worker_fresh:,} + Claude's {own:,}) in "
        f"{plural(found.sessions, 'session')}, {plural(found.jobs, 'job')}"
    )
    said += f"; {other:,} of it by workers without a job of ours" if other else ""
    strays = sum(one.session is None for one in report.jobs)
    return said + (f"; not in it: {plural(strays, 'job')} of no known session" if strays else "")


def _kept_counts(jobs: Sequence[JobSaving]) -> str:
    kept, back = sum(one.kept_out for one in jobs), sum(one.back for one in jobs)
    return f"Kept out: {kept + back:,} tokens of files - {back:,} that came back = {kept:,}"


def _net_counts(found: Figures, manager: Tokens) -> str:
    if found.net_low_pico is None or found.net_high_pico is None:
        return f"Net: {_net(found, manager)}"
    cost = found.worker_pico
    low, high = money(found.net_low_pico + cost), money(found.net_high_pico + cost)
    left = _net(found, manager)
    return f"Net: {low} to {high} for what was kept out - {money(cost)} for workers = {left}"

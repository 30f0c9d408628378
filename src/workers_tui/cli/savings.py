"""`workers-tui savings`: was it worth it. Tables, JSON, CSV, and the rule behind them."""

from __future__ import annotations

import csv
import gc
import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from workers_tui.cli.common import Options, print_json
from workers_tui.cli.savings_text import explain_lines, spreadsheet, table_lines
from workers_tui.engine.errors import StoreUnusable, WrongUse
from workers_tui.engine.transcripts.savings import Tokens
from workers_tui.engine.transcripts.savings_gather import gather, gather_without_index, was_read
from workers_tui.engine.transcripts.savings_report import BY, Report, group_json, report_json
from workers_tui.engine.transcripts.transcript_files import Source, find_sources
from workers_tui.home.places import Home, find_home


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date | None:  # noqa: ARG001 - click asks so
    if value is None:
        return None
    try:
        return date.fromisoformat(
            value if "-" in value else f"{value[:4]}-{value[4:6]}-{value[6:]}"
        )
    except ValueError:
        raise WrongUse(f"--since takes a day such as 2026-06-30, not {value!r}") from None


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the groups of --by as CSV.")
@click.option("--explain", is_flag=True, help="Print the rules and the counts behind the figures.")
@click.option("--since", callback=_day, metavar="DATE", help="Count from this day on.")
@click.option("--by", type=click.Choice(BY), default="day", show_default=True)
@click.option(
    "--claude-dir",
    "claude_dirs",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Configuration directory of Claude Code; may be repeated.",
)
@click.option(
    "--workers-root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where worker identities lie.  [default: ~/.claude-workers]",
)
@click.option("--no-index", is_flag=True, help="Read every file anew and keep nothing.")
@click.pass_obj
def savings(
    options: Options,
    /,
    *,
    since: date | None,
    by: str,
    claude_dirs: tuple[Path, ...],
    workers_root: Path | None,
    no_index: bool,
    **shape: bool,
) -> None:
    """Show what delegation saved, from Claude Code's transcripts and our own ledger."""
    chosen = [f"--{name.removeprefix('as_')}" for name, wanted in shape.items() if wanted]
    if len(chosen) > 1:
        raise WrongUse(f"{' and '.join(chosen)} are shapes of one answer: choose one of them")
    gc.disable()  # nothing here makes cycles, and looking for them takes a tenth of the time
    root = workers_root or Path(
        os.environ.get("CLAUDE_WORKERS_ROOT") or Path.home() / ".claude-workers"
    )
    if options.config is not None and not options.config.exists():
        raise WrongUse(f"{options.config} is not there; --config needs a models.json")
    home = find_home(flat=options.home) if no_index else options.place()
    for directory in (*claude_dirs, *([workers_root] if workers_root else [])):
        if not directory.is_dir() and not was_read(home, directory):
            raise WrongUse(
                f"there is no directory {directory}, and there never was one that we read"
            )
    _note_strangers(claude_dirs)
    sources = find_sources(os.environ, claude_dirs=claude_dirs, workers_root=root)
    gathered = gather_without_index if no_index else _gathered
    report = gathered(home, sources, by=by, since=since, config=options.config, workers_root=root)
    _print(report, **shape)
    gc.freeze()  # nor need the interpreter look for any at its end


def _note_strangers(claude_dirs: Sequence[Path]) -> None:
    """Say which directories hold no transcripts: a wrong one would count as nothing in silence."""
    for directory in claude_dirs:
        has = (directory / "projects").is_dir() or directory.name == "projects"
        if directory.is_dir() and not has:
            click.echo(f"note: {directory} has no `projects` in it, so no transcripts", err=True)


def _gathered(home: Home, sources: Sequence[Source], **wanted: Any) -> Report:
    """The report from the index; where that cannot be used, the error says what can be done."""
    try:
        return gather(home, sources, **wanted)
    except StoreUnusable as error:
        raise StoreUnusable(f"{error}; or read every file anew with --no-index") from error


def _print(report: Report, *, as_json: bool, as_csv: bool, explain: bool) -> None:
    if as_json:
        print_json(report_json(report))
    elif as_csv:
        _print_csv(report)
    else:
        lines: Callable[[Report], list[str]] = explain_lines if explain else table_lines
        click.echo("\n".join(lines(report)))


def _print_csv(report: Report) -> None:
    rows: list[dict[str, Any]] = [
        group_json(report, key, found) for key, found in report.groups.items()
    ]
    every = [*rows, group_json(report, "", Tokens())]  # the names stand there without any group
    columns = list(dict.fromkeys(name for row in every for name in row))
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        unpriced = " ".join(row["unknown_price_models"])
        shown = {**row, "unknown_price_models": unpriced}.items()
        writer.writerow({n: spreadsheet(v) if isinstance(v, str) else v for n, v in shown})

"""`workers-tui import FILE`: takes an older usage.jsonl in."""

from __future__ import annotations

from pathlib import Path

import click

from workers_tui.cli.common import Options, open_engine, run_async
from workers_tui.engine.transcripts.number_words import plural


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def import_(options: Options, file: Path) -> int:
    """Take the calls of an older usage.jsonl in; doing it twice changes nothing."""
    return run_async(_import(options, file))


async def _import(options: Options, file: Path) -> int:
    async with open_engine(options, watch=False) as engine:
        taken, bad = await engine.ledger.import_file(file)
    left = f"; left out as without sense: {plural(bad, 'line')}" if bad else ""
    click.echo(f"{plural(taken, 'call')} taken in{left}")
    return 0

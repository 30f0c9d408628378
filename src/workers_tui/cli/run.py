"""`workers-tui run`: one call from the shell, on the same engine and ledger as every other."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from workers_tui.cli.common import Options, open_engine, print_json, run_paid
from workers_tui.cli.safe import answer, one_line
from workers_tui.cli.words import cost, first_line
from workers_tui.engine.engine import Engine
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.jobs.job import CallRequest, Job, JobState, Origin
from workers_tui.engine.shapes import SCHEMA, job_json
from workers_tui.forwarder.told import split_roots

EXIT = {JobState.DONE: 0, JobState.REFUSED: 3, JobState.CANCELLED: 130}


@click.command()
@click.argument("task")
@click.option("--tier", default="auto", show_default=True, help="A tier of models.json, or auto.")
@click.option("--file", "files", multiple=True, help="File, glob, directory or path:10-200.")
@click.option("--write-to", help="Put the answer into this file.")
@click.option("--max-tokens", type=click.IntRange(1, 1_000_000), help="Longest answer.")
@click.option("--json", "as_json", is_flag=True, help="Print the job as JSON.")
@click.pass_obj
def run(
    options: Options,
    task: str,
    tier: str,
    files: tuple[str, ...],
    write_to: str | None,
    max_tokens: int | None,
    as_json: bool,
) -> int:
    """Do one TASK; `-` reads it from standard input. Files may come from below this directory."""
    if task == "-":
        if sys.stdin is None:
            raise WrongUse("`-` reads the task from standard input, and there is none")
        task = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    request = CallRequest(task, tier, files, write_to, max_tokens)
    return run_paid(_run(options, request, as_json=as_json))


async def _run(options: Options, request: CallRequest, *, as_json: bool) -> int:
    async with open_engine(options, watch=False) as engine:
        job = await engine.delegate(request, shell_origin(options.project))
        ended = await engine.ended(job.id)
        await _show(engine, ended, as_json=as_json)
        return exit_code(engine, ended)


def shell_origin(project: Path | None) -> Origin:
    """The shell's user: this directory and the extra roots of the environment."""
    here = Path(os.path.realpath(project or os.getcwd()))  # noqa: PTH109 - a symlinked cwd too
    extra = split_roots(os.environ.get("WORKERS_ALLOWED_ROOTS", ""))
    return Origin((here, *extra), project=str(here), client="shell")


async def _show(engine: Engine, job: Job, *, as_json: bool) -> None:
    text = await engine.text(job.id)
    if as_json:
        print_json({"schema": SCHEMA, "job": {**job_json(job), "text": text}})
    elif job.state is JobState.DONE and job.written:
        click.echo(f"wrote {job.written}")
    elif job.state is JobState.DONE:
        click.echo(answer(text), color=True)  # as it is: nothing is stripped from it
    if job.state is not JobState.DONE:
        click.echo(f"workers-tui: {one_line(_failure(job, text))}", err=True)
        return
    click.echo(first_line(job), err=True)
    for one in job.sent:
        if one.note:
            click.echo(f"workers-tui: {one.path}: {one.note}", err=True)
    if job.truncated:
        click.echo("workers-tui: the answer was cut at the output limit", err=True)


def _failure(job: Job, text: str) -> str:
    """What went wrong, what it cost and where the rest is, in one line."""
    said = [job.error or job.state.value]
    if job.cost is not None:
        said.append(f"{cost(job.cost)} spent")
    if text:
        said.append(f"what came: workers-tui jobs show {job.id}")
    return "; ".join(said)


def exit_code(engine: Engine, job: Job) -> int:
    """By the error where it is known, else by the state."""
    failure = engine.failure(job.id)
    if failure is not None:
        return failure.exit_code
    return EXIT.get(job.state, 1)

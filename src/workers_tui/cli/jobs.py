"""`workers-tui jobs …`: the jobs of all engines, one of them, or its end."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from workers_tui.cli.common import Options, open_engine, print_json, run_async
from workers_tui.cli.safe import answer, one_line
from workers_tui.cli.table import Row, aligned
from workers_tui.cli.words import cost, first_line, title
from workers_tui.engine.errors import WorkFailed, WrongUse
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.engine.shapes import SCHEMA, job_json

PATIENCE = 15.0
"""Seconds to wait for another engine to cancel its job."""


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.option("--state", help="Only jobs in this state: running, done, failed, …")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.pass_context
def jobs(ctx: click.Context, as_json: bool, state: str | None, limit: int) -> int:
    """List jobs, newest first; or show or cancel one."""
    if ctx.invoked_subcommand is not None:
        return 0
    if state is not None and state not in set(JobState):
        raise WrongUse(f"there is no state {state!r}; states are {', '.join(JobState)}")
    return run_async(_list(ctx.obj, state, limit, as_json=as_json))


async def _list(options: Options, state: str | None, limit: int, *, as_json: bool) -> int:
    async with open_engine(options, watch=False) as engine:
        found = await engine.list_jobs(state=JobState(state) if state else None, limit=limit)
    if as_json:
        print_json({"schema": SCHEMA, "jobs": [job_json(job) for job in found]})
        return 0
    for line in aligned([row(job) for job in found]):
        click.echo(line)
    if not found:
        click.echo("no jobs")
    return 0


def row(job: Job) -> Row:
    """One job on a line."""
    name = one_line(job.tier or job.worker or "-")
    waits = f" for {job.waiting_for.value}" if job.waiting_for else ""
    spent = cost(job.cost) if job.cost else "-"
    when = f"{job.created_at.astimezone():%m-%d %H:%M}"
    return (job.id, when, job.state.value + waits, name, spent, title(job))


@jobs.command()
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def show(options: Options, job_id: str, as_json: bool) -> int:
    """Show a job and its text."""
    return run_async(_show(options, job_id, as_json=as_json))


async def _show(options: Options, job_id: str, *, as_json: bool) -> int:
    async with open_engine(options, watch=False) as engine:
        job = await engine.job(job_id)
        text = await engine.text(job.id)
    if as_json:
        print_json({"schema": SCHEMA, "job": {**job_json(job), "text": text}})
        return 0
    for name, value in _facts(job):
        click.echo(f"{name:<9} {one_line(str(value))}")
    if text:
        click.echo(f"\n{answer(text)}", color=True)
    return 0


def _facts(job: Job) -> list[tuple[str, Any]]:
    facts = [
        ("job", f"{job.id} {job.state.value}"),
        ("task", title(job)),
        ("asked", f"{job.created_at.astimezone():%Y-%m-%d %H:%M:%S} by {job.client or 'somebody'}"),
        ("ran on", first_line(job)),
        ("error", job.error),
        ("wrote", job.written),
        ("repeats", job.parent),
        ("text in", job.result_path),
    ]
    sent = [
        ("sent", f"{one.path} lines {one.start}-{one.end}, {one.bytes} bytes, {one.sha256[:12]}")
        for one in job.sent
    ]
    return [(name, value) for name, value in [*facts, *sent] if value]


@jobs.command()
@click.argument("job_id", metavar="ID")
@click.pass_obj
def cancel(options: Options, job_id: str) -> int:
    """Cancel a job, whichever process runs it."""
    return run_async(_cancel(options, job_id))


async def _cancel(options: Options, job_id: str) -> int:
    async with open_engine(options, watch=False) as engine:
        job = await engine.job(job_id)
        await engine.cancel(job.id, by="the shell")
        try:
            async with asyncio.timeout(PATIENCE):
                ended = await engine.ended(job.id)
        except TimeoutError:
            raise WorkFailed(f"job {job.id} was asked to end and still runs") from None
    click.echo(f"job {ended.id} {ended.state.value}")
    return 0

"""`workers-tui doctor`: looks at everything once and says how to mend what is wrong."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from dataclasses import asdict
from pathlib import Path

import click

from workers_tui.cli.common import Options, open_engine, print_json, run_async
from workers_tui.cli.safe import one_line
from workers_tui.cli.table import Row, aligned
from workers_tui.engine.checks.check import Check
from workers_tui.engine.checks.doctor import check_engine, check_python
from workers_tui.engine.checks.doctor_claude import check_claude
from workers_tui.engine.checks.local_servers import find_local_servers
from workers_tui.engine.errors import WorkersError
from workers_tui.home.places import Home
from workers_tui.server.claim import find_other, name_stranger

SMALLEST = (60, 15)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@click.pass_obj
def doctor(options: Options, *, as_json: bool) -> int:
    """Check the installation; exit 1 when something needs mending."""
    checks = run_async(_checks(options))
    if as_json:
        print_json({"schema": 1, "checks": [asdict(check) for check in checks]})
    else:
        show(checks)
    return 0 if all(check.ok for check in checks) else 1


async def _checks(options: Options) -> list[Check]:
    project = (options.project or Path.cwd()).resolve()
    checks = [check_python(), *await check_claude(project, os.environ)]
    local = await find_local_servers()
    try:
        async with open_engine(options, watch=False) as engine:
            checks += await check_engine(engine, local)
            checks.append(port_check(engine.home, options))
    except WorkersError as error:
        checks.append(Check("engine", ok=False, detail=str(error), fix="mend what it names"))
    checks.append(_terminal())
    return checks


def port_check(home: Home, options: Options) -> Check:
    """Who serves, or whether the port that would be taken is free."""
    other = find_other(home)
    if other is not None:
        said = f"{other.kind or 'server'} of pid {other.record.pid} at {other.record.url}"
        return Check("port", ok=True, detail=said)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            return _taken(options, error)
    return Check("port", ok=True, detail=f"{options.host}:{options.port} is free")


def _taken(options: Options, error: OSError) -> Check:
    address = f"{options.host}:{options.port}"
    try:
        socket.create_connection((options.host, options.port), timeout=1).close()
    except OSError:
        said = f"{address} cannot be used: {error.strerror}"
        return Check("port", ok=False, detail=said, fix="choose another with --host and --port")
    who = name_stranger(options.host, options.port)
    return Check("port", ok=True, detail=f"{address} is held by {who}; the next free one is used")


def _terminal() -> Check:
    if not sys.stdout.isatty():
        return Check("terminal", ok=True, detail="the output is not a terminal")
    columns, rows = shutil.get_terminal_size()
    kind = os.environ.get("TERM", "")
    detail = f"{kind or 'TERM is not set'}, {columns}x{rows}, {sys.stdout.encoding}"
    if kind in {"", "dumb"}:
        return Check("terminal", ok=False, detail=detail, fix="use a terminal that sets TERM")
    if columns < SMALLEST[0] or rows < SMALLEST[1]:
        fix = f"make it at least {SMALLEST[0]}x{SMALLEST[1]}"
        return Check("terminal", ok=False, detail=detail, fix=fix)
    if "utf" not in sys.stdout.encoding.lower():
        return Check("terminal", ok=False, detail=detail, fix="set LANG to a UTF-8 locale")
    return Check("terminal", ok=True, detail=detail)


def show(checks: list[Check]) -> None:
    """Print a line for each, and below it what mends it."""
    rows: list[Row] = []
    for check in checks:
        sign = "ok  " if check.ok else "FAIL"
        rows.append((one_line(f"{sign} {check.name}"), one_line(check.detail)))
        if check.fix:
            rows.append(("", one_line(f"-> {check.fix}")))
    click.echo("\n".join(aligned(rows)))

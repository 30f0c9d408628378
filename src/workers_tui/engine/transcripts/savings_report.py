"""The savings as one report: folded from facts, given as JSON, rows or a view.

Both faces use it: `workers-tui savings` prints it, the follower puts its view
on the board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from workers_tui.engine.money import json_usd
from workers_tui.engine.pricing.manager_prices import ManagerPrices
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.transcripts.index_query import CellRow, FileCounts
from workers_tui.engine.transcripts.job_savings import JobSaving, job_savings
from workers_tui.engine.transcripts.savings import (
    Delegated,
    Figures,
    Tokens,
    add_tokens,
    figures,
    fresh_by_session,
    main_models,
    tokens_by,
)
from workers_tui.engine.transcripts.savings_facts import Facts, by_session
from workers_tui.engine.transcripts.transcript_files import MANAGER

SCHEMA = 1
BY = ("day", "project", "session", "model")


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that `savings` says."""

    manager: Tokens
    workers: dict[str, Tokens]
    models: dict[str, Tokens]
    by: str
    groups: dict[str, Tokens]
    """The manager's, by what was asked for."""
    paths: dict[str, str]
    """A project's directory, by the name that Claude Code gave its folder."""
    figures: Figures
    jobs: list[JobSaving]
    delegated: Delegated
    files: FileCounts
    unreadable: list[str]
    price_source: str
    price_date: str
    unmatched_fresh: int = 0
    """Workers' tokens in `figures` that no job of ours accounts for."""
    since: date | None = None
    """The first day that counts."""
    without_index: bool = False
    """Only the files were read: what was delegated is not known then."""


def build(
    facts: Facts, prices: ManagerPrices, *, by: str = "day", since: date | None = None
) -> Report:
    """Fold the facts; the prices must be loaded."""
    by_hand = by_session(facts.unmatched)
    own = [row for row in facts.rows if row.owner == MANAGER]
    others = (row for row in facts.rows if row.owner != MANAGER)
    models = tokens_by(own, _model, prices.find)
    find = session_prices(own, facts.asking, prices)
    saved = job_savings(facts.jobs, facts.links, find)
    return Report(
        manager=add_tokens(models.values()),
        workers=tokens_by(others, _owner, prices.find),
        models=models,
        by=by,
        groups=models if by == "model" else tokens_by(own, KEYS[by], prices.find),
        paths={row.project: row.path for row in own if row.path},
        figures=figures(saved, fresh_by_session(facts.asking), by_hand),
        jobs=saved,
        delegated=facts.delegated,
        files=facts.files,
        unreadable=facts.unreadable,
        price_source=prices.source,
        price_date=prices.looked_up,
        unmatched_fresh=sum(by_hand.values()),
        since=since,
    )


def session_prices(
    rows: Iterable[CellRow], asking: Iterable[CellRow], prices: ManagerPrices
) -> Callable[[str | None], Price | None]:
    """The price of the model that did most of a session's work; else of all sessions' work.

    `asking` are the cells of the sessions that are asked about.
    """

    @cache
    def best() -> dict[str, tuple[str, int]]:
        return main_models(asking)

    @cache
    def overall() -> tuple[str, int] | None:
        return main_models(row._replace(session="") for row in rows).get("")

    def find(session: str | None) -> Price | None:
        model = (best().get(session) if session else None) or overall()
        return prices.find(*model) if model else None

    return find


def _owner(row: CellRow) -> str:
    return row.owner


def _model(row: CellRow) -> str:
    return row.model


def _day(row: CellRow) -> str:
    return date.fromordinal(row.day).isoformat()


def _project(row: CellRow) -> str:
    return row.project


def _session(row: CellRow) -> str:
    return row.session


KEYS = {"day": _day, "project": _project, "session": _session, "model": _model}


def tokens_json(found: Tokens) -> dict[str, Any]:
    """T of contract 4.7."""
    sums = found.sums
    return {
        "messages": sums.messages,
        "input": sums.input,
        "output": sums.output,
        "cache_creation": sums.creation,
        "cache_creation_1h": sums.creation_1h,
        "cache_read": sums.read,
        "fresh_tokens": sums.fresh,
        "cost_usd": json_usd(found.cost_pico),
        "unknown_price_models": list(found.unpriced),
        # beyond the contract: what bends the cost or the output
        "unfinished_messages": sums.unfinished,
        "fast_messages": sums.fast,
        "unknown_speed_messages": sums.odd,
        "unpriced_web_searches": sums.web,
    }


def report_json(report: Report) -> dict[str, Any]:
    """The whole of `savings` (contract 4.7)."""
    return {
        "schema": SCHEMA,
        "manager": tokens_json(report.manager),
        "workers": {name: tokens_json(found) for name, found in report.workers.items()},
        "delegated": {
            "calls": report.delegated.calls,
            "in": report.delegated.input,
            "out": report.delegated.output,
            "cost_usd": json_usd(report.delegated.cost_pico),
            "estimated_usd": json_usd(report.delegated.estimated_pico),
            "unknown_calls": report.delegated.unknown_calls,
            "pending_calls": report.delegated.pending_calls,
        },
        "models": [{"model": name, **tokens_json(t)} for name, t in report.models.items()],
        "by": [group_json(report, key, found) for key, found in report.groups.items()],
        "savings": figures_json(report.figures) | {"counted": not report.without_index},
        "files": {
            "count": report.files.files,
            "bytes": report.files.bytes,
            "bad_lines": report.files.bad_lines,
            "torn": report.files.torn,
            "api_errors": report.files.api_errors,
            "unreadable": report.unreadable,
        },
        "prices": {"source": report.price_source, "date": report.price_date},
    }


def group_json(report: Report, key: str, found: Tokens) -> dict[str, Any]:
    """One group; a project also tells its directory."""
    more = {"path": report.paths[key]} if report.by == "project" and key in report.paths else {}
    return {"key": key, **more, **tokens_json(found)}


def figures_json(found: Figures) -> dict[str, Any]:
    """`savings` inside of `savings`."""
    percent = found.percent
    return {
        "worker_fresh_tokens": found.worker_fresh,
        "all_fresh_tokens": found.all_fresh,
        "percent": None if percent is None else round(percent, 2),
        "sessions": found.sessions,
        "kept_out_tokens": found.kept_out_tokens,
        "net_usd_low": json_usd(found.net_low_pico),
        "net_usd_high": json_usd(found.net_high_pico),
        "worker_cost_usd": json_usd(found.worker_pico),
        "jobs": found.jobs,
        "unknown_cost_jobs": found.unknown_costs,
        "files_read_again": found.read_again,
    }

"""The JSON that other programs read: `jobs` rows and `stats` (contract 4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from workers_tui.engine.jobs.job import Job
from workers_tui.engine.money import json_usd
from workers_tui.engine.spending.ledger import LedgerHealth, Totals
from workers_tui.engine.spending.spend import Spend

SCHEMA = 1


def job_json(job: Job) -> dict[str, Any]:
    """One row of `jobs`."""
    cost = job.cost
    return {
        "id": job.id,
        "kind": job.kind.value,
        "state": job.state.value,
        "waiting_for": job.waiting_for.value if job.waiting_for else None,
        "tier": job.tier,
        "tier_reason": job.tier_reason,
        "model": job.model,
        "worker": job.worker,
        "task": job.task,
        "project": job.project,
        "session": job.session,
        "started_at": _iso(job.started_at),
        "ms": job.ms,
        "in": job.usage.input,
        "out": job.usage.output,
        "cost_usd": json_usd(cost.pico) if cost else None,
        "cost_source": cost.source.value if cost else None,
        "error": job.error,
        "result_path": str(job.result_path) if job.result_path else None,
        # beyond the contract
        "created_at": _iso(job.created_at),
        "ended_at": _iso(job.ended_at),
        "retry_at": _iso(job.retry_at),
        "provider": job.provider,
        "cached": job.usage.cached,
        "reasoning": job.usage.reasoning,
        "attempts": job.attempts,
        "finish_reason": job.finish_reason,
        "truncated": job.truncated,
        "written": job.written,
        "bytes_out": job.bytes_out,
        "files": [
            {"path": one.path, "start": one.start, "end": one.end, "bytes": one.bytes,
             "sha256": one.sha256, "note": one.note or None}
            for one in job.sent
        ],
        "parent": job.parent,
    }  # fmt: skip


def totals_json(totals: Totals) -> dict[str, Any]:
    """Sums over calls."""
    return {
        "calls": totals.calls,
        "in": totals.usage.input,
        "out": totals.usage.output,
        "cached": totals.usage.cached,
        "reasoning": totals.usage.reasoning,
        "cost_usd": json_usd(totals.cost_pico),
        "reported_usd": json_usd(totals.reported_pico),
        "estimated_usd": json_usd(totals.estimated_pico),
        "pending_calls": totals.pending_calls,
        "unknown_calls": totals.unknown_calls,
    }


def today_json(today: Totals, spend: Spend) -> dict[str, Any]:
    """Today's sums with what is held and free."""
    return {
        **totals_json(today),
        "held_usd": json_usd(spend.held_pico),
        "free_usd": json_usd(spend.free_pico),
        "counted_usd": json_usd(spend.spent_pico),
    }


def stats_json(
    spend: Spend,
    today: Totals,
    all_time: Totals,
    tiers: Mapping[str, tuple[Totals, Totals]],
    health: LedgerHealth,
) -> dict[str, Any]:
    """The whole of `stats`; `tiers` holds today and all time by name."""
    return {
        "schema": SCHEMA,
        "day": spend.day.isoformat(),
        "timezone": spend.timezone,
        "resets_at": _iso(spend.resets_at),
        "budget_usd": json_usd(spend.cap_pico),
        "today": today_json(today, spend),
        "all_time": totals_json(all_time),
        "tiers": {
            name: {"today": totals_json(day), "all_time": totals_json(ever)}
            for name, (day, ever) in tiers.items()
        },
        "ledger": {
            "path": str(health.path),
            "rows": health.rows,
            "bad_rows": health.bad_rows,
        },
        "warning": spend.warning or None,
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None

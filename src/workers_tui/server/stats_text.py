"""`worker_stats` in a few lines: the premium model reads it, so it stays short."""

from __future__ import annotations

from typing import Any

from workers_tui.engine.money import said


def stats_text(stats: dict[str, Any]) -> str:
    """Spend, cap and calls of today and all time, and the tiers that were used."""
    today, total = stats["today"], stats["all_time"]
    lines = [
        f"today {stats['day']} ({stats['timezone']}): {_cap(stats)}",
        f"today: {_counts(today)}",
        f"all time: {_counts(total)}",
    ]
    for name, tier in stats["tiers"].items():
        if tier["all_time"]["calls"]:
            lines.append(
                f"tier {name}: {_counts(tier['today'])} today, {_usd(tier['all_time'])} ever"
            )
    ledger = stats["ledger"]
    if ledger["bad_rows"]:
        lines.append(f"{ledger['bad_rows']} unreadable rows in {ledger['path']}")
    return "\n".join(lines)


def _cap(stats: dict[str, Any]) -> str:
    today, cap = stats["today"], stats["budget_usd"]
    spent = f"{said(today['cost_usd'])} spent, {said(today['held_usd'])} held"
    if cap is None:
        return f"{spent}, no cap"
    free = f"{said(today['free_usd'])} free of {said(cap)}"
    return f"{spent}, {free}, resets {stats['resets_at']}"


def _counts(part: dict[str, Any]) -> str:
    text = f"{part['calls']} calls, in={part['in']} out={part['out']} {_usd(part)}"
    open_ = [f"{part[key]} {key[:-6]}" for key in ("pending_calls", "unknown_calls") if part[key]]
    return f"{text} ({', '.join(open_)} cost)" if open_ else text


def _usd(part: dict[str, Any]) -> str:
    return said(part["cost_usd"])

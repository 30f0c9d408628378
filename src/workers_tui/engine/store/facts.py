"""Small facts that all engines of the user must agree on, kept in the store."""

from __future__ import annotations

import sqlite3
from zoneinfo import ZoneInfo

from workers_tui.engine.store.days import find_zone, local_zone_name

MIGRATIONS = ("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;",)

ZONE = "timezone"
PROJECTED = "projected"
"""Ledger rows up to this number came out of usage.jsonl itself."""
CHECKED = "checked"
"""How far usage.jsonl was looked through for bad lines."""


def get(conn: sqlite3.Connection, name: str) -> str | None:
    """A fact, or None while nobody stated it."""
    row = conn.execute("SELECT value FROM facts WHERE name=?", (name,)).fetchone()
    return None if row is None else str(row[0])


def put(conn: sqlite3.Connection, name: str, value: str) -> None:
    """State a fact for all engines."""
    conn.execute(
        "INSERT INTO facts (name, value) VALUES (?,?)"
        " ON CONFLICT DO UPDATE SET value=excluded.value",
        (name, value),
    )


def zone_of(conn: sqlite3.Connection) -> ZoneInfo:
    """The zone that days are counted in; the machine's own until one is stored."""
    return find_zone(get(conn, ZONE)) or find_zone(local_zone_name()) or ZoneInfo("UTC")


def settle_zone(conn: sqlite3.Connection, setting: str | None) -> ZoneInfo:
    """The zone that counts from now on: the setting, else the stored, else the machine's."""
    stored = find_zone(get(conn, ZONE))
    zone = find_zone(setting) or stored or zone_of(conn)
    if stored is None or stored.key != zone.key:
        put(conn, ZONE, zone.key)
    return zone

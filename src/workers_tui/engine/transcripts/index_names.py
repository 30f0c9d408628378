"""The numbers of models, projects and sessions in index.db; a name that is new gets one."""

from __future__ import annotations

from dataclasses import dataclass, field
from sqlite3 import Connection
from typing import Any


@dataclass(slots=True)
class Numbers:
    """Numbers that were asked for, each once per transaction."""

    conn: Connection
    known: dict[tuple[str, Any, str], int] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    """Projects whose directory was noted."""

    def model(self, name: str) -> int:
        return self._id("model", None, name, "name")

    def project(self, source: int, slug: str, path: str) -> int:
        number = self._id("project", source, slug, "source, slug")
        if path and number not in self.told:
            self.told.add(number)
            self.conn.execute(
                "UPDATE project SET path = ? WHERE id = ? AND path = ''", (path, number)
            )
        return number

    def session(self, project: int, name: str) -> int:
        return self._id("session", project, name, "project, name")

    def _id(self, table: str, parent: int | None, name: str, columns: str) -> int:
        key = (table, parent, name)
        if key not in self.known:
            values = (name,) if parent is None else (parent, name)
            marks = ", ".join("?" * len(values))
            where = " AND ".join(f"{column} = ?" for column in columns.split(", "))
            made = self.conn.execute(
                f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})",  # noqa: S608 - our names
                values,
            )
            if made.rowcount and made.lastrowid:
                self.known[key] = made.lastrowid
            else:
                found = self.conn.execute(f"SELECT id FROM {table} WHERE {where}", values)  # noqa: S608
                (self.known[key],) = found.fetchone()
        return self.known[key]

"""The tables of index.db. It is history, not a cache: migrated, never dropped."""

from __future__ import annotations

TABLES = """
CREATE TABLE source (
  id INTEGER PRIMARY KEY, owner TEXT NOT NULL, root TEXT NOT NULL, salt INTEGER NOT NULL,
  UNIQUE (owner, root)
);
CREATE TABLE project (
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, slug TEXT NOT NULL,
  path TEXT NOT NULL DEFAULT '', UNIQUE (source, slug)
);
CREATE TABLE session (
  id INTEGER PRIMARY KEY, project INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (name, project)
);
CREATE TABLE model (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE file (
  path TEXT NOT NULL, source INTEGER NOT NULL, place BLOB NOT NULL, bytes INTEGER NOT NULL,
  bad INTEGER NOT NULL, errors INTEGER NOT NULL, torn INTEGER NOT NULL,
  PRIMARY KEY (source, path)
) WITHOUT ROWID;
CREATE TABLE message (
  key INTEGER PRIMARY KEY, session INTEGER NOT NULL, model INTEGER NOT NULL, at INTEGER NOT NULL,
  input INTEGER NOT NULL, output INTEGER NOT NULL, creation INTEGER NOT NULL,
  creation_1h INTEGER NOT NULL, read INTEGER NOT NULL, web INTEGER NOT NULL,
  flags INTEGER NOT NULL, loose BLOB
);
CREATE TABLE link (name INTEGER PRIMARY KEY, message INTEGER NOT NULL);
CREATE TABLE twin (
  key INTEGER NOT NULL, other INTEGER NOT NULL, PRIMARY KEY (key, other)
) WITHOUT ROWID;
CREATE TABLE cell (
  session INTEGER NOT NULL, model INTEGER NOT NULL, day INTEGER NOT NULL, step INTEGER NOT NULL,
  messages INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
  creation INTEGER NOT NULL, creation_1h INTEGER NOT NULL, read INTEGER NOT NULL,
  web INTEGER NOT NULL, fast INTEGER NOT NULL, odd INTEGER NOT NULL, unfinished INTEGER NOT NULL,
  PRIMARY KEY (session, model, day, step)
) WITHOUT ROWID;
CREATE TABLE delegation (
  tool_use TEXT PRIMARY KEY, session TEXT NOT NULL, source INTEGER NOT NULL, at INTEGER NOT NULL,
  tool TEXT NOT NULL, files TEXT NOT NULL, cwd TEXT NOT NULL
);
CREATE INDEX delegation_session ON delegation (session);
CREATE TABLE returned (
  tool_use TEXT NOT NULL, job TEXT NOT NULL, chars INTEGER NOT NULL, PRIMARY KEY (tool_use, job)
) WITHOUT ROWID;
CREATE TABLE own_read (
  tool_use TEXT PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL, path TEXT NOT NULL
);
CREATE TABLE price (
  model TEXT NOT NULL, day INTEGER NOT NULL, price TEXT, PRIMARY KEY (model, day)
) WITHOUT ROWID;
CREATE TABLE older (
  worker TEXT NOT NULL, day INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
  creation INTEGER NOT NULL, read INTEGER NOT NULL, messages INTEGER NOT NULL,
  PRIMARY KEY (worker, day)
) WITHOUT ROWID;
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
"""A file's bad lines, errors and place are of its present content; the sums of
messages only grow. A cell is the sum over the messages of a session, model and
day whose prompts passed the same price steps."""

MIGRATIONS = (TABLES,)

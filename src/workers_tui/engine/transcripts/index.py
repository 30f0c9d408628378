"""What the transcripts said, kept in index.db: one row per message, sums per cell.

Functions on a connection, for whoever runs the transaction. They work whatever
order files and processes come in: a line that was taken before changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from json import dumps
from sqlite3 import Connection
from typing import Any, NamedTuple

import msgspec

from workers_tui.engine.transcripts.cells import CellKey, Sums, zone
from workers_tui.engine.transcripts.index_names import Numbers
from workers_tui.engine.transcripts.index_rows import (
    Row,
    Values,
    add_to_cells,
    differences,
    sums_by_cell,
)
from workers_tui.engine.transcripts.index_tables import MIGRATIONS
from workers_tui.engine.transcripts.messages import Merging
from workers_tui.engine.transcripts.transcript_files import Source, TranscriptFile, is_text
from workers_tui.engine.transcripts.transcript_lines import Loose, Message, hashed, seconds
from workers_tui.engine.transcripts.transcript_place import Place
from workers_tui.engine.transcripts.transcripts import News

__all__ = ["MIGRATIONS", "CellKey", "FileNews", "apply", "places", "prepare_sources"]

MANY = 500
"""Keys asked for in one statement."""
COLUMNS = "messages,input,output,creation,creation_1h,read,web,fast,odd,unfinished"


class FileNews(NamedTuple):
    """The news of one file, and the place from which it was read."""

    file: TranscriptFile
    begun: Place | None
    news: News


_place_decoder = msgspec.msgpack.Decoder(Place)
_loose_decoder = msgspec.msgpack.Decoder(tuple[str, Loose])


def prepare_sources(conn: Connection, sources: Sequence[Source]) -> dict[Source, int]:
    """The ids of the sources, new ones entered; days are moved when the time zone changed.

    A source whose path is no text has none: the index could not hold it.
    """
    _move_days(conn)
    ids = {}
    for source in sources:
        if not is_text(source.root):
            continue
        conn.execute(
            "INSERT OR IGNORE INTO source (owner, root, salt) VALUES (?, ?, ?)",
            (source.owner, source.root, hashed(f"{source.owner}\0{source.root}")),
        )
        (ids[source],) = conn.execute(
            "SELECT id FROM source WHERE owner = ? AND root = ?", (source.owner, source.root)
        ).fetchone()
    return ids


def _move_days(conn: Connection) -> None:
    row = conn.execute("SELECT value FROM note WHERE name = 'zone'").fetchone()
    if row == (zone(),):
        return
    conn.execute("INSERT OR REPLACE INTO note VALUES ('zone', ?)", (zone(),))
    conn.execute("DELETE FROM cell")
    rows = conn.execute("SELECT * FROM message")
    while some := rows.fetchmany(20_000):  # a long history in one piece would fill the memory
        add_to_cells(conn, sums_by_cell(some))


def places(conn: Connection, source: int) -> dict[str, Place]:
    """How far each file of a source was read."""
    rows = conn.execute("SELECT path, place FROM file WHERE source = ?", (source,))
    decode = _place_decoder.decode
    return {path: decode(raw) for path, raw in rows}


def apply(conn: Connection, source: int, batch: Sequence[FileNews]) -> dict[CellKey, Sums]:
    """Take the news of some files of one source; returns what the cells gained."""
    work = _Apply(conn, source)
    work.load(batch)
    for item in batch:
        work.take(item)
    return work.finish()


class _Apply:
    """One transaction's worth of news."""

    def __init__(self, conn: Connection, source: int) -> None:
        self._conn = conn
        self._source = source
        self._owner: str
        self._salt: int
        (self._owner, self._salt) = conn.execute(
            "SELECT owner, salt FROM source WHERE id = ?", (source,)
        ).fetchone()
        self._numbers = Numbers(conn)
        self._merging = Merging()
        self._keys: dict[str, int] = {}
        self._old: dict[str, Row] = {}
        self._homes: dict[str, int] = {}
        """Which session row a message that is new here belongs to."""
        self._files: dict[str, Any] = {}
        self._read: list[tuple[Any, ...]] = []

    def take(self, item: FileNews) -> None:
        """Merge one file's news and note how far it was read."""
        news = item.news
        project = self._numbers.project(self._source, item.file.project, news.cwd)
        for message in self._merging.add(news.messages):
            self._homes[message.key] = self._numbers.session(project, message.session)
        self._note_file(item)
        if news.delegations or news.returns or news.reads:
            self._note_delegations(news)

    def load(self, batch: Sequence[FileNews]) -> None:
        """Bring in what the tables know of these messages and files."""
        messages = [message for item in batch for message in item.news.messages]
        self._keys = {message.key: self._name(message.key) for message in messages}
        known = list(self._rows(self._keys.values()))
        if known:
            names = {name: key for key, name in self._keys.items()}
            for row in known:
                self._know(row, names[row.key])
        loose = [message.loose for message in messages if message.loose is not None]
        links = {self._name(name): name for one in loose for name in (*one.lines, one.slot)}
        if links:
            self._load_links(links)
        paths = [item.file.path for item in batch]
        select = (
            f"SELECT path, place, bad, errors FROM file WHERE source = {self._source} AND path IN"  # noqa: S608
        )
        self._files = {row[0]: row[1:] for row in self._ask(select, paths)}

    def _load_links(self, names: dict[int, str]) -> None:
        links = dict(self._ask("SELECT name, message FROM link WHERE name IN", list(names)))
        for row in self._rows(set(links.values())):
            if row.loose is not None:
                self._know(row, _loose_decoder.decode(row.loose)[0])
        by_row = {row.key: key for key, row in self._old.items()}
        for name, key in links.items():
            if key in by_row:
                self._merging.links.setdefault(names[name], by_row[key])

    def _know(self, row: Row, key: str) -> None:
        if key in self._old:
            return
        loose = _loose_decoder.decode(row.loose)[1] if row.loose else None
        self._keys[key] = row.key
        self._old[key] = row
        self._merging.messages[key] = Message(key, "", "", "", *row[4:11], loose)

    def _name(self, text: str) -> int:
        """A name that is this source's own: the same message elsewhere differs by the salts."""
        return hashed(text) ^ self._salt

    def _rows(self, keys: Iterable[int]) -> Iterator[Row]:
        return (Row(*row) for row in self._ask("SELECT * FROM message WHERE key IN", list(keys)))

    def _ask(self, select: str, keys: Sequence[int | str]) -> list[Any]:
        rows: list[Any] = []
        for start in range(0, len(keys), MANY):
            some = keys[start : start + MANY]
            marks = ",".join("?" * len(some))
            rows += self._conn.execute(f"{select} ({marks})", some)
        return rows

    def finish(self) -> dict[CellKey, Sums]:
        """Write what changed; returns what the cells gained."""
        fresh = self._new_rows()
        now = [self._changed_row(key, old) for key, old in self._old.items()]
        pairs = [pair for pair in zip(self._old.values(), now, strict=True) if pair[0] != pair[1]]
        changed = [new for _, new in pairs]
        fresh.sort()  # keys are hashes: in their order the table's pages are written once
        deltas = differences(sums_by_cell(fresh + changed), sums_by_cell(old for old, _ in pairs))
        marks = ",".join("?" * len(Row._fields))
        self._conn.executemany(f"INSERT OR REPLACE INTO message VALUES ({marks})", fresh + changed)  # noqa: S608
        links = [(self._name(name), self._keys[key]) for name, key in self._merging.links.items()]
        self._conn.executemany("INSERT OR REPLACE INTO link VALUES (?, ?)", links)
        self._conn.executemany(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?)", self._read
        )
        add_to_cells(self._conn, deltas)
        self._note_twins([row[0] for row in fresh])
        return deltas

    def _new_rows(self) -> list[Values]:
        messages, keys, models = self._merging.messages, self._keys, dict[str, int]()
        rows: list[Values] = []
        for key, session in self._homes.items():
            m = messages[key]
            if m.model not in models:
                models[m.model] = self._numbers.model(m.model)
            rows.append((
                keys[key], session, models[m.model], seconds(m.at), m.input, m.output, m.creation,
                m.creation_1h, m.read, m.web, m.flags, _packed(key, m.loose),
            ))  # fmt: skip
        return rows

    def _changed_row(self, key: str, old: Row) -> Values:
        """The row with what is larger now; session, model and time stay."""
        m = self._merging.messages[key]
        return (
            old.key, old.session, old.model, old.at, m.input, m.output, m.creation,
            m.creation_1h, m.read, m.web, m.flags, _packed(key, m.loose),
        )  # fmt: skip

    def _note_twins(self, keys: list[int]) -> None:
        """Remember messages that another directory of the same owner has too."""
        others = self._conn.execute(
            "SELECT salt FROM source WHERE owner = ? AND id <> ?", (self._owner, self._source)
        ).fetchall()
        for (salt,) in others:
            there = {key ^ self._salt ^ salt: key for key in keys}
            found = self._ask("SELECT key FROM message WHERE key IN", list(there))
            self._conn.executemany(
                "INSERT OR IGNORE INTO twin VALUES (?, ?)",
                [(there[other], other) for (other,) in found],
            )

    def _note_file(self, item: FileNews) -> None:
        news, path = item.news, item.file.path
        row = self._files.get(path)
        stored = _place_decoder.decode(row[0]) if row else None
        if stored is not None and stored != item.begun and _further(stored, news.place):
            return  # another process has read the same lines and more
        bad, errors = (0, 0) if row is None or news.afresh else row[1:]
        place = msgspec.msgpack.encode(news.place)
        bad, errors = bad + news.bad, errors + news.errors
        self._read.append(
            (path, self._source, place, news.place.size, bad, errors, news.place.torn)
        )

    def _note_delegations(self, news: News) -> None:
        self._conn.executemany(
            "INSERT OR IGNORE INTO delegation VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (d.tool_use, d.session, self._source, seconds(d.at), d.tool, dumps(d.files), d.cwd)
                for d in news.delegations
            ],
        )
        self._conn.executemany(
            "INSERT OR IGNORE INTO returned VALUES (?, ?, ?)",
            [(back.tool_use, job, back.chars) for back in news.returns for job in back.jobs],
        )
        self._conn.executemany(
            "INSERT OR IGNORE INTO own_read VALUES (?, ?, ?, ?)",
            [(read.tool_use, read.session, seconds(read.at), read.path) for read in news.reads],
        )


def _packed(key: str, loose: Loose | None) -> bytes | None:
    return msgspec.msgpack.encode((key, loose)) if loose is not None else None


def _further(stored: Place, mine: Place) -> bool:
    same = (stored.device, stored.inode) == (mine.device, mine.inode)
    return same and stored.offset >= mine.offset


def batches(items: Iterable[FileNews], messages: int = 6000) -> Iterator[list[FileNews]]:
    """Groups for short transactions: by messages, not by files."""
    waiting: list[FileNews] = []
    count = 0
    for item in items:
        waiting.append(item)
        count += len(item.news.messages) + 1
        if count >= messages:
            yield waiting
            waiting, count = [], 0
    if waiting:
        yield waiting

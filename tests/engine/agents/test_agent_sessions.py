"""Sessions on disk: kept, found again, swept, and never a path that was asked for."""

from __future__ import annotations

import os
import shutil
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from workers_tui.engine.agents.agent_sessions import Session, Sessions
from workers_tui.engine.agents.agent_trace import StepKind, TraceStep
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.usage import Usage

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def session() -> Session:
    return Session(str(uuid.uuid4()), "glm", "/p", "big", "small", ("Read",), add_dirs=("/q",))


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "agents")


def test_a_session_is_found_as_it_was_kept(sessions: Sessions) -> None:
    one = session()
    sessions.keep(one)
    assert sessions.load(one.id) == one
    assert sessions.load(one.id.upper()) == one


@pytest.mark.parametrize("name", ["", "..", "../../etc", "x", "a/b", "k7fab"])
def test_what_is_no_session_id_opens_nothing(sessions: Sessions, name: str) -> None:
    with pytest.raises(WrongUse, match="neither a job nor a session"):
        sessions.load(name)


@pytest.mark.parametrize("text", ["", "[]", '{"id": 1}', "{"])
def test_a_broken_record_is_told(sessions: Sessions, text: str) -> None:
    one = session()
    sessions.keep(one)
    (sessions.directory(one.id) / "session.json").write_text(text)
    with pytest.raises(WrongUse, match="start it anew"):
        sessions.load(one.id)


def test_steps_survive_with_their_money_and_a_torn_line_costs_one(sessions: Sessions) -> None:
    one = session()
    sessions.keep(one)
    cost = Cost(7, CostSource.ESTIMATED, list_pico=9)
    steps = [
        TraceStep(1, NOW, StepKind.TOOL, "ls \u2028", "Bash"),
        TraceStep(2, NOW, StepKind.REQUEST, usage=Usage(1, 2, 3), cost=cost, ms=4, bytes_out=5),
        TraceStep(3, NOW, StepKind.RESULT, "no", ok=False, agent="a1"),
    ]
    sessions.add_steps(one.id, "k7fab", steps)
    with sessions.trace_file(one.id, "k7fab").open("a") as file:
        file.write('{"number": 4, "at": "20')
    assert sessions.trace(one.id, "k7fab") == steps
    assert sessions.trace(one.id, "other") == []


def test_a_session_that_another_engine_sweeps_meanwhile_ends_no_sweep(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (session(), session()):
        sessions.keep(one)
        os.utime(sessions.directory(one.id), (0, 0))
    is_dir = Path.is_dir
    seen: list[str] = []

    def gone_after_a_look(path: Path) -> bool:
        found = is_dir(path)
        if path.name.count("-") == 4:
            seen.append(path.name)
            if len(seen) == 1:
                shutil.rmtree(path)
        return found

    monkeypatch.setattr(Path, "is_dir", gone_after_a_look)
    assert sessions.sweep(NOW) == [seen[1]]


def test_old_sessions_are_swept_and_nothing_else(sessions: Sessions) -> None:
    old, new = session(), session()
    for one in (old, new):
        sessions.keep(one)
    foreign = sessions.directory(old.id).parent / "notes"
    foreign.mkdir()
    long_ago = (NOW - timedelta(days=31)).timestamp()
    recently = (NOW - timedelta(days=29)).timestamp()
    os.utime(sessions.directory(new.id), (recently, recently))
    for place in (sessions.directory(old.id), foreign):
        os.utime(place, (long_ago, long_ago))
    assert sessions.sweep(NOW) == [old.id]
    assert foreign.exists()
    assert sessions.load(new.id) == new

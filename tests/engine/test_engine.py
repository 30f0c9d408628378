"""A call through the highest public door: from `delegate` to money, text and state."""

from __future__ import annotations

from pathlib import Path

from tests.engine.call_kit import engine_over, ok, origin

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import CallRequest, JobState
from workers_tui.engine.money import CostSource, from_usd
from workers_tui.home.places import Home


async def test_a_call_is_answered_paid_and_kept(home: Home, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with engine_over(home, ok("the answer")) as (engine, provider):
        request = CallRequest("Summarize this", files=("a.txt",))
        job = await engine.delegate(request, origin(tmp_path, session="s1"))
        ended = await engine.ended(job.id)
        assert (ended.state, ended.error) == (JobState.DONE, None)
        assert await engine.text(job.id) == "the answer"
        assert ended.cost is not None
        assert (ended.cost.pico, ended.cost.source) == (from_usd("0.001"), CostSource.REPORTED)
        assert ended.usage.input == 100
        assert [one.path for one in ended.sent] == ["a.txt"]
        spend = engine.board.get(Key(Topic.SPEND))
        assert (spend.spent_pico, spend.held_pico) == (from_usd("0.001"), 0)
        assert "one\ntwo" in provider.bodies[0]["messages"][1]["content"]
        await engine.ledger.written()
        assert '"session":"s1"' in home.usage_jsonl.read_text()

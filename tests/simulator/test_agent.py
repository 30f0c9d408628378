"""The demo's stand-in for Claude Code, driven by the engine's own agents and gateway."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.engine.agent_kit import rule, say, scripted, tool, world

from workers_tui.engine.agents.agent_trace import StepKind
from workers_tui.engine.jobs.job import JobState


def stand_in(folder: Path) -> Path:
    program = folder / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m workers_tui.simulator.agent "$@"\n')
    program.chmod(0o755)
    return program


async def test_it_looks_reads_and_answers_as_metered_as_the_real_one(tmp_path: Path) -> None:
    scenario = scripted()
    async with world(tmp_path, scenario, claude=stand_in(tmp_path)) as one:
        (one.project / "pages.py").write_text("def page_of(rows): ...\n")
        job = await one.run("Summarise how pages are counted")
        assert job.state is JobState.DONE, job.error
        assert (job.turns, job.tool_calls) == (3, 2)
        bills = one.sim.book.all()
        assert len(bills) == 3
        assert job.usage.output == sum(bill.completion for bill in bills)
        steps = one.engine.agents.trace(job.id)
        results = [step.text for step in steps if step.kind is StepKind.RESULT]
        assert results == ["pages.py", "def page_of(rows): ..."]
        assert await one.engine.text(job.id)


async def test_it_reads_nothing_outside_its_directory(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("no one's business")
    scenario = scripted(
        rule({"answers": "Read"}, say("there is nothing")),
        rule({}, tool("Read", file_path="../secret.txt")),
    )
    async with world(tmp_path, scenario, claude=stand_in(tmp_path)) as one:
        job = await one.run("Read what is above")
        assert job.state is JobState.DONE, job.error
        said = [step.text for step in one.engine.agents.trace(job.id)]
    assert "There is no such file here." in said
    assert not any("business" in text for text in said)


async def test_a_follow_up_goes_on_with_the_conversation(tmp_path: Path) -> None:
    scenario = scripted(rule({}, say("so it is")))
    async with world(tmp_path, scenario, claude=stand_in(tmp_path)) as one:
        first = await one.run("Is it so?")
        second = await one.engine.ended((await one.go_on(first.id, "And now?")).id)
        assert second.state is JobState.DONE, second.error
        kept = list((one.home.agents / (first.agent_session or "") / "config").glob("*.json"))
        assert any(path.read_text().count('"role": "user"') == 2 for path in kept)


async def test_it_asks_again_while_the_provider_is_busy(tmp_path: Path) -> None:
    scenario = scripted(rule({}, fault="429", times=1), rule({}, say("at last")))
    async with world(tmp_path, scenario, claude=stand_in(tmp_path)) as one:
        job = await one.run("Ask")
        assert job.state is JobState.DONE, job.error
        kinds = [step.kind for step in one.engine.agents.trace(job.id)]
        assert StepKind.RETRY in kinds


async def test_a_cancel_ends_it(tmp_path: Path) -> None:
    async with world(tmp_path, scripted(), claude=stand_in(tmp_path)) as one:
        job = await one.start("Look around")
        await one.until(job, lambda now: now.state is JobState.RUNNING)
        await one.engine.cancel(job.id, by="the test")
        assert (await one.engine.ended(job.id)).state is JobState.CANCELLED
        assert one.left_alive() == []

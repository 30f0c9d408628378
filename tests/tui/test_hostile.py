"""Strangers' text in each place where it is shown: never markup, never control sequences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tui.conftest import Desk, Open
from tests.tui.fakes import FakeEngine, make_job, paid

from workers_tui.engine.agents.agent_trace import StepKind, TraceStep
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.events import Level
from workers_tui.engine.jobs.job import JobKind, JobState, Question, Sent, WaitingFor

EVIL = "\x1b]0;owned\x07\x1b[2J[/bold][@click=app.leave]x[/] \x9b31m\u202e漢字 👩\u200d👧 [red]"


def painted(d: Desk) -> str:
    """Everything that the compositor would send, as text."""
    strips = d.app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


def is_harmless(d: Desk) -> bool:
    text = painted(d)
    width = d.app.size.width
    strips = d.app.screen._compositor.render_strips()
    return (
        not any(ord(char) < 32 and char != "\n" for char in text)
        and "\x9b" not in text
        and "\u202e" not in text
        and all(strip.cell_length == width for strip in strips)
    )


def evil_jobs(engine: FakeEngine) -> None:
    engine.put(
        make_job(
            "ev1l1",
            task=EVIL,
            tier=EVIL,
            tier_reason=EVIL,
            model=EVIL,
            client=EVIL,
            project=EVIL,
            session=EVIL,
            files=(EVIL,),
            sent=(Sent(EVIL, 1, 2, 3, "00"),),
            written=EVIL,
            cost=paid("0.1"),
        )
    )
    engine.put(make_job("ev1l2", JobState.FAILED, task=EVIL, error=EVIL))
    engine.put(
        make_job(
            "ev1l3",
            JobState.WAITING,
            waiting_for=WaitingFor.APPROVAL,
            task=EVIL,
            question=Question(EVIL, (EVIL,), 1, 1),
        )
    )
    engine.put(
        make_job("ev1l4", kind=JobKind.AGENT, worker=EVIL, task=EVIL, last_action=EVIL, turns=2)
    )
    engine.add_text("ev1l1", EVIL * 5 + "\n" + EVIL)
    engine.events.tell("job", EVIL, level=Level.WARNING, job="ev1l1")
    engine.agents.steps = [TraceStep(1, engine.clock.now(), kind, EVIL, EVIL) for kind in StepKind]
    tier = engine.board.get(Key(Topic.TIER, "fast"))
    engine.board.put(Key(Topic.TIER, "fast"), replace(tier, model=EVIL, use=EVIL, problem=EVIL))


@pytest.mark.parametrize("size", [(140, 45), (60, 15)])
async def test_on_the_first_screen_and_in_the_detail(
    desk: Open, engine: FakeEngine, size: tuple[int, int]
) -> None:
    async with desk(size) as d:
        evil_jobs(engine)
        await d.settled()
        assert is_harmless(d)
        jobs = ("ev1l1", "ev1l2", "ev1l3", "ev1l4") if size[0] > 60 else ("ev1l1", "ev1l3")
        for job in jobs:
            d.app.screen.query_one("JobList").select(job)  # type: ignore[attr-defined]
            await d.settled()
            assert is_harmless(d)
            await d.press("enter")
            await d.settled()
            assert is_harmless(d)
            await d.press("escape")


async def test_on_the_other_screens(desk: Open, engine: FakeEngine) -> None:
    async with desk((100, 30)) as d:
        evil_jobs(engine)
        await d.settled()
        for key in ("2", "5", "h", "e", "R", "C", "slash"):
            await d.press(key)
            await d.settled()
            assert is_harmless(d), key
            await d.press("escape")
            await d.settled()


async def test_in_a_toast_and_in_an_error_of_a_command(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        engine.events.tell("provider", EVIL, level=Level.ERROR)
        await d.settled()
        assert is_harmless(d)
        d.app.screen.say(EVIL)  # type: ignore[attr-defined]
        await d.settled()
        assert is_harmless(d)

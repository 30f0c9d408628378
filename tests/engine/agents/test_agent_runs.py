"""Agents from request to end, with a stand-in for Claude Code and the real gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.engine.agent_kit import (
    LOCAL_SECRETS,
    MODEL,
    PROVIDER_KEY,
    fake_claude,
    rule,
    say,
    scripted,
    world,
)

from workers_tui.engine.agents import agent_launch
from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.agents.agent_request import AgentRequest, FollowUp
from workers_tui.engine.agents.agent_trace import StepKind
from workers_tui.engine.agents.identities import preset_named
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import (
    ConfigError,
    PolicyRefused,
    SandboxRefused,
    StoreUnusable,
    WorkersError,
    WrongUse,
)
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import Job, JobState, Origin, WaitingFor
from workers_tui.engine.money import CostSource, to_usd

ANSWER = scripted(rule({}, say("the answer")))


async def test_what_is_billed_is_what_is_booked(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("ask 3 tool Read")
        assert job.state is JobState.DONE, job.error
        bills = one.sim.book.all()
        assert len(bills) == 3
        assert job.usage.input == sum(bill.prompt for bill in bills)
        assert job.usage.output == sum(bill.completion for bill in bills)
        assert job.usage.cached == sum(bill.cached for bill in bills)
        assert job.cost is not None
        assert to_usd(job.cost.pico or 0) == one.sim.book.cost
        assert (job.turns, job.tool_calls, job.last_action) == (4, 1, "1 tool call")
        assert await one.engine.text(job.id) == "the answer"
        spend = await one.engine.budget.refresh()
        assert (spend.held_pico, spend.spent_pico) == (0, job.cost.pico)


async def test_an_answer_without_tools_says_so(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("deny")
    assert job.last_action == "no tool was used: unverified, denied: Write x"


async def test_the_start_answers_before_anything_is_started(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        one.engine.pause()
        job = await one.start("hang")
        assert job.state is JobState.QUEUED
        assert one.left_alive() == []
        one.engine.resume()
        await one.until(job, lambda now: now.state is JobState.RUNNING)
        await one.engine.cancel(job.id)
        assert (await one.engine.ended(job.id)).state is JobState.CANCELLED


async def test_the_process_gets_no_key_and_no_prompt_in_its_arguments(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("the secret plan")
        directory = one.home.agents / (job.agent_session or "")
        seen = json.loads((directory / "config" / "seen.json").read_text())
        held = "".join(p.read_text() for p in directory.rglob("*") if p.is_file())
    assert "the secret plan" not in " ".join(seen["argv"])
    for secret in (PROVIDER_KEY, *LOCAL_SECRETS.values(), "job-"):
        assert secret not in json.dumps(seen), secret
    assert PROVIDER_KEY not in held
    assert "job-" not in held
    assert not (directory / "token").exists()
    ours = {name for name in seen["env"] if name.startswith(("ANTHROPIC_", "AWS_", "OPENROUTER_"))}
    assert "AWS_SECRET_ACCESS_KEY" not in ours
    assert seen["env"]["ANTHROPIC_API_KEY"] == ""


async def test_a_cancel_ends_the_job_and_its_orphans(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.start("hang")
        await one.until(job, lambda now: now.state is JobState.RUNNING)
        await one.engine.cancel(job.id, by="the test")
        ended = await one.engine.ended(job.id)
        assert (ended.state, ended.error) == (JobState.CANCELLED, "cancelled by the test")
        assert one.left_alive() == []


async def test_what_the_agent_left_running_is_ended(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("orphan 3087")
        assert job.state is JobState.DONE, job.error
        assert one.left_alive() == []


async def test_a_result_ends_the_job_even_if_the_process_lingers(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER, limits=Limits(linger=0.1)) as one:
        job = await one.run("linger")
        assert job.state is JobState.DONE
        assert one.left_alive() == []


async def test_no_result_is_a_failure_that_names_what_was_said(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("die")
    assert job.state is JobState.FAILED
    assert job.error == "the agent ended without a result (exit code 3): it went badly"


async def test_a_silent_agent_is_ended(tmp_path: Path) -> None:
    limits = Limits(silence=0.2, interrupt=0.1)
    async with world(tmp_path, ANSWER, limits=limits) as one:
        job = await one.run("hang")
    assert job.state is JobState.FAILED
    assert "did nothing for" in (job.error or "")


@pytest.mark.parametrize("fault", ["stall", "stall-comments"])
async def test_a_provider_that_stalls_ends_the_job(tmp_path: Path, fault: str) -> None:
    scenario = scripted(rule({}, say("the answer that never ends"), fault=fault))
    async with world(tmp_path, scenario, limits=Limits(local=0.3)) as one:
        job = await one.run("ask 1")
        assert job.state is JobState.FAILED
        assert "sent nothing for" in (job.error or "")
        assert job.cost is not None
        assert job.cost.source is CostSource.ESTIMATED
        (bill,) = await one.sim.book.wait_for(1)
        assert bill.cancelled


async def test_the_cap_stops_the_run_with_its_own_words(tmp_path: Path) -> None:
    scenario = scripted(rule({}, say("on"), completion_tokens=30_000))
    async with world(tmp_path, scenario, daily_budget_usd=0.1) as one:
        job = await one.run("ask 9")
        spend = await one.engine.budget.refresh()
        assert job.state is JobState.FAILED
        assert "no room under the daily cap" in (job.error or "")
        assert len(one.sim.book.all()) == 2
        assert to_usd(spend.spent_pico) == one.sim.book.cost
        assert spend.held_pico == 0


async def test_without_a_known_price_nothing_leaves_in_strict_mode(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER, prices={}) as one:
        one.identity({"ANTHROPIC_BASE_URL": "http://gateway.example:9"})
        job = await one.run("ask 1")
    assert job.state is JobState.FAILED
    assert "budget_mode: soft" in (job.error or "")


async def test_a_plan_costs_nothing_and_shows_its_list_price(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        one.identity(plan=True)
        job = await one.run("ask 1")
        assert job.cost is not None
        assert job.cost.pico == 0
        assert to_usd(job.cost.list_pico or 0) == one.sim.book.cost > 0


async def test_no_usage_is_unknown_and_never_nothing(tmp_path: Path) -> None:
    scenario = scripted(rule({}, say("an answer"), usage_style="none"))
    async with world(tmp_path, scenario) as one:
        job = await one.run("ask 1")
        spend = await one.engine.budget.refresh()
        assert job.cost is not None
        assert (job.cost.pico, job.cost.source) == (None, CostSource.UNKNOWN)
        assert spend.unknown_calls == 1
        assert spend.spent_pico > 0


async def test_a_follow_up_resumes_the_session_in_a_new_job(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        first = await one.run("one")
        second = await one.engine.ended((await one.go_on(first.id, "two")).id)
        config = one.home.agents / (first.agent_session or "") / "config"
        argv = json.loads((config / "seen.json").read_text())["argv"]
    assert second.agent_session == first.agent_session == argv[argv.index("--resume") + 1]
    assert (second.parent, second.id != first.id) == (first.id, True)


async def test_a_session_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        first = await one.run("one tool Read")
        before = one.engine.agents.trace(first.id)
    async with world(tmp_path, ANSWER) as one:
        after = one.engine.agents.trace(first.id)
        second = await one.engine.ended((await one.go_on(first.id, "two")).id)
    assert second.state is JobState.DONE, second.error
    assert [step.line() for step in after] == [step.line() for step in before]


async def test_a_follow_up_to_a_running_job_is_refused(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.start("hang")
        with pytest.raises(WrongUse, match="still at work"):
            await one.go_on(job.id, "two")
        with pytest.raises(WrongUse, match="still at work"):
            await one.go_on(job.agent_session or "", "two")
        await one.engine.cancel(job.id)


@pytest.mark.parametrize("target", ["nobody", "../../etc", "00000000-0000-4000-8000-000000000000"])
async def test_a_follow_up_to_nobody_is_refused(tmp_path: Path, target: str) -> None:
    async with world(tmp_path, ANSWER) as one:
        with pytest.raises(WrongUse):
            await one.go_on(target, "two")


async def refusal(one: object, prompt: str | None = "go", **request: object) -> WorkersError:
    with pytest.raises(WorkersError) as caught:
        await one.start(prompt, **request)  # type: ignore[attr-defined]
    return caught.value


async def test_arguments_beyond_the_settings_are_refused_by_name(tmp_path: Path) -> None:
    rules = {"allowed_models": [MODEL, "z-ai/glm-5.3-flash"], "tools": ["Read"], "max_turns": 5}
    async with world(tmp_path, ANSWER, agents=rules) as one:
        wrong = await refusal(one, model="other/model")
        assert isinstance(wrong, PolicyRefused)
        assert MODEL in str(wrong)
        for request in (
            {"allowed_tools": ("Bash",)},
            {"max_turns": 6},
            {"permission_mode": "bypassPermissions"},
        ):
            assert isinstance(await refusal(one, **request), PolicyRefused)
        assert await one.engine.list_jobs() == []


async def test_a_follow_up_is_held_to_the_rules_of_today(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    asked = AgentRequest(
        "ask 1", add_dirs=(str(other),), allowed_tools=("Bash",), permission_mode="acceptEdits"
    )

    async def refused(target: str, root: Path, **rules: object) -> WorkersError:
        async with world(tmp_path, ANSWER, agents=rules) as one:
            origin = Origin((one.project, root))
            with pytest.raises(WorkersError) as caught:
                await one.engine.agents.followup(FollowUp(target, "go on"), origin)
            return caught.value

    async with world(tmp_path, ANSWER) as one:
        origin = Origin((one.project, other))
        first = await one.engine.agents.start(asked, origin)
        await one.engine.ended(first.id)
        session = one.engine.agents.sessions.load(first.agent_session or "")
    inside = tmp_path / "project"
    assert isinstance(await refused(first.id, inside), SandboxRefused)
    assert "agents.tools" in str(await refused(first.id, other, tools=["Read", "Write"]))
    strict = await refused(first.id, other, max_permission_mode="default")
    assert "max_permission_mode" in str(strict)
    models = [session.model]
    assert "allowed_models" in str(await refused(first.id, other, allowed_models=models))
    async with world(tmp_path, ANSWER, agents={"max_turns": 3}) as one:
        origin = Origin((one.project, other))
        again = await one.engine.agents.followup(FollowUp(first.id, "ask 1"), origin)
        assert (await one.engine.ended(again.id)).state is JobState.DONE
        seen = json.loads((one.home.agents / session.id / "config" / "seen.json").read_text())
        assert seen["argv"][seen["argv"].index("--max-turns") + 1] == "3"


async def test_a_disk_that_takes_nothing_is_told_before_a_job_exists(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        one.home.agents.write_text("a file lies in the way")
        wrong = await refusal(one)
        assert isinstance(wrong, StoreUnusable)
        assert "cannot be written" in str(wrong)
        assert await one.engine.list_jobs() == []


async def test_a_place_outside_the_roots_is_refused(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        assert isinstance(await refusal(one, cwd="/etc"), SandboxRefused)
        assert isinstance(await refusal(one, cwd="../project-secret"), SandboxRefused)
        assert isinstance(await refusal(one, add_dirs=("/etc",)), SandboxRefused)
        assert "not a directory" in str(await refusal(one, cwd="missing"))
        (one.project / "link").symlink_to("/etc")
        assert isinstance(await refusal(one, cwd="link"), SandboxRefused)


async def test_a_prompt_may_come_from_a_file_under_the_roots(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        (one.project / "plan.md").write_text("do what the plan says")
        job = await one.start(None, prompt_file="plan.md")
        assert job.task == "do what the plan says"
        assert isinstance(await refusal(one, None, prompt_file="/etc/passwd"), SandboxRefused)
        assert "either" in str(await refusal(one, "both", prompt_file="plan.md"))
        assert "empty" in str(await refusal(one, "  "))


async def test_a_worker_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        assert "there are: glm" in str(await refusal(one, worker="gml"))
        one.identity({"ANTHROPIC_AUTH_TOKEN": "PASTE_YOUR_API_KEY_HERE"})
        wrong = await refusal(one, worker="glm")
        assert isinstance(wrong, ConfigError)
        assert "set-key" in str(wrong)
        (one.root / "glm" / "settings.json").write_text('{"env": {')
        assert "line 1" in str(await refusal(one, worker="glm"))


async def test_claude_missing_or_too_old_is_told(tmp_path: Path) -> None:
    nowhere = {"WORKERS_CLAUDE_BIN": "/nowhere/claude"}
    async with world(tmp_path, ANSWER, environ=nowhere) as one:
        assert "/nowhere/claude" in str(await refusal(one))
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho '1.0.3 (Claude Code)'\n")
    old.chmod(0o755)
    async with world(tmp_path, ANSWER, environ={"WORKERS_CLAUDE_BIN": str(old)}) as one:
        job = await one.run("go")
    assert job.state is JobState.FAILED
    assert "1.0.3 is too old" in (job.error or "")


async def test_a_program_that_was_too_old_is_asked_again(tmp_path: Path) -> None:
    program = tmp_path / "claude-that-is-replaced"
    program.write_text("#!/bin/sh\necho '1.0.3 (Claude Code)'\n")
    program.chmod(0o755)
    async with world(tmp_path, ANSWER, claude=program) as one:
        assert (await one.run("go")).state is JobState.FAILED
        program.write_text(Path(fake_claude(tmp_path)).read_text())
        assert (await one.run("go")).state is JobState.DONE


async def test_a_version_that_is_never_told_holds_nothing_up_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "claude-that-says-nothing"
    program.write_text(f"#!/bin/sh\nsleep 60 &\necho > {asked}\nwait\n")
    program.chmod(0o755)
    async with world(tmp_path, ANSWER, claude=program) as one:
        job = await one.start("go")
        while not asked.exists():  # noqa: ASYNC110 - nothing rings
            await asyncio.sleep(0.01)
        await one.engine.cancel(job.id)
        async with asyncio.timeout(5):
            assert (await one.engine.ended(job.id)).state is JobState.CANCELLED
        assert one.left_alive() == []
        monkeypatch.setattr(agent_launch, "VERSION_WAIT", 0.2)
        assert await agent_launch.ask_version(str(program), {"PATH": os.environ["PATH"]}) == ""
        assert one.left_alive() == []


async def test_a_directory_whose_name_is_no_text_is_one_to_work_in(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"lat\xe9in")
    odd.mkdir()
    async with world(tmp_path, ANSWER) as one:
        origin = Origin((odd,), project=str(odd), client="test")
        job = await one.engine.agents.start(AgentRequest("go"), origin)
        assert (await one.engine.ended(job.id)).state is JobState.DONE
        one.engine.agents.forget(job.id)
        assert "lat" in one.engine.agents.trace(job.id)[0].text  # as its file keeps it


async def test_only_so_many_run_at_once(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER, agents={"concurrency": 1}) as one:
        first = await one.start("hang")
        second = await one.start("go")
        await one.until(first, lambda now: now.state is JobState.RUNNING)
        assert (await one.engine.job(second.id)).state is JobState.QUEUED
        await one.engine.cancel(first.id)
        assert (await one.engine.ended(second.id)).state is JobState.DONE


async def test_everything_of_a_session_is_private(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("go")
        place = one.home.agents / (job.agent_session or "")
        for path in (one.home.agents, place, place / "config"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        for path in place.glob("*.json*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_board_shows_workers_with_their_spend(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("go")
        await asyncio.sleep(0)
        await one.engine.agents.workers.show()
        view = one.engine.board.get(Key(Topic.WORKER, "glm"))
    assert job.cost is not None
    assert (view.state, view.month_pico, view.month_jobs) == ("untried", job.cost.pico, 1)
    assert PROVIDER_KEY not in repr(view)


async def test_a_wait_for_a_retry_is_shown_with_its_end(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.start("retry hang")
        now = await one.until(job, lambda now: now.waiting_for is WaitingFor.RETRY)
        assert now.retry_at is not None
        assert 5 < (now.retry_at - one.engine.clock.now()).total_seconds() < 10
        await one.engine.cancel(job.id)
        assert (await one.engine.ended(job.id)).state is JobState.CANCELLED
        again = await one.run("retry tool Read")
        assert again.state is JobState.DONE


async def test_the_trace_begins_with_what_the_agent_may_do(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("go")
        first = one.engine.agents.trace(job.id)[0]
    assert "has your own rights on files" in first.text
    assert first.text.endswith("permission mode default")
    assert str(tmp_path / "project") in first.text


async def test_every_request_is_a_step_with_its_cost(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run("ask 2")
        steps = [s for s in one.engine.agents.trace(job.id) if s.kind is StepKind.REQUEST]
    assert len(steps) == 2
    assert job.cost is not None
    assert sum(step.cost.pico or 0 for step in steps if step.cost) == job.cost.pico


async def test_closing_the_engine_ends_its_agents(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.start("hang")
        await one.until(job, lambda now: now.state is JobState.RUNNING)
        await one.engine.agents.close("the end")
        assert (await one.engine.job(job.id)).state is JobState.CANCELLED
        assert isinstance(await refusal(one), PolicyRefused)


KEY_IN_PROMPT = "clone it with ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uVwXy"


async def test_a_secret_in_a_prompt_never_leaves_without_the_user(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.run(KEY_IN_PROMPT)
        assert job.state is JobState.REFUSED
        assert "looks like a secret" in (job.error or "")
        assert not one.sim.seen


@pytest.mark.parametrize(("accept", "state"), [(True, JobState.DONE), (False, JobState.REFUSED)])
async def test_the_user_decides_about_a_secret(
    tmp_path: Path, accept: bool, state: JobState
) -> None:
    async with world(tmp_path, ANSWER, approvals=True) as one:
        job = await one.start(KEY_IN_PROMPT)
        await one.until(job, lambda now: now.question is not None)
        (one.engine.approve if accept else one.engine.reject)(job.id)
        assert (await one.engine.ended(job.id)).state is state


async def test_a_worker_without_a_valid_key_is_paused_and_said_once(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        one.identity({"ANTHROPIC_AUTH_TOKEN": "sk-revoked-long-enough-key"})
        job = await one.run("go")
        assert job.state is JobState.FAILED
        assert "User not found." in (job.error or "")
        assert "paused" in str(await refusal(one))
        told = [event for event in one.engine.events.since(0) if "glm is paused" in event.text]
        assert len(told) == 1
        one.identity({"ANTHROPIC_AUTH_TOKEN": PROVIDER_KEY})
        one.engine.resume()
        assert (await one.run("go")).state is JobState.DONE


async def test_the_served_model_and_the_first_request_show_on_the_job(tmp_path: Path) -> None:
    scenario = scripted(rule({}, say("hi"), served="z-ai/glm-5.3-flash"))
    async with world(tmp_path, scenario) as one:
        job = await one.run("ask 2")
        assert job.model == "z-ai/glm-5.3-flash"
        assert job.bytes_out > 50
        assert job.cost is not None
        assert to_usd(job.cost.pico or 0) == one.sim.book.cost


async def test_a_worker_made_beside_us_is_shown(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        watcher = one.engine.board.watch()
        task = asyncio.create_task(one.engine.agents.workers.follow())
        key = Key(Topic.WORKER, "kimi")
        one.engine.agents.identities.create("kimi", preset_named("kimi"))
        async with asyncio.timeout(10):
            while one.engine.board.get(key) is None:
                await watcher.changed()
        task.cancel()
        assert one.engine.board.get(key).state == "not finalized"


async def test_a_job_ends_well_although_a_request_of_it_waited(tmp_path: Path) -> None:
    async with world(tmp_path, ANSWER) as one:
        job = await one.start("pause 1")
        await one.until(job, lambda now: now.turns == 1)
        waiting = {"state": JobState.WAITING, "waiting_for": WaitingFor.CAP}
        await one.engine.jobs.change(job.id, **waiting)
        assert (await one.engine.ended(job.id)).state is JobState.DONE


@pytest.mark.parametrize("turns", [0, 1, 3, 9])
async def test_an_agent_that_is_put_down_while_all_leave_is_cancelled_like_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    async with world(tmp_path, ANSWER) as one:
        create, created = one.engine.jobs.create, asyncio.Event()

        async def slow(job: Job) -> Job:
            made = await create(job)
            created.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            return made

        monkeypatch.setattr(one.engine.jobs, "create", slow)
        asking = asyncio.create_task(one.start("hang"))
        await created.wait()
        asking.cancel()
        await one.engine.close()
        with contextlib.closing(sqlite3.connect(one.home.store_db)) as conn:
            (job,) = job_rows.find(conn, job_rows.Filter(), -1, 0)
    assert job.state is JobState.CANCELLED, job.state

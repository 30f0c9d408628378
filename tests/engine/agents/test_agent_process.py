"""A process that is not ours may say anything, read nothing and hold on to everything."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.engine.agent_kit import World, world

from workers_tui.engine.agents import agent_process
from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.agents.agent_process import read_event
from workers_tui.engine.agents.agent_trace import StepKind
from workers_tui.engine.jobs.job import Job, JobState

SAYS = """
import json, os, subprocess, sys, time
if "--version" in sys.argv:
    sys.exit(print("2.1.197"))
def tell(**event):
    print(json.dumps(event), flush=True)
def text(said):
    tell(type="assistant", message={"content": [{"type": "text", "text": said}]})
def done(said="fine", **more):
    tell(type="result", **{"subtype": "success", "is_error": False, "result": said, **more})
"""
SHORT = Limits(interrupt=0.2, linger=1.0)


def saying(tmp: Path, code: str) -> Path:
    """A program in Claude Code's place."""
    program = tmp / "claude-that"
    program.write_text(f"#!{sys.executable} -S\n{SAYS}{code}\n")
    program.chmod(0o755)
    return program


async def outcome(tmp: Path, code: str, prompt: str = "go", limits: Limits = SHORT) -> Job:
    async with world(tmp, claude=saying(tmp, code), limits=limits) as one:
        async with asyncio.timeout(20):
            return await one.run(prompt)


@pytest.mark.parametrize(
    "garbage",
    [
        "print('not json', '[1]', '5', '\"x\"', sep='\\n')",
        "print('[' * 200_000); print('{\"a\":' * 200_000)",
        "sys.stdout.buffer.write(b'\\xff\\xfe\\x00{}\\n'); sys.stdout.flush()",
        'print(\'{"type":"system","subtype":"api_retry","retry_delay_ms":1e999}\')',
        "sys.stdout.write('x' * 40_000_000 + '\\n')",
        "tell(type=['a'], message=5); tell(type='user', message=['x'])",
        "sys.stdout.write('garbage\\n' * 50_000)",
    ],
    ids=["no json", "deep", "bytes", "infinite", "longer than any event", "kinds", "flood"],
)
async def test_garbage_is_skipped_and_the_result_counts(tmp_path: Path, garbage: str) -> None:
    job = await outcome(tmp_path, f"{garbage}; done()")
    assert (job.state, job.error) == (JobState.DONE, None)


async def test_half_a_character_in_any_text_stops_nothing(tmp_path: Path) -> None:
    code = "text('half \\ud83d'); done('\\ud83d', is_error=True)"
    async with world(tmp_path, claude=saying(tmp_path, code), limits=SHORT) as one:
        job = await one.run("go")
        assert (job.state, job.error) == (JobState.FAILED, "?")
        assert "half ?" in [
            step.text for step in one.engine.agents.trace(job.id) if step.kind is StepKind.TEXT
        ]
        written = one.engine.agents.sessions.trace(job.agent_session or "", job.id)
        assert "half ?" in [step.text for step in written]


def test_whole_characters_stay_as_they_are() -> None:
    assert read_event(b'{"a": "\\ud83d\\ude00 \\u00e9"}\n') == {"a": "\U0001f600 é"}
    assert read_event('{"a": "\U0001f600"}\n'.encode()) == {"a": "\U0001f600"}


async def test_what_it_says_after_its_result_does_not_hold_it_up(tmp_path: Path) -> None:
    mark = tmp_path / "ended"
    code = f"done(); sys.stdout.write('x' * 60_000_000); open({str(mark)!r}, 'w')"
    job = await outcome(tmp_path, code, limits=Limits(linger=10.0))
    assert job.state is JobState.DONE
    assert mark.exists()


async def reading_nothing(one: World) -> Job:
    """A job whose process never reads its prompt, which is larger than a pipe."""
    job = await one.start("x" * 1_000_000)
    return await one.until(job, lambda now: now.last_action == "text")


@pytest.mark.parametrize("ignores", ["", "import signal; signal.signal(2, signal.SIG_IGN)"])
async def test_one_that_reads_nothing_can_be_cancelled(tmp_path: Path, ignores: str) -> None:
    tool = "message={'id': 'm', 'content': [{'type': 'tool_use', 'name': 'text'}]}"
    code = f"{ignores}\ntell(type='assistant', {tool}); time.sleep(600)"
    async with world(tmp_path, claude=saying(tmp_path, code), limits=SHORT) as one:
        job = await reading_nothing(one)
        await one.engine.cancel(job.id, by="user")
        async with asyncio.timeout(10):
            ended = await one.engine.ended(job.id)
        assert ended.state is JobState.CANCELLED
        assert one.left_alive() == []


async def test_one_that_reads_nothing_ends_at_its_limit(tmp_path: Path) -> None:
    limits = Limits(total=0.5, interrupt=0.2)
    job = await outcome(tmp_path, "time.sleep(600)", "x" * 1_000_000, limits)
    assert "took longer than" in (job.error or "")


async def test_who_escaped_with_its_output_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its guard is killed from outside, and the tool it had started denies where it is from."""
    monkeypatch.setattr(agent_process, "HELD_WAIT", 0.2)
    pid = tmp_path / "pid"
    code = (
        "tool = subprocess.Popen(['/bin/sleep', '60'], start_new_session=True, env={})\n"
        f"open({str(pid)!r}, 'w').write(str(tool.pid))\n"
        "os.kill(os.getppid(), 9); time.sleep(60)"
    )
    async with world(tmp_path, claude=saying(tmp_path, code), limits=SHORT) as one:
        async with asyncio.timeout(20):
            job = await one.run("go")
        assert job.state is JobState.FAILED
        escaped = int(pid.read_text())
        os.kill(escaped, 9)
        async with asyncio.timeout(10):
            while Path(f"/proc/{escaped}/fd/2").exists():  # noqa: ASYNC110 - nothing rings
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)  # its end of the pipes is closed now: let the loop see it


@pytest.mark.skipif(sys.platform != "linux", reason="only there environments can be read")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP"])
@pytest.mark.parametrize("last", ["time.sleep(60)", "done(); time.sleep(60)"], ids=["", "done"])
async def test_nothing_survives_a_guard_that_its_agent_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, last: str
) -> None:
    monkeypatch.setattr(agent_process, "HELD_WAIT", 0.2)
    monkeypatch.setattr(agent_process, "PATIENCE", 0.2)
    pids = tmp_path / "pids"
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "tools = [subprocess.Popen(['sleep', '60'], start_new_session=own) for own in (0, 1)]\n"
        f"open({str(pids)!r}, 'w').write(' '.join(str(tool.pid) for tool in tools))\n"
        f"os.kill(os.getppid(), signal.{number}); {last}"
    )
    limits = Limits(interrupt=0.2, linger=0.2, total=1.0)
    job = await outcome(tmp_path, code, limits=limits)
    assert job.state is (JobState.DONE if "done" in last else JobState.FAILED)
    assert not any(alive(int(pid)) for pid in pids.read_text().split())


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent's look does not."""
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


async def test_a_long_complaint_is_cut_and_on_one_line(tmp_path: Path) -> None:
    code = "sys.stderr.write('begin\\n' + 'e\\n' * 3_000_000 + 'the end'); sys.exit(1)"
    job = await outcome(tmp_path, code)
    assert (job.error or "").endswith("e the end")
    assert "\n" not in (job.error or "")
    assert len(job.error or "") < 600

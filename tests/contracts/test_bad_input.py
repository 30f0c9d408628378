"""What people really type: one clear line, the right exit code, nothing lost, nothing spent."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.clients import call, client_of, fails
from tests.contracts.program import Program, Running, Serving, Zygote
from tests.contracts.upstream import Provider


def nothing_is_held_or_spent(program: Program) -> None:
    today = program.stats()["today"]
    assert (today["held_usd"], today["cost_usd"], today["calls"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"tiers": {', "models.json line 1"),
        ('{\n "tiers": {},\n "concurrency": 4,\n}', "models.json line 4"),
        ("", "models.json line 1"),
        ("[]", "models.json must hold a JSON object"),
        ('{"tiers": []}', "`tiers`"),
        ('{"tiers": {"fast": {"use": "x"}}}', "`tiers.fast.model`"),
        ('{"daily_budget_usd": -1}', "`daily_budget_usd`"),
        ('{"daily_budget_usd": NaN}', "models.json"),
        ('{"daily_budget_usd": 1e400}', "`daily_budget_usd`"),
        ('{"daily_budget_usd": 1e15}', "`daily_budget_usd`"),
        ('{"prices": {"m": {"input": 1e30, "output": 1}}}', "`prices.m.input`"),
        ('{"default_max_tokens": 99999999999999999999}', "`default_max_tokens`"),
        ('{"concurrency": 0}', "`concurrency`"),
        ('{"budget_timezone": "Mars/Olympus"}', "no such time zone: Mars/Olympus"),
        ('{"budget_mode": "lax"}', "`budget_mode`"),
    ],
)
def test_a_broken_models_json_names_the_place(program: Program, text: str, says: str) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_text(text)
    ran = program.run("run", "task")
    assert ran.code == 2, ran
    assert says in ran.error
    assert program.models_json.read_text() == text


def test_a_models_json_of_strange_bytes_is_named(program: Program) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_bytes(b'{"tiers": {"\xff\xfe": 1}}')
    ran = program.run("run", "task")
    assert ran.code == 2, ran
    assert "models.json" in ran.error


def test_an_unknown_tier_is_named_with_those_there_are(program: Program) -> None:
    program.settings()
    ran = program.run("run", "task", "--tier", "fasst")
    assert ran.code == 2
    assert "fasst" in ran.error
    assert "fast" in ran.error.replace("fasst", "")
    nothing_is_held_or_spent(program)


@pytest.mark.parametrize("task", ["", "  \n\t"])
def test_an_empty_task_is_wrong_use(program: Program, task: str) -> None:
    ran = program.run("run", task)
    assert ran.code == 2
    assert "empty" in ran.error


def test_a_missing_file_is_named(program: Program) -> None:
    ran = program.run("run", "task", "--file", "no/such.log")
    assert ran.code == 2, ran
    assert "no/such.log" in ran.error
    nothing_is_held_or_spent(program)


def test_a_glob_without_a_match_is_named(program: Program) -> None:
    ran = program.run("run", "task", "--file", "*.nothing")
    assert ran.code == 2, ran
    assert "*.nothing" in ran.error


@pytest.mark.parametrize(
    "content", [b"\x7fELF\x02\x01\x01" + bytes(64), b"\x89PNG\r\n\x1a\n" + bytes(64)]
)
def test_a_binary_file_is_refused_by_name(program: Program, content: bytes) -> None:
    program.file("tool.bin", content)
    ran = program.run("run", "task", "--file", "tool.bin")
    assert ran.code in {2, 3}, ran
    assert "tool.bin" in ran.error
    assert "binary" in ran.error
    nothing_is_held_or_spent(program)


def test_no_key_says_where_one_belongs(program: Program) -> None:
    ran = program.run(
        "run", "task", OPENROUTER_API_KEY=None, OPENROUTER_BASE_URL="https://gateway.invalid/api/v1"
    )
    assert ran.code == 1, ran
    assert "OPENROUTER_API_KEY" in ran.error
    assert "workers-tui key set openrouter" in ran.error
    nothing_is_held_or_spent(program)


def test_a_wrong_key_says_how_to_put_in_a_good_one(
    program: Program, own_provider: Provider
) -> None:
    own_provider.change(keys=["sk-or-v1-another"])
    ran = program.run("run", "task", OPENROUTER_BASE_URL=own_provider.url)
    assert ran.code == 1, ran
    assert "401" in ran.error
    assert "workers-tui key set openrouter" in ran.error
    nothing_is_held_or_spent(program)


@pytest.fixture(scope="module", autouse=True)
def down(
    zygote: Zygote, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Program, Running]]:
    """A call to nobody, begun early: its patience ends while the other tests run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/api/v1"
    program = Program(zygote, tmp_path_factory.mktemp("down") / "user", url)
    program.settings()
    yield program, program.start("run", "task", "--tier", "fast")
    program.stop()


def test_a_provider_that_is_down_is_named(down: tuple[Program, Running]) -> None:
    program, running = down
    ran = running.wait()
    assert ran.code == 1, ran
    assert "openrouter cannot be reached" in ran.error
    nothing_is_held_or_spent(program)


def test_a_home_that_cannot_be_used_is_named(program: Program) -> None:
    program.file("taken", "a file")
    ran = program.run("stats", WORKERS_HOME=str(program.project / "taken"))
    assert ran.code == 1, ran
    assert "taken" in ran.error


@pytest.fixture(scope="module")
def server(
    zygote: Zygote, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Program, Serving]]:
    program = Program(zygote, tmp_path_factory.mktemp("bad") / "user", provider.url)
    program.settings()
    program.file("tool.bin", b"\x7fELF" + bytes(64))
    with program.serving() as serving:
        yield program, serving


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "task is missing"),
        ({"task": ""}, "empty"),
        ({"task": 7}, "task must be a text"),
        ({"task": "t", "tier": "fasst"}, "fasst"),
        ({"task": "t", "files": ["no/such.log"]}, "no/such.log"),
        ({"task": "t", "files": ["tool.bin"]}, "binary"),
        ({"task": "t", "files": "tool.bin"}, "files must be a list"),
        ({"task": "t", "files": ["/etc/passwd"]}, "/etc/passwd"),
        ({"task": "t", "max_tokens": 0}, "max_tokens"),
        ({"task": "t", "write_to": "../out"}, "../out"),
        ({"task": "t", "nonsense": 1}, "nonsense"),
    ],
)
async def test_delegate_answers_bad_input_in_one_line(
    server: tuple[Program, Serving], arguments: dict[str, Any], says: str
) -> None:
    async with client_of(server[1]) as client:
        assert says in await fails(client, "delegate", **arguments)


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_takes_1_to_100_jobs(server: tuple[Program, Serving], count: int) -> None:
    async with client_of(server[1]) as client:
        said = await fails(client, "delegate_batch", jobs=[{"task": "t"}] * count)
    assert "1 to 100" in said
    assert str(count) in said


async def test_a_batch_of_100_runs(server: tuple[Program, Serving]) -> None:
    jobs = [{"task": f"[[sim: text=answer {number}]]"} for number in range(100)]
    async with client_of(server[1]) as client:
        said = await call(client, "delegate_batch", jobs=jobs)
    blocks = said.split("\n\n")
    assert [block.splitlines()[-1] for block in blocks] == [f"answer {n}" for n in range(100)]


@pytest.mark.parametrize("tool", ["delegate_status", "delegate_result", "delegate_cancel"])
async def test_an_unknown_job_is_named(server: tuple[Program, Serving], tool: str) -> None:
    async with client_of(server[1]) as client:
        assert "zzzzz" in await fails(client, tool, job_id="zzzzz")


async def test_a_models_json_broken_while_serving_leaves_the_last_good_one_in_force(
    program: Program,
) -> None:
    program.settings()
    good = program.models_json.read_text()
    with program.serving() as serving:
        async with client_of(serving) as client:
            await call(client, "delegate", task="[[sim: text=a]]")
            program.models_json.write_text(good[:40])
            said = await call(client, "delegate", task="[[sim: text=b]]", tier="code")
            assert said.endswith("\nb")
    assert program.models_json.read_text() == good[:40]


def test_a_failure_keeps_what_was_paid_for(program: Program, tmp_path: Path) -> None:
    ran = program.run("run", "[[sim: text=one two three four five six, fault=cut, chunk_chars=4]]")
    assert ran.code == 1
    (job,) = program.good("jobs", "--json").json["jobs"]
    assert job["state"] == "failed"
    assert job["cost_source"] == "estimated"
    assert f"workers-tui jobs show {job['id']}" in ran.error
    kept = Path(job["result_path"]).read_text()
    assert kept
    assert "one two three four five six".startswith(kept)
    shown = json.loads(program.good("jobs", "show", job["id"], "--json").out)
    assert shown["job"]["text"] == kept

"""The field's cases C: what providers really send, and what the user is told."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.clients import call, client_of, fails
from tests.contracts.program import Program, Serving, Zygote
from tests.contracts.upstream import Provider

TEXT = "One two three\u2028four 五 \u00fcber \U0001f469\u200d\U0001f4bb done."


@pytest.fixture(scope="module")
def served(
    zygote: Zygote, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Program, Serving]]:
    program = Program(zygote, tmp_path_factory.mktemp("streams") / "user", provider.url)
    program.settings()
    with program.serving() as serving:
        yield program, serving


async def answer(served: tuple[Program, Serving], task: str) -> str:
    """The text of a good answer."""
    async with client_of(served[1]) as client:
        said = await call(client, "delegate", task=task)
    return said.split("\n", 1)[1]


async def failure(served: tuple[Program, Serving], task: str) -> tuple[str, dict[str, Any]]:
    """The error of a bad one, and its job."""
    async with client_of(served[1]) as client:
        said = await fails(client, "delegate", task=task)
    named = re.match(r"job (\w{5}) ", said)
    assert named is not None, said
    job = served[0].good("jobs", "show", named[1], "--json").json["job"]
    assert job["error"] in said
    return said, job


@pytest.mark.parametrize(
    "how",
    [
        "comments=3, comment_every=2",
        "comments=2, comment_blank=false, comment_every=1",
        "split=1",
        "split=7, chunk_chars=3",
        "data_lines=true",
        "raw_unicode=false",
        "finish_with_content=true",
        "fault=no-done",
        "fault=usage-twice",
        "fault=usage-empty-delta",
        "reasoning=hm hm hm",
    ],
)
async def test_the_text_is_right_however_it_travels(
    served: tuple[Program, Serving], how: str
) -> None:
    """Cases C1, C7, C13."""
    assert await answer(served, f"[[sim: {how}, text={TEXT}]]") == TEXT


async def test_usage_that_comes_twice_counts_once_and_last(served: tuple[Program, Serving]) -> None:
    async with client_of(served[1]) as client:
        said = await call(client, "delegate", task="[[sim: fault=usage-twice, text=x, cost=0.5]]")
    assert "$0.50 (reported)" in said or "$0.5 (reported)" in said


@pytest.mark.parametrize("fault", ["no-finish", "finish-blank", "cut", "cut-quiet"])
async def test_a_stream_that_just_ends_is_incomplete_and_its_text_is_kept(
    served: tuple[Program, Serving], fault: str
) -> None:
    """Case C5."""
    _, job = await failure(served, f"[[sim: fault={fault}, text=abcdefghijklmnopqrstuvwxyz]]")
    assert job["state"] == "failed"
    assert job["text"]
    assert "abcdefghijklmnopqrstuvwxyz".startswith(job["text"])
    assert Path(job["result_path"]).read_text() == job["text"]


async def test_a_network_error_behind_a_finish_is_a_failure(
    served: tuple[Program, Serving],
) -> None:
    """Case C4."""
    said, _ = await failure(served, "[[sim: fault=network-error]]")
    assert "network_error" in said


@pytest.mark.parametrize("fault", ["error-midstream", "error-string-code", "error-no-choices"])
async def test_an_error_in_the_stream_is_told_in_the_providers_words(
    served: tuple[Program, Serving], fault: str
) -> None:
    said, job = await failure(served, f"[[sim: fault={fault}, text=abcdefghijklmnopqrstuvwxyz]]")
    assert "Provider disconnected unexpectedly" in said
    assert job["text"]


async def test_an_answer_at_the_output_limit_says_that_it_is_not_complete(
    served: tuple[Program, Serving],
) -> None:
    """Case C6."""
    text = await answer(served, "[[sim: fault=length, text=--- a/x]]")
    assert text.startswith("--- a/x\n")
    assert "not complete" in text
    assert "max_tokens" in text


async def test_reasoning_alone_is_no_answer_and_is_paid(served: tuple[Program, Serving]) -> None:
    """Case C8."""
    said, job = await failure(served, "[[sim: fault=reasoning-only]]")
    assert "no answer" in said
    assert job["cost_usd"] > 0
    assert job["cost_source"] == "reported"


async def test_parts_of_usage_are_never_added_on_top(served: tuple[Program, Serving]) -> None:
    """Case C9."""
    task = (
        "[[sim: text=x, prompt_tokens=100, completion_tokens=50, cached_tokens=90,"
        " reasoning_tokens=40]]"
    )
    async with client_of(served[1]) as client:
        result = await client.call_tool("delegate", {"task": task})
    assert result.meta is not None
    assert result.meta["workers-tui/usage"] == {
        "input": 100, "output": 50, "cached": 90, "reasoning": 40,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("moderation-403", "violence"),
        ("privacy-404", "data_policy:training"),
        ("context-400", "maximum context length"),
        ("413", "too large"),
        ("error-200", "backend connection failed"),
        ("html-200", "web page"),
        ("empty", "no answer"),
        ("content-filter", "content filter"),
    ],
)
async def test_what_no_repetition_helps_is_shown_as_it_is(
    served: tuple[Program, Serving], provider: Provider, fault: str, says: str
) -> None:
    """Cases C12 and C14."""
    said, job = await failure(served, f"as-it-is {fault} [[sim: fault={fault}]]")
    assert says in said
    assert job["attempts"] == 1
    assert len(provider.calls(f"as-it-is {fault}")) == 1


@pytest.mark.parametrize("date", [False, True])
def test_the_providers_patience_is_kept_and_can_be_cancelled(
    program: Program, own_provider: Provider, date: bool
) -> None:
    """Case C11."""
    when = "60"
    if date:
        when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 60))
    own_provider.change(rules=[{"behaviour": {"fault": "429", "retry_after": when}}])
    running = program.start("run", "be-patient", OPENROUTER_BASE_URL=own_provider.url)
    own_provider.wait_for_call("be-patient")
    until = time.monotonic() + 10
    while not (jobs := program.good("jobs", "--json", "--state", "waiting").json["jobs"]):
        assert time.monotonic() < until
    (job,) = jobs
    assert job["waiting_for"] == "retry"
    assert job["retry_at"] > job["started_at"]
    program.good("jobs", "cancel", job["id"])
    assert running.wait().code == 130
    assert len(own_provider.calls("be-patient")) == 1
    assert program.stats()["today"]["cost_usd"] == 0


def test_a_short_wait_is_waited_and_the_call_succeeds(
    program: Program, own_provider: Provider
) -> None:
    again = [{"behaviour": {"fault": fault, "retry_after": "0"}, "times": 1}
             for fault in ("503", "html-502", "raw-429")]  # fmt: skip
    own_provider.change(rules=again, default={"text": "at last"})
    ran = program.good("run", "t", "--json", OPENROUTER_BASE_URL=own_provider.url)
    assert ran.json["job"]["text"] == "at last"
    assert ran.json["job"]["attempts"] == 4


async def test_text_of_a_model_never_becomes_control(served: tuple[Program, Serving]) -> None:
    """Case F4, through a pipe: what is printed is the text as it came; the screen drops it."""
    sequence = "\x1b[2J\x1b[31m\x07\x9b5n"
    text = await answer(served, f"[[sim: text=a{sequence}b]]")
    assert text == f"a{sequence}b"


def test_no_byte_of_stdin_ends_a_server(program: Program) -> None:
    """Case F2, without a terminal."""
    running = program.start("serve", "--port", "0", stdin=os.urandom(4096))
    assert running.line().startswith("listening on ")
    record = json.loads((program.home / "server.json").read_text())
    assert record["pid"] == running.pid
    assert running.end().code == 0

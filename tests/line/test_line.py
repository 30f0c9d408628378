"""The line, end to end: a file goes from disk to a worker, the answer to the client and the pane.

The official MCP client over HTTP, the real engine, server and dashboard, and a
provider on loopback. The same once more through a server without a screen.
"""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest
from tests.contracts.clients import call, client_of, text_of
from tests.contracts.program import PATIENCE, Program
from tests.contracts.upstream import Provider
from tests.line.desk import desk_of

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
LOG = "".join(
    f"2026-11-02 14:{n // 60 % 60:02d}:{n % 60:02d} backup.sh: disk full\n" for n in range(7500)
)
ANSWER = "".join(f"- finding {number}: the disk was full\n" for number in range(1, 31))
SLOW = f"[[sim: tokens_per_second=150, text={ANSWER}]]"
ENDLESS = f"[[sim: tokens_per_second=40, text={ANSWER * 20}]]"
CLEAR = 2.0
"""Seconds within which a client hears of a cancel."""


@pytest.fixture
def user(program: Program, own_provider: Provider) -> Program:
    """A user with a log of 300 KB and a models.json with a key of her own."""
    program.environ["OPENROUTER_BASE_URL"] = own_provider.url
    program.settings(my_own_key={"kept": True})
    program.file("debug.log", LOG)
    return program


@ERAS
async def test_a_log_is_delegated_while_the_pane_streams(
    user: Program, own_provider: Provider, era: str
) -> None:
    async with desk_of(user) as desk, client_of(await desk.serving(), era) as client:
        waiting = asyncio.create_task(
            client.call_tool("delegate", {"task": f"Summarise {SLOW}", "files": ["debug.log"]})
        )
        await desk.until(lambda: "finding 3:" in desk.output, "the pane shows the beginning")
        assert not waiting.done()
        assert "finding 30:" not in desk.output
        assert "Summarise" in desk.rows("#job-list")
        result = await waiting
        await desk.until(lambda: "finding 30:" in desk.output, "the pane shows the end")
    first, answer = text_of(result).split("\n", 1)
    assert not result.is_error
    assert re.match(
        r"\[fast/deepseek/deepseek-v4-flash in=\d+ out=\d+ \$[\d.]+ \(reported\)", first
    )
    assert answer == ANSWER
    (seen,) = own_provider.calls("Summarise")
    assert isinstance(seen.body, dict)
    assert LOG in seen.body["messages"][-1]["content"]
    assert not (user.home / "server.json").exists()


@ERAS
async def test_c_cancels_and_everybody_hears_of_it(
    user: Program, own_provider: Provider, era: str
) -> None:
    async with desk_of(user) as desk, client_of(await desk.serving(), era) as client:
        waiting = asyncio.create_task(client.call_tool("delegate", {"task": f"Long {ENDLESS}"}))
        await desk.until(lambda: "finding 3:" in desk.output, "the pane shows the beginning")
        pressed = time.monotonic()
        await desk.press("c")
        async with asyncio.timeout(CLEAR):
            result = await waiting
        assert time.monotonic() - pressed < CLEAR
        said = text_of(result)
        assert result.is_error
        assert "cancelled by you" in said
        assert re.search(r'delegate_result\(job_id="\w{5}"\)', said)
        bill = await asyncio.to_thread(own_provider.wait_for_bill, "deepseek")
        assert bill.cancelled
        assert (await call(client, "delegate", task="[[sim: text=next]]")).endswith("\nnext")


async def test_a_tier_edited_by_keys_is_used_by_the_next_call(
    user: Program, own_provider: Provider
) -> None:
    before = user.models_json.read_text()
    async with desk_of(user) as desk, client_of(await desk.serving()) as client:
        await call(client, "delegate", task="before-edit [[sim: text=x]]", tier="fast")
        await desk.press("2", "e", *"kimi-k3")
        await desk.press("enter")
        await desk.until(lambda: user.models_json.read_text() != before, "it is saved")
        await call(client, "delegate", task="after-edit [[sim: text=x]]", tier="fast")
    models = [
        seen.body["model"]
        for mark in ("before-edit", "after-edit")
        for seen in own_provider.calls(mark)
        if isinstance(seen.body, dict)
    ]
    assert models == ["deepseek/deepseek-v4-flash", "moonshotai/kimi-k3"]
    changed = before.replace("deepseek/deepseek-v4-flash", "moonshotai/kimi-k3")
    assert user.models_json.read_text() == changed


async def test_a_cap_set_by_keys_is_in_force_for_the_next_call(user: Program) -> None:
    async with desk_of(user) as desk, client_of(await desk.serving()) as client:
        await desk.until(lambda: bool(desk.rows("#tier-list")), "the tiers are there")
        await desk.press("b", *"0.000001")
        await desk.press("enter")
        await desk.until(
            lambda: json.loads(user.models_json.read_text())["daily_budget_usd"] == 0.000001,
            "saved",
        )
        result = await client.call_tool("delegate", {"task": "t"})
        assert result.is_error
        assert "cap $0.000001" in text_of(result)


async def test_other_processes_see_what_the_dashboard_does(user: Program) -> None:
    async with desk_of(user) as desk, client_of(await desk.serving()) as client:
        waiting = asyncio.create_task(client.call_tool("delegate", {"task": f"Long {ENDLESS}"}))
        await desk.until(lambda: "finding 3:" in desk.output, "the pane shows the beginning")
        listed = await asyncio.to_thread(user.good, "jobs", "--json", "--state", "running")
        (job,) = listed.json["jobs"]
        shown = await asyncio.to_thread(user.good, "jobs", "show", job["id"])
        assert "finding 1:" in shown.out
        await asyncio.to_thread(user.good, "jobs", "cancel", job["id"])
        async with asyncio.timeout(CLEAR):
            result = await waiting
        assert "cancelled by the shell" in text_of(result)


@ERAS
async def test_the_same_without_a_screen(user: Program, own_provider: Provider, era: str) -> None:
    with user.serving() as serving:
        async with client_of(serving, era) as client, client_of(serving, era) as other:
            waiting = asyncio.create_task(
                client.call_tool("delegate", {"task": f"Summarise {SLOW}", "files": ["debug.log"]})
            )
            await asyncio.to_thread(own_provider.wait_for_call, "Summarise")
            job = (await call(other, "delegate_list", limit=1)).split()[0].removeprefix("job=")
            async with asyncio.timeout(PATIENCE):
                while "finding 1:" not in (await call(other, "delegate_result", job_id=job)):
                    assert not waiting.done()
            result = await waiting
    assert text_of(result).endswith(ANSWER)


async def test_the_same_cancelled_and_edited_without_a_screen(
    user: Program, own_provider: Provider
) -> None:
    with user.serving() as serving:
        async with client_of(serving) as client:
            waiting = asyncio.create_task(client.call_tool("delegate", {"task": f"Long {ENDLESS}"}))
            await asyncio.to_thread(own_provider.wait_for_call, "Long")
            job = (await call(client, "delegate_list", limit=1)).split()[0].removeprefix("job=")
            asked = time.monotonic()
            await asyncio.to_thread(user.good, "jobs", "cancel", job)
            result = await waiting
            assert time.monotonic() - asked < CLEAR
            assert result.is_error
            assert "cancelled by the shell" in text_of(result)
            bill = await asyncio.to_thread(own_provider.wait_for_bill, "deepseek")
            assert bill.cancelled
            user.settings(tiers={"fast": {"model": "moonshotai/kimi-k3"}})
            said = await call(client, "delegate", task="[[sim: text=x]]", tier="fast")
            assert said.startswith("[fast/moonshotai/kimi-k3 ")

"""Contract 4.3: models.json loads as it is, every key means what it says, edits keep the rest."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.clients import call, client_of, fails
from tests.contracts.program import KEY, Program, settings
from tests.contracts.upstream import Provider

FLASH = "deepseek/deepseek-v4-flash"
TODAY = """{
  "tiers": {
    "fast":   {"model": "deepseek/deepseek-v4-flash", "params": {"reasoning": {"enabled": false}}, "use": "summaries, extraction, boilerplate"},
    "code":   {"model": "qwen/qwen3-coder-next", "use": "code, tests, diffs"},
    "reason": {"model": "deepseek/deepseek-v4-pro", "use": "debugging, second-opinion reviews"},
    "long":   {"model": "google/gemini-3.1-flash-lite", "use": "very large files (1M context)", "max_file_bytes": 3000000}
  },
  "provider": {"data_collection": "deny", "sort": "price", "allow_fallbacks": true},
  "default_max_tokens": 4000, "max_file_bytes": 400000, "max_return_chars": 6000,
  "daily_budget_usd": 3.0, "concurrency": 4
}
"""  # noqa: E501 - as it stands in the field
ODD = """{
\t"_note": "mine:  keep   this",
\t"tiers": {"fast": {"use":"x", "model" : "qwen/qwen3-coder-next",   "colour": [1,2,  3]}},

\t"daily_budget_usd": 1.50,
\t"zebra": {"b": 1, "a": 2}
}"""


def sent(provider: Provider, mark: str) -> dict[str, Any]:
    """The body of the one request with this mark."""
    (seen,) = provider.calls(mark)
    assert isinstance(seen.body, dict)
    return seen.body


def test_the_shape_in_use_today_loads_unchanged(program: Program, provider: Provider) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_text(TODAY)
    ran = program.good("run", "shape-of-today [[sim: text=x]]", "--tier", "fast")
    body = sent(provider, "shape-of-today")
    assert body["model"] == FLASH
    assert body["reasoning"] == {"enabled": False}
    assert body["max_completion_tokens"] == 4000
    preferences = body["provider"]
    assert {key: preferences[key] for key in ("data_collection", "sort", "allow_fallbacks")} == {
        "data_collection": "deny", "sort": "price", "allow_fallbacks": True,
    }  # fmt: skip
    assert "warning" not in ran.err
    assert program.models_json.read_text() == TODAY


def test_the_first_start_lays_out_the_shipped_file_and_its_schema(program: Program) -> None:
    program.good("stats")
    laid = json.loads(program.models_json.read_text())
    schema = json.loads((program.home / laid.pop("$schema")).read_text())
    assert laid == json.loads(TODAY)
    known = "tiers provider providers prices default_max_tokens max_file_bytes max_return_chars"
    known += " daily_budget_usd budget_timezone budget_mode unknown_charge_usd concurrency"
    known += " delegation agents allow_secrets deny_read deny_write large_read_bytes"
    assert set(known.split()) <= set(schema["properties"])


def test_an_edit_changes_the_one_value_and_no_other_byte(program: Program) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_text(ODD)
    program.good("budget", "set", "2")
    assert program.models_json.read_text() == ODD.replace("1.50", "2")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_an_edit_keeps_line_ends_and_byte_order_mark(
    program: Program, end: str, bom: bytes
) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_bytes(bom + ODD.replace("\n", end).encode())
    program.good("budget", "set", "2")
    new = bom + ODD.replace("1.50", "2").replace("\n", end).encode()
    assert program.models_json.read_bytes() == new


def test_an_edit_keeps_mode_and_link(program: Program, tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "models.json"
    real.write_text(ODD)
    real.chmod(0o640)
    link.symlink_to(real)
    program.good("--config", str(link), "budget", "set", "2")
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert '"daily_budget_usd": 2,' in real.read_text()


def test_an_unknown_key_is_no_error(program: Program) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_text(ODD)
    program.good("run", "[[sim: text=x]]")


async def test_a_change_by_hand_counts_from_the_next_call_on(
    program: Program, provider: Provider
) -> None:
    program.settings()
    with program.serving() as serving:
        async with client_of(serving) as client:
            await call(client, "delegate", task="before-edit [[sim: text=x]]", tier="fast")
            program.settings(tiers={"fast": {"model": "z-ai/glm-5.3-flash"}})
            await call(client, "delegate", task="after-edit [[sim: text=x]]", tier="fast")
            assert "code" in await fails(client, "delegate", task="t", tier="code")
    assert sent(provider, "before-edit")["model"] == FLASH
    assert sent(provider, "after-edit")["model"] == "z-ai/glm-5.3-flash"


def test_limits_and_fallbacks_of_a_tier_are_sent(program: Program, provider: Provider) -> None:
    program.settings(
        tiers={
            "a": {
                "model": FLASH,
                "max_tokens": 123,
                "fallbacks": ["qwen/qwen3-coder-next", "z-ai/glm-5.3"],
                "params": {"temperature": 0, "max_tokens": 9, "stream": False},
            }
        },
        provider={"sort": "throughput"},
    )
    program.good("run", "tier-limits [[sim: text=x]]")
    body = sent(provider, "tier-limits")
    assert body["max_completion_tokens"] == 123
    assert "max_tokens" not in body
    assert body["stream"] is True
    assert body["temperature"] == 0
    assert body["models"] == [FLASH, "qwen/qwen3-coder-next", "z-ai/glm-5.3"]
    assert body["provider"]["sort"] == "throughput"


def test_the_default_output_limit_holds_where_a_tier_has_none(
    program: Program, provider: Provider
) -> None:
    program.settings(default_max_tokens=321)
    program.good("run", "default-limit [[sim: text=x]]")
    assert sent(provider, "default-limit")["max_completion_tokens"] == 321


@pytest.mark.parametrize("tier", [{"max_file_bytes": 1000}, {}])
def test_a_large_file_is_cut_at_a_line_end_and_said(
    program: Program, provider: Provider, tier: dict[str, Any]
) -> None:
    mark = f"cut-file-{len(tier)}"
    limit = tier.get("max_file_bytes", 500)
    program.settings(tiers={"a": {"model": FLASH, **tier}}, max_file_bytes=500)
    program.file("big.log", "".join(f"line {number:05d} ä\n" for number in range(200)))
    program.good("run", f"{mark} [[sim: text=x]]", "--file", "big.log", "--tier", "a")
    text = "".join(message["content"] for message in sent(provider, mark)["messages"])
    shown = [line for line in text.splitlines() if line.startswith("line ")]
    assert shown == [f"line {number:05d} ä" for number in range(len(shown))]
    assert limit - 20 < len("\n".join(shown).encode()) <= limit
    assert "\ufffd" not in text
    assert "cut" in text


async def test_the_reply_says_that_a_file_was_cut(program: Program) -> None:
    program.settings(max_file_bytes=500)
    program.file("big.log", "a line of the log\n" * 200)
    with program.serving() as serving:
        async with client_of(serving) as client:
            said = await call(client, "delegate", task="[[sim: text=x]]", files=["big.log"])
    assert re.search(r"\[big\.log: cut after line 27: .* 500\]$", said)


def test_a_small_context_is_not_picked_for_a_large_file(program: Program) -> None:
    program.settings(
        tiers={
            "cheap": {"model": FLASH, "context": 8000, "use": "summaries"},
            "wide": {"model": "qwen/qwen3-coder-next", "context": 1_000_000, "use": "code"},
        }
    )
    program.file("big.log", "a line of the log\n" * 10_000)
    job = program.good("run", "Summarise [[sim: text=x]]", "--file", "big.log", "--json").json[
        "job"
    ]
    assert job["tier"] == "wide"
    assert job["tier_reason"].startswith("wide, because ")


def test_another_provider_gets_its_own_key_and_plain_requests(
    program: Program, own_provider: Provider
) -> None:
    program.settings(
        tiers={"home": {"model": "llama", "provider": "local"}},
        providers={"local": {"base_url": own_provider.url, "api_key_env": "LOCAL_KEY"}},
    )
    ran = program.good(
        "run", "to-local [[sim: text=x]]", "--json", LOCAL_KEY="lk-secret-0123456789"
    )
    (seen,) = own_provider.calls("to-local")
    assert isinstance(seen.body, dict)
    assert seen.key == "lk-secret-01"
    assert seen.body["model"] == "llama"
    assert seen.body["max_tokens"] == 4000
    assert seen.body["stream_options"] == {"include_usage": True}
    assert {"provider", "models", "session_id", "max_completion_tokens"}.isdisjoint(seen.body)
    assert ran.json["job"]["cost_usd"] == 0 or ran.json["job"]["cost_source"] == "reported"


def test_a_flat_rate_holds_nothing_and_shows_the_list_price_beside(
    program: Program, own_provider: Provider
) -> None:
    own_provider.change(need_key=False)
    program.settings(
        tiers={"flat": {"model": "z-ai/glm-5.3", "provider": "plan"}},
        providers={"plan": {"base_url": own_provider.url, "plan": True}},
        prices={"z-ai/glm-5.3": {"input": 100, "output": 100}},
        daily_budget_usd=0.0001,
    )
    job = program.good("run", "[[sim: text=x]]", "--json").json["job"]
    assert job["state"] == "done"
    assert job["cost_usd"] == 0
    (line,) = program.usage()
    assert line["cost"] == 0
    assert line["list_usd"] > 0


def test_prices_of_the_file_win_over_the_providers_list(program: Program) -> None:
    program.settings(
        tiers={"fast": {"model": FLASH}}, prices={FLASH: {"input": 1000, "output": 2000}}
    )
    ran = program.run("run", "t", "--max-tokens", "1000")
    assert ran.code == 3
    assert "this call up to $" in ran.error


def test_a_day_begins_in_the_zone_that_is_set(program: Program) -> None:
    program.settings(budget_timezone="Pacific/Kiritimati")
    said = program.stats()
    assert said["timezone"] == "Pacific/Kiritimati"
    assert said["resets_at"].endswith("T10:00:00Z")


async def test_delegation_may_be_turned_off_in_the_file(program: Program) -> None:
    program.settings(delegation="off")
    with program.serving() as serving:
        async with client_of(serving) as client:
            assert "off" in await fails(client, "delegate", task="t")
            program.settings(delegation="auto")
            await call(client, "delegate", task="[[sim: text=x]]")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"model": "forbidden"}, "forbidden"),
        ({"permission_mode": "bypassPermissions"}, "bypassPermissions"),
        ({"max_turns": 9}, "max_turns"),
        ({"allowed_tools": ["Bash"]}, "Bash"),
    ],
)
async def test_an_agent_beyond_the_users_bounds_is_refused(
    program: Program, arguments: dict[str, Any], says: str
) -> None:
    program.settings(agents={"allowed_models": ["glm-5.3"], "max_turns": 5, "tools": ["Read"]})
    models = [part for slot in ("sonnet", "opus", "haiku") for part in (f"--{slot}", "glm-5.3")]
    address = ("--preset", "custom", "--base-url", "http://127.0.0.1:9")
    program.good("worker", "create", "glm", *address, *models)
    program.good("worker", "set-key", "glm", stdin=b"zk-0123456789abcdef0123456789abcdef\n")
    with program.serving(WORKERS_CLAUDE_BIN="/bin/true") as serving:
        async with client_of(serving) as client:
            said = await fails(client, "delegate_start", prompt="p", worker="glm", **arguments)
    assert says in said


SECRET = "token = ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_secret_is_refused_unless_it_is_known_to_be_harmless(
    program: Program, provider: Provider
) -> None:
    program.settings()
    program.file("conf.txt", f"{SECRET}\n")
    ran = program.run("run", "leak-me", "--file", "conf.txt")
    assert ran.code == 3, ran
    assert "conf.txt" in ran.error
    assert "ghp_a1B2c3D4e5F6" not in ran.err + ran.out
    assert provider.calls("leak-me") == []
    program.settings(allow_secrets=["ghp_a1B2*"])
    program.good("run", "leak-me [[sim: text=x]]", "--file", "conf.txt")


def test_denied_paths_are_neither_read_nor_written(program: Program) -> None:
    program.settings(deny_read=["*.priv", "inner/**"], deny_write=["locked/**"])
    program.file("a.priv", "x")
    program.file("inner/b.txt", "x")
    for name in ("a.priv", "inner/b.txt"):
        ran = program.run("run", "t", "--file", name)
        assert ran.code == 3, ran
        assert name in ran.error
    ran = program.run("run", "t", "--write-to", "locked/c.txt")
    assert ran.code == 3, ran
    assert not (program.project / "locked").exists()


async def test_only_so_many_calls_run_at_a_time(program: Program, provider: Provider) -> None:
    program.settings(concurrency=1)
    with program.serving() as serving:
        async with client_of(serving) as client:
            batch = [{"task": f"one-at-a-time {n} [[sim: first_delay=30]]"} for n in range(3)]
            waiting = asyncio.create_task(client.call_tool("delegate_batch", {"jobs": batch}))
            await asyncio.to_thread(provider.wait_for_call, "one-at-a-time")
            listed = ""
            async with asyncio.timeout(30):  # the first one runs while the others are put down
                while listed.count("\n") < 2:
                    listed = await call(client, "delegate_list")
            assert sorted(line.split()[2] for line in listed.splitlines()) == [
                "queued", "queued", "running",
            ]  # fmt: skip
            assert len(provider.calls("one-at-a-time")) == 1
            for line in listed.splitlines():
                await call(client, "delegate_cancel", job_id=line.split()[0].removeprefix("job="))
            assert (await waiting).is_error


def test_a_project_redirects_nothing(program: Program, own_provider: Provider) -> None:
    evil = settings(
        tiers={"fast": {"model": "evil", "provider": "evil"}},
        providers={"evil": {"base_url": own_provider.url}},
        deny_read=[],
    )
    for name in ("models.json", ".workers-tui/models.json", ".claude/models.json"):
        program.file(name, json.dumps(evil))
    program.file(".env", f"OPENROUTER_BASE_URL={own_provider.url}\nWORKERS_ALLOWED_ROOTS=/\n")
    program.good("--project", str(program.project), "run", "[[sim: text=x]]")
    assert own_provider.simulator.seen.maxlen
    assert list(own_provider.simulator.seen) == []


def test_a_key_is_nowhere_to_be_seen(program: Program) -> None:
    program.good("run", "[[sim: text=x]]")
    program.run("run", "[[sim: fault=401]]")
    for path in program.home.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path

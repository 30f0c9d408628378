"""Real Claude Code after `connect`, and with the plugin: on loopback, in a clean home."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.peers import peer
from tests.peers.shop import Shop

from workers_tui.engine.jobs.job import JobState
from workers_tui.home.gate import Gate, GateTier, write_gate
from workers_tui.home.notices import Notices, write_notices
from workers_tui.home.places import Home
from workers_tui.simulator.scenario import Scenario, scenario_of
from workers_tui.simulator.simulator import Simulator

pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).resolve().parents[2]
WORKERS_TUI = Path(sys.executable).with_name("workers-tui")
SECRET_LINE = "only-in-the-file-4402"
NOTICE = "workers handled 22 % of this session's tokens (glm 35k vs Claude 123k)"
RULES = "How work is split in this session"
PLUGIN_DELEGATE = "mcp__plugin_workers_workers__delegate"


def _architect(project: Path) -> Scenario:
    """What the premium model does, told by the user's first word."""

    def use(word: str, tool: str, **arguments: Any) -> dict[str, Any]:
        content = [{"tool": tool, "input": arguments}]
        return {"when": {"user": f"^{word}"}, "behaviour": {"content": content}}

    big = str(project / "big.log")
    return scenario_of(
        {
            "rules": [
                {"when": {"tool_result": ""}, "behaviour": {"text": "the architect has read it"}},
                use("READ", "Read", file_path=big),
                use("CAT", "Bash", command=f"cat {big}"),
                use("QUIET", "Bash", command="cd .\nLC_ALL=C cat big.log 2>/dev/null"),
                use("PIPE", "Bash", command=f"cat {big} | head -n 2"),
                use("PART", "Read", file_path=big, limit=3),
                use("DELEGATE", "mcp__workers__delegate", task="summarise", files=["big.log"]),
                use("PLUGIN", PLUGIN_DELEGATE, task="summarise", files=["big.log"]),
            ],
            "default": {"text": "nothing to do"},
            "need_key": False,
        }
    )


class User:
    """Somebody with a clean home, Claude Code and our program."""

    def __init__(self, place: Path, home: Home, architect: Simulator, upstream: Simulator) -> None:
        self.claude = peer("claude")
        self.user_home = place / "claude-home"
        self.project = place / "project"
        self.architect = architect
        self.shop = Shop(home, upstream.url)
        self.environ = {
            "PATH": f"{WORKERS_TUI.parent}:{self.claude.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.user_home),
            "WORKERS_CLAUDE_BIN": str(self.claude),
            "WORKERS_HOME": str(home.state),
            "OPENROUTER_BASE_URL": upstream.url,
            "OPENROUTER_API_KEY": "sk-or-test",
            "ANTHROPIC_BASE_URL": architect.anthropic_url,
            "ANTHROPIC_AUTH_TOKEN": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    async def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """What a command printed; it must succeed."""
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd or self.project,
            env=self.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120):
            out, err = await process.communicate()
        assert process.returncode == 0, (out + err).decode()
        return out.decode()

    async def connect(self, *options: str) -> str:
        return await self.run(WORKERS_TUI, "connect", *options)

    async def ask(self, prompt: str, *options: str) -> list[dict[str, Any]]:
        """One headless session; its events."""
        out = await self.run(
            self.claude, "-p", prompt, "--output-format", "stream-json", "--verbose",
            "--include-hook-events", *options,
        )  # fmt: skip
        return [json.loads(line) for line in out.splitlines()]

    def files(self) -> dict[str, bytes]:
        """Claude Code's settings and instructions, wherever they lie."""
        home, project = self.user_home, self.project
        places = (
            home / ".claude.json", home / ".claude/settings.json", home / ".claude/CLAUDE.md",
            project / ".mcp.json", project / "CLAUDE.md", project / ".claude/settings.json",
            project / "CLAUDE.local.md", project / ".claude/settings.local.json",
        )  # fmt: skip
        return {str(path): path.read_bytes() for path in places if path.exists()}

    def heard(self) -> str:
        """Everything that the premium model was sent."""
        return json.dumps([seen.body for seen in self.architect.seen])


@pytest.fixture
async def user(tmp_path: Path, home: Home) -> AsyncIterator[User]:
    project = tmp_path / "project"
    project.mkdir()
    (project / "big.log").write_text(f"{SECRET_LINE}\n" * 2800)
    async with Simulator(_architect(project)) as architect, Simulator(Scenario()) as upstream:
        user = User(tmp_path, home, architect, upstream)
        (user.user_home / ".claude").mkdir(parents=True)
        write_gate(home, Gate(tiers=(GateTier("fast", "summaries"),)))
        yield user


async def test_after_connect_claude_lists_the_server_as_connected(user: User) -> None:
    await user.connect()
    async with user.shop.open():
        listed = await user.run(user.claude, "mcp", "list")
    assert "workers:" in listed
    assert "✔ Connected" in listed


async def test_over_http_the_helper_gives_the_token(user: User) -> None:
    async with user.shop.open():
        await user.connect("--http")
        listed = await user.run(user.claude, "mcp", "list")
    assert "✔ Connected" in listed


@pytest.mark.parametrize("word", ["READ", "CAT", "QUIET"])
async def test_a_read_of_60_kb_is_denied_and_the_model_gets_the_reason(
    user: User, word: str
) -> None:
    await user.connect()
    async with user.shop.open():
        await user.ask(f"{word} it", "--allowedTools", "Read,Bash")
    heard = user.heard()
    assert "Have a worker read it instead: mcp__workers__delegate(" in heard
    assert SECRET_LINE not in heard


@pytest.mark.parametrize("word", ["PART", "PIPE"])
async def test_a_part_of_the_file_is_read_as_ever(user: User, word: str) -> None:
    await user.connect()
    async with user.shop.open():
        await user.ask(f"{word} of it", "--allowedTools", "Read,Bash")
    assert SECRET_LINE in user.heard()


async def test_the_session_starts_with_the_rules(user: User) -> None:
    await user.connect()
    async with user.shop.open():
        await user.ask("hello")
    first = json.dumps(user.architect.seen[-1].body)
    assert RULES in first
    assert "mcp__workers__delegate_batch" in first
    assert "fast: summaries" in first


async def test_tools_need_no_question_and_the_notice_is_for_the_user_only(user: User) -> None:
    await user.connect()
    session = str(uuid.uuid4())
    async with user.shop.open() as (engine, _):
        write_notices(user.shop.home, Notices(sessions={session: NOTICE}))
        events = await user.ask("DELEGATE it", "--session-id", session)
        (job,) = await engine.list_jobs()
    assert job.state is JobState.DONE
    assert job.session == session
    (transcript,) = user.user_home.rglob(f"{session}.jsonl")
    shown = [line for line in transcript.read_text().splitlines() if NOTICE in line]
    assert any("hook_system_message" in line for line in shown)
    assert NOTICE in json.dumps(events, ensure_ascii=False)
    assert NOTICE not in user.heard()
    assert SECRET_LINE not in user.heard()


@pytest.mark.parametrize("scope", ["user", "project", "local"])
async def test_remove_restores_every_file_byte_for_byte(user: User, scope: str) -> None:
    await user.run(user.claude, "mcp", "list")  # its first start writes its own state
    (user.user_home / ".claude/settings.json").write_bytes(b'\xef\xbb\xbf{\r\n\t"theme": "dark"}')
    (user.user_home / ".claude/CLAUDE.md").write_text("# Mine\nno newline at the end")
    (user.project / ".mcp.json").write_text('{"mcpServers":{"other":{"command":"true"}}}')
    before = user.files()
    await user.connect("--scope", scope)
    assert user.files() != before
    said = await user.connect("--scope", scope, "--remove")
    assert user.files() == before
    assert "what stays" in said


async def test_remove_after_sessions_leaves_nothing_of_ours(user: User) -> None:
    (user.user_home / ".claude/CLAUDE.md").write_text("# Mine\n")
    rules = user.files()
    await user.connect()
    async with user.shop.open():
        await user.ask("hello")
    await user.connect("--remove")
    left = user.files()
    state = json.loads(left.pop(str(user.user_home / ".claude.json")))
    assert not state.get("mcpServers")
    assert left == rules


async def test_the_plugin_is_valid_installs_and_its_tools_are_called(user: User) -> None:
    for place in (REPOSITORY, REPOSITORY / "src/workers_tui/plugin"):
        assert "Validation passed" in await user.run(user.claude, "plugin", "validate", place)
    await user.run(user.claude, "plugin", "marketplace", "add", "./", cwd=REPOSITORY)  # as README
    await user.run(user.claude, "plugin", "install", "workers@workers-tui")
    said = await user.connect("--dry-run")
    assert "the plugin is enabled" in said
    assert "register the MCP server" not in said
    async with user.shop.open() as (engine, _):
        await user.ask("PLUGIN it", "--allowedTools", "mcp__plugin_workers_workers")
        (job,) = await engine.list_jobs()
        await user.ask("READ it", "--allowedTools", "Read")
    assert job.state is JobState.DONE
    heard = user.heard()
    assert RULES in heard
    assert f"{PLUGIN_DELEGATE}(" in heard, "the hook names the plugin's tool"
    assert "workers:delegating" in heard
    assert SECRET_LINE not in heard

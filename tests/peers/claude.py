"""A living headless Claude Code, told things on stdin; nothing is the user's own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from workers_tui.home.places import Home
from workers_tui.home.server_record import read_token

Event = dict[str, Any]
WAIT = 60.0


def over_stdio(home: Home, **environ: str) -> dict[str, Any]:
    """The registration that `connect` makes: the forwarder."""
    return {
        "command": sys.executable,
        "args": ["-m", "workers_tui", "mcp"],
        "env": {"WORKERS_HOME": str(home.state), **environ},
        "alwaysLoad": True,
    }


def over_http(home: Home, url: str) -> dict[str, Any]:
    """The registration that `connect --http` makes."""
    headers = {"Authorization": f"Bearer {read_token(home)}"}
    return {"type": "http", "url": url, "headers": headers, "alwaysLoad": True}


class Claude:
    """One session."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.events: list[Event] = []
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, program: Path, place: Path, model_url: str, server: dict[str, Any]
    ) -> Claude:
        project = place / "project"
        for folder in (project, place / "claude-home", place / "claude-config"):
            folder.mkdir(parents=True, exist_ok=True)
        config = place / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"workers": server}}))
        process = await asyncio.create_subprocess_exec(
            program,
            *("-p", "--input-format", "stream-json", "--output-format", "stream-json"),
            *("--verbose", "--strict-mcp-config", "--mcp-config", str(config)),
            *("--allowedTools", "mcp__workers"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=64 * 1024 * 1024,
            cwd=project,
            env=_environment(place, model_url),
            start_new_session=True,
        )
        return cls(process)

    async def say(self, text: str, wait: float = WAIT) -> Event:
        """Send a user turn and wait for its result."""
        turns = self._count("result")
        await self.send(text)
        return await self.wait(lambda _: self._count("result") > turns, "result", wait)

    async def send(self, text: str) -> None:
        assert self.process.stdin is not None
        message = {"type": "user", "message": {"role": "user", "content": text}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def wait(self, fits: Any, kind: str, seconds: float = WAIT) -> Event:
        """The newest event of a kind, once one fits."""
        async with asyncio.timeout(seconds), self._news:
            while True:
                for event in reversed(self.events):
                    if event.get("type") == kind and fits(event):
                        return event
                await self._news.wait()

    def tool_results(self) -> list[str]:
        """The texts that tools gave the model, in order."""
        blocks = [
            block
            for event in self.events
            if event.get("type") == "user"
            for block in event["message"]["content"]
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]
        return [_text(block["content"]) for block in blocks]

    def tool_uses(self) -> list[str]:
        """The ids of the tool calls that the model made."""
        return [
            block["id"]
            for event in self.events
            if event.get("type") == "assistant"
            for block in event["message"]["content"]
            if block.get("type") == "tool_use"
        ]

    @property
    def session(self) -> str:
        return str(next(one["session_id"] for one in self.events if "session_id" in one))

    def interrupt(self) -> None:
        """What Ctrl+C does: the whole group gets SIGINT."""
        os.killpg(self.process.pid, signal.SIGINT)

    async def leave(self) -> None:
        """End the session as its user would, or by force."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(15):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self._reader

    def _count(self, kind: str) -> int:
        return sum(event.get("type") == kind for event in self.events)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


def _environment(place: Path, model_url: str) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place / "claude-home"),
        "CLAUDE_CONFIG_DIR": str(place / "claude-config"),
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_AUTH_TOKEN": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }

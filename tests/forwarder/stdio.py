"""A client on stdio that sends whatever a test likes and keeps everything that comes back."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from workers_tui.home.places import Home

NEWEST = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
}
"""What every request of the newest protocol era carries in `_meta`."""
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "tester", "version": "1"},
}


class Stdio:
    """One running `workers-tui mcp`."""

    def __init__(self, process: asyncio.subprocess.Process, era: str) -> None:
        self.process = process
        self.era = era
        """`handshake` or `newest`."""
        self.seen: list[dict[str, Any]] = []
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, home: Home, era: str = "handshake", **environ: str) -> Stdio:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "workers_tui",
            "mcp",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=64 * 1024 * 1024,
            env={"PATH": "/usr/bin:/bin", "WORKERS_HOME": str(home.state), **environ},
            cwd=home.config,
        )
        return cls(process, era)

    async def send(self, *messages: dict[str, Any]) -> None:
        """Send messages; requests get what the era wants of them."""
        said = [self._enveloped(one) for one in messages]
        await self.send_raw(b"".join(json.dumps(one).encode() + b"\n" for one in said))

    def _enveloped(self, message: dict[str, Any]) -> dict[str, Any]:
        if self.era != "newest" or "id" not in message or "method" not in message:
            return message
        params = message.get("params", {})
        return {**message, "params": {**params, "_meta": {**NEWEST, **params.get("_meta", {})}}}

    async def send_raw(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        await self.process.stdin.drain()

    async def ask(self, request_id: Any, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        await self.send(message if params is None else {**message, "params": params})
        return await self.answer(request_id)

    async def answer(self, request_id: Any) -> dict[str, Any]:
        return await self.wait(lambda one: "method" not in one and one.get("id") == request_id)

    async def notice(self, method: str, after: int = 0) -> dict[str, Any]:
        return await self.wait(lambda one: one.get("method") == method, after)

    async def wait(self, fits: Any, after: int = 0) -> dict[str, Any]:
        """The first message that fits, counted from `after` messages on."""
        async with asyncio.timeout(30), self._news:
            while True:
                for message in self.seen[after:]:
                    if fits(message):
                        return message
                await self._news.wait()

    async def greet(self) -> dict[str, Any]:
        """The handshake, or what stands for it in the newest era."""
        if self.era == "newest":
            answer = await self.ask("hello", "server/discover")
            await self.ask("tools", "tools/list")
            wanted = {"notifications": {"toolsListChanged": True}}
            await self.send(
                {"jsonrpc": "2.0", "id": "ear", "method": "subscriptions/listen", "params": wanted}
            )
            await self.notice("notifications/subscriptions/acknowledged")
            return answer
        answer = await self.ask("hello", "initialize", INITIALIZE)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def call(
        self, request_id: Any, tool: str, arguments: dict[str, Any] | None = None, **meta: Any
    ) -> dict[str, Any]:
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
        if meta:
            params["_meta"] = meta
        return await self.ask(request_id, "tools/call", params)

    async def leave(self) -> int:
        """Close standard input and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(10):
            code = await self.process.wait()
        await self._reader
        return code

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._news:
                self.seen.append(json.loads(line))
                self._news.notify_all()


def text_of(answer: dict[str, Any]) -> str:
    """The text of a tool result."""
    text = answer["result"]["content"][0]["text"]
    assert isinstance(text, str)
    return text

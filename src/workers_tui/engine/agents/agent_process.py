"""One Claude Code process: its pipes, its events, its end.

Nothing here knows what the events mean. The guard between us and the process
sees to it that nothing of it is left alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

from workers_tui.engine.agents import child_guard
from workers_tui.engine.agents.agent_launch import Launch, arguments, environment
from workers_tui.engine.errors import WorkFailed

LONGEST_EVENT = 64 * 1024 * 1024
STDERR_KEPT = 4000


class AgentProcess:
    """A running process and its guard."""

    def __init__(self, process: asyncio.subprocess.Process, control: int) -> None:
        self._process = process
        self._control = control
        self._stderr = b""
        self._drain = asyncio.ensure_future(self._read_stderr())

    @classmethod
    async def start(cls, launch: Launch, environ: Mapping[str, str]) -> AgentProcess:
        """Start it. Raises WorkFailed when the machine will not."""
        reads, writes = os.pipe()
        guard = [sys.executable, "-I", "-S", child_guard.__file__, str(reads)]
        try:
            process = await asyncio.create_subprocess_exec(
                *guard,
                *arguments(launch),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=launch.session.cwd,
                env=environment(launch, environ),
                pass_fds=(reads,),
                start_new_session=True,
                limit=LONGEST_EVENT,
            )
        except BaseException as wrong:  # a cancel included: the pipe must not stay open
            os.close(writes)
            if isinstance(wrong, OSError):
                raise WorkFailed(f"the agent cannot be started: {wrong}") from wrong
            raise
        finally:
            os.close(reads)
        return cls(process, writes)

    @property
    def pid(self) -> int:
        """Of the guard, under which everything of the agent lives."""
        return self._process.pid

    async def say(self, message: Mapping[str, Any]) -> None:
        """Write one line to its standard input; a closed one is no error."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            return
        with contextlib.suppress(ConnectionError):
            stdin.write(json.dumps(message).encode() + b"\n")
            await stdin.drain()

    async def prompt(self, text: str) -> None:
        """Give it a user's message."""
        await self.say({"type": "user", "message": {"role": "user", "content": text}})

    async def interrupt(self) -> None:
        """Ask it to stop what it does; its tools are killed by itself."""
        request = {"subtype": "interrupt"}
        await self.say({"type": "control_request", "request_id": "stop", "request": request})

    def close_input(self) -> None:
        """No further message comes: it ends after its turn."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Its events as they come, to the end of its output; what is no JSON is skipped."""
        stdout = self._process.stdout
        if stdout is None:
            return
        while True:
            try:
                line = await stdout.readline()
            except ValueError:  # longer than any event is
                continue
            if not line:
                return
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    yield event

    def signal_stop(self) -> None:
        """SIGINT, three seconds, then SIGKILL to everything below the guard."""
        self._tell(child_guard.STOP)

    def signal_kill(self) -> None:
        """SIGKILL to everything below the guard."""
        self._tell(child_guard.KILL)

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._control, word)

    async def ended(self) -> int:
        """Wait until nothing of it is left; returns the exit code."""
        code = await self._process.wait()
        await self._drain
        return code

    async def stop(self, grace: float) -> int:
        """Interrupt, then signals; on return nothing of it is left."""
        if self._process.returncode is None:
            await self.interrupt()
            self.close_input()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._read_out()
                    await self._process.wait()
        return await self.stop_now()

    async def stop_now(self) -> int:
        """Signals at once; on return nothing of it is left."""
        if self._process.returncode is None:
            self.signal_stop()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(child_guard.GRACE + child_guard.SWEEP + 2):
                    await self._process.wait()
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)  # the guard hangs: its pipe and tree go
        return await self.ended()

    def close(self) -> None:
        """Let go of the control pipe; the guard ends what still runs."""
        with contextlib.suppress(OSError):
            os.close(self._control)
        self._control = -1

    @property
    def complaint(self) -> str:
        """The end of its standard error, on one line."""
        return " ".join(self._stderr.decode("utf-8", errors="replace").split())[-400:]

    async def _read_out(self) -> None:
        """What is still said, so that a full pipe holds up no ending."""
        stdout = self._process.stdout
        while stdout is not None and await stdout.read(65_536):
            pass

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (raw := await stderr.read(4096)):
            self._stderr = (self._stderr + raw)[-STDERR_KEPT:]

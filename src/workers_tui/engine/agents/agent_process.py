"""One Claude Code process: its pipes, its events, its end.

Nothing here knows what the events mean. The guard between us and the process
sees to it that nothing of it is left alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from workers_tui.engine.agents import child_guard
from workers_tui.engine.agents.agent_launch import Launch, arguments, environment
from workers_tui.engine.agents.strays import end_strays
from workers_tui.engine.errors import WorkFailed

LONGEST_EVENT = 16 * 1024 * 1024
"""Bytes; a longer one is skipped, for reading it would hold up everything else."""
STDERR_KEPT = 4000
HELD_WAIT = 4.0
"""Seconds for the rest of its output once it has ended: whoever escaped may hold it open."""
PATIENCE = child_guard.GRACE + child_guard.SWEEP + 2.0
"""Seconds for the guard to end everything, once it is asked to."""
LOOK_EVERY = 1.0
LOOK_SOON = 0.02
"""Seconds between looks whether it has ended, while it works and once it is to end."""
IN_A_ROW = 64
"""Lines taken before others have their turn."""
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
"""May be half of a surrogate pair, which no file and no table takes."""


class AgentProcess:
    """A running process and its guard."""

    def __init__(self, process: asyncio.subprocess.Process, control: int, config: Path) -> None:
        self._process = process
        self._control = control
        self._config = config
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
        return cls(process, writes, launch.config)

    @property
    def pid(self) -> int:
        """Of the guard, under which everything of the agent lives."""
        return self._process.pid

    def say(self, message: Mapping[str, Any]) -> None:
        """Give it one line, without waiting until it reads it: it may never do so."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(json.dumps(message).encode() + b"\n")

    def prompt(self, text: str) -> None:
        """Give it a user's message."""
        self.say({"type": "user", "message": {"role": "user", "content": text}})

    def interrupt(self) -> None:
        """Ask it to stop what it does; its tools are killed by itself."""
        request = {"subtype": "interrupt"}
        self.say({"type": "control_request", "request_id": "stop", "request": request})

    def close_input(self) -> None:
        """No further message comes: it ends after its turn."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Its events as they come, to the end of its output; what is none is skipped."""
        stdout = self._process.stdout
        if stdout is None:
            return
        for number in itertools.count():
            try:
                line = await stdout.readline()
            except ValueError:  # longer than any event is
                continue
            if not line:
                return
            if (event := read_event(line)) is not None:
                yield event
            if number % IN_A_ROW == 0:
                await asyncio.sleep(0)  # lines that are there already make nobody wait

    def signal_stop(self) -> None:
        """SIGINT, three seconds, then SIGKILL to everything below the guard."""
        with contextlib.suppress(OSError):
            os.write(self._control, child_guard.STOP)

    async def gone(self) -> None:
        """Wait until it has ended and all that it said must have come."""
        await self._exit(LOOK_EVERY)
        await asyncio.sleep(HELD_WAIT)

    async def _exit(self, every: float) -> None:
        """Wait until it has ended. asyncio would wait for whoever holds its pipes, too."""
        while self._process.returncode is None:  # noqa: ASYNC110 - nothing else rings for it
            await asyncio.sleep(every)

    async def leave(self, patience: float) -> None:
        """Let it end by itself for a while; what it still says is read and dropped."""
        self.close_input()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._read_out()
                await self._exit(LOOK_SOON)

    async def stop(self, grace: float) -> int:
        """Interrupt, then signals; on return nothing of it is left."""
        if self._process.returncode is None:
            self.interrupt()
            await self.leave(grace)
        return await self.stop_now()

    async def stop_now(self) -> int:
        """Signals at once; on return nothing of it is left. Returns the exit code."""
        if self._process.returncode is None:
            self.signal_stop()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._exit(LOOK_SOON)
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)  # the guard hangs
        await self._exit(LOOK_SOON)
        if (self._process.returncode or 0) < 0:  # it was killed, and ended nothing
            await asyncio.to_thread(end_strays, self._config)
        await asyncio.wait({self._drain}, timeout=HELD_WAIT)
        return self._process.returncode or 0

    def close(self) -> None:
        """Let go of the control pipe; the guard ends what still runs."""
        self._drain.cancel()
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


def read_event(line: bytes) -> dict[str, Any] | None:
    """One line as an event; None when it is none. Every text in it can be written down."""
    text = line.decode("utf-8", errors="replace")
    try:
        event = json.loads(text)
        if HALF_PAIR.search(text):
            event = json.loads(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None

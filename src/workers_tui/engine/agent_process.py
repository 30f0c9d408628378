"""One Claude Code process: its arguments, its environment, its pipes, its end.

Built from nothing: an allow list of the user's environment, a config directory
of ours without a key, settings of ours that win over every file and variable,
the prompt on standard input. Nothing here knows what the events mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers_tui.engine import child_guard
from workers_tui.engine.errors import WorkFailed, WrongUse
from workers_tui.home.files import make_private_dir, write_atomic

PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "VIRTUAL_ENV", "NO_COLOR",
)  # fmt: skip
"""What an agent gets of the user's environment; nothing that may hold a key."""
LONGEST_EVENT = 64 * 1024 * 1024
STDERR_KEPT = 4000
OLDEST = (2, 0, 0)
"""Versions before this lack flags that are used here."""
OUTPUT_TOKENS = 16_000
"""Bounds each request's hold."""
OWN_SECRETS = ("~/.claude-workers/**",)
"""Files that no agent may read, beside this program's own."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that a process is started with."""

    program: str
    session: str
    resume: bool
    """Go on with the session instead of beginning it."""
    directory: Path
    """The session's place under home.agents."""
    cwd: Path
    gateway: str
    """Address of the metering gateway."""
    token: str
    """Good for this job alone."""
    model: str
    small_model: str
    tools: tuple[str, ...]
    allowed: tuple[str, ...]
    disallowed: tuple[str, ...]
    permission_mode: str
    max_turns: int
    add_dirs: tuple[str, ...] = ()
    system_prompt: str = ""
    """Ours, a tenth of the usual one."""
    append_system_prompt: str | None = None
    private: tuple[Path, ...] = ()
    """Directories with keys, which its file tools may not read."""

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def token_file(self) -> Path:
        return self.directory / "token"

    @property
    def settings_file(self) -> Path:
        return self.directory / "settings.json"


def find_claude(environ: Mapping[str, str]) -> str:
    """The program. Raises WrongUse when it is not there."""
    said = environ.get("WORKERS_CLAUDE_BIN")
    found = shutil.which(said or "claude", path=environ.get("PATH"))
    if found is None:
        where = f"WORKERS_CLAUDE_BIN names {said}, which" if said else "`claude`"
        raise WrongUse(
            f"{where} was not found: agents need Claude Code;"
            " install it or set WORKERS_CLAUDE_BIN to its path"
        )
    return found


def check_version(text: str) -> None:
    """Raises WrongUse when `claude --version` says it is too old."""
    number = text.strip().partition(" ")[0]
    parts = tuple(int(part) for part in number.split(".")[:3] if part.isdigit())
    if parts and parts < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise WrongUse(f"Claude Code {number} is too old for agents: {oldest} or newer is needed")


def environment(launch: Launch, environ: Mapping[str, str]) -> dict[str, str]:
    """The process's environment: what may pass, and what we set."""
    kept = {name: environ[name] for name in PASSED_ON if name in environ}
    return {**kept, "TERM": "dumb", "CLAUDE_CONFIG_DIR": str(launch.config), **overrides(launch)}


def overrides(launch: Launch) -> dict[str, str]:
    """Variables that hold whatever a file says: address, models, limits, no side doors."""
    models = ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL")
    found = {f"ANTHROPIC_{name}": launch.model for name in models}
    found |= dict.fromkeys(
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"), launch.small_model
    )
    on = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
    )
    off = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
    empty = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS")
    return {
        **found,
        **dict.fromkeys(on, "1"),
        **dict.fromkeys(off, "0"),
        **dict.fromkeys(empty, ""),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), ""),
        "NO_PROXY": "127.0.0.1,localhost",
        "ANTHROPIC_BASE_URL": launch.gateway,
        "CLAUDE_CODE_SUBAGENT_MODEL": launch.model,
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(OUTPUT_TOKENS),
        "API_TIMEOUT_MS": "600000",
    }


def settings(launch: Launch) -> dict[str, Any]:
    """What `--settings` says."""
    closed = [*OWN_SECRETS, *(f"/{path}/**" for path in launch.private)]
    return {
        "env": overrides(launch),
        "apiKeyHelper": f"cat {shlex.quote(str(launch.token_file))}",
        "permissions": {"deny": [f"Read({pattern})" for pattern in closed]},
        "includeCoAuthoredBy": False,
        "disableAllHooks": True,
    }


def arguments(launch: Launch) -> list[str]:
    """The command line; the prompt is never on it."""
    begin = "--resume" if launch.resume else "--session-id"
    line = [
        launch.program, "-p",
        "--input-format", "stream-json",
        "--output-format", "stream-json",
        "--verbose",
        "--include-partial-messages",
        begin, launch.session,
        "--settings", str(launch.settings_file),
        "--setting-sources", "user",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--model", launch.model,
        "--max-turns", str(launch.max_turns),
        "--permission-mode", launch.permission_mode,
        "--tools", ",".join(launch.tools),
        "--system-prompt", launch.system_prompt,
    ]  # fmt: skip
    for flag, values in (
        ("--allowedTools", launch.allowed),
        ("--disallowedTools", launch.disallowed),
        ("--add-dir", launch.add_dirs),
    ):
        line += [flag, *values] if values else []
    if launch.append_system_prompt:
        line += ["--append-system-prompt", launch.append_system_prompt]
    return line


def prepare(launch: Launch) -> None:
    """Put settings and token where the process finds them; all private."""
    make_private_dir(launch.directory.parent)
    make_private_dir(launch.directory)
    make_private_dir(launch.config)
    write_atomic(launch.settings_file, json.dumps(settings(launch), indent=1), mode=0o600)
    write_atomic(launch.token_file, launch.token, mode=0o600)


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
                cwd=launch.cwd,
                env=environment(launch, environ),
                pass_fds=(reads,),
                start_new_session=True,
                limit=LONGEST_EVENT,
            )
        except OSError as wrong:
            os.close(writes)
            raise WorkFailed(f"the agent cannot be started: {wrong}") from wrong
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

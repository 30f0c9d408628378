"""The demo: a home of its own, the simulator as upstream, and a client that keeps jobs coming.

It needs no key and no network, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import shutil
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workers_tui.cli.common import Options
from workers_tui.cli.dashboard import Wiring, run_dashboard
from workers_tui.cli.demo_client import PLANTED, SESSIONS, WORKER, keep_asking
from workers_tui.cli.demo_transcripts import Session, write_transcript
from workers_tui.engine.errors import StoreUnusable
from workers_tui.home.assets import asset
from workers_tui.home.files import prepare
from workers_tui.home.places import Home, find_home
from workers_tui.simulator.demo import make_demo_files

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

CAP_USD = 0.8
CLAUDE_MODEL = "claude-opus-4-6"
AGENT_MODEL, SMALL_MODEL = "z-ai/glm-5.3", "z-ai/glm-5.3-flash"
AGENT_PRICES = {
    AGENT_MODEL: {"input": 0.60, "output": 2.20, "cache_read": 0.11, "cache_write": 0.60},
    SMALL_MODEL: {"input": 0.15, "output": 0.50, "cache_read": 0.03, "cache_write": 0.15},
}
"""What the simulator charges; on loopback a model without a price costs nothing."""


def open_demo(options: Options) -> int:
    """Run the demo until the user leaves; only a failure leaves its log behind."""
    root = Path(tempfile.mkdtemp(prefix="workers-tui-demo-"))
    home = find_home(flat=root / "home")
    prepare(home)
    project = root / "shop"
    project.mkdir()
    make_demo_files(project)
    _plant_a_key(project)
    _write_settings(home)
    _write_transcripts(home, project)
    wiring = DemoWiring(replace(options, port=0, project=project), home, project)
    code = run_dashboard(wiring.app(demo=True))
    if code == 0:
        shutil.rmtree(root, ignore_errors=True)
    return code


def _plant_a_key(project: Path) -> None:
    """A file with what looks like a key; put together here, so that no scanner trips over it."""
    key = "AKIA" + "".join(random.Random(3).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16))
    text = f"# Deploy\n\n1. Build.\n2. Log in with {key}.\n3. Push.\n"
    (project / PLANTED).write_text(text, encoding="utf-8")


def _write_transcripts(home: Home, project: Path) -> None:
    """The sessions that delegate, and one that somebody had with the worker itself."""
    begun = timedelta(minutes=40)
    for name in SESSIONS:
        write_transcript(Session(_claude(home), name, CLAUDE_MODEL, 30, 2_400, begun), project)
    # Before those: it was asked for by none of them.
    by_hand = Session(_worker(home), "by-hand", AGENT_MODEL, 18, 1_600, 3 * begun)
    write_transcript(by_hand, project)


def _claude(home: Home) -> Path:
    return home.state / "claude"


def _worker(home: Home) -> Path:
    return home.state / "claude-workers" / WORKER


def _write_settings(home: Home) -> None:
    """The shipped settings with a cap that fills while one watches."""
    settings = json.loads(asset("models.json").read_text(encoding="utf-8"))
    settings["daily_budget_usd"] = CAP_USD
    settings["prices"] = AGENT_PRICES
    home.models_json.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    home.models_json.chmod(0o600)


def _write_worker(home: Home, url: str) -> None:
    """An identity whose provider is the simulator, tried and found good."""
    # Loaded with the engine, which starts next.
    from workers_tui.engine.agents.identities import Identities
    from workers_tui.engine.agents.trial import Trial

    folder = _worker(home)
    folder.mkdir(parents=True, exist_ok=True)
    env = {
        "ANTHROPIC_BASE_URL": url.removesuffix("/v1"),
        "ANTHROPIC_AUTH_TOKEN": "demo",
        "ANTHROPIC_DEFAULT_SONNET_MODEL": AGENT_MODEL,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": AGENT_MODEL,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": SMALL_MODEL,
    }
    (folder / "settings.json").write_text(json.dumps({"env": env}, indent=2), encoding="utf-8")
    (folder / "settings.json").chmod(0o600)
    identities = Identities(folder.parent)
    identities.note_trial(identities.get(WORKER), Trial(ok=True))


def _write_claude(home: Home) -> Path:
    """A program that stands in for Claude Code, which the demo must do without."""
    program = home.state / "stand-in-for-claude"
    command = f'exec {shlex.quote(sys.executable)} -m workers_tui.simulator.agent "$@"'
    program.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    program.chmod(0o700)
    return program


class DemoWiring(Wiring):
    """An engine with a simulator before it and a client behind it."""

    def __init__(self, options: Options, home: Home, project: Path) -> None:
        super().__init__(options, home, {})
        self._project = project
        self._simulator: asyncio.subprocess.Process | None = None
        self._client: asyncio.Task[None] | None = None

    async def start_engine(self) -> Engine:
        """Start the simulator, then the engine that asks it."""
        url = await self._start_simulator()
        _write_worker(self.home, url)
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "WORKERS_HOME": str(self.home.state),
            "OPENROUTER_BASE_URL": url,
            "OPENROUTER_API_KEY": "demo",
            "CLAUDE_CONFIG_DIR": str(_claude(self.home)),
            "CLAUDE_WORKERS_ROOT": str(_worker(self.home).parent),
            "WORKERS_CLAUDE_BIN": str(_write_claude(self.home)),
        }
        return await super().start_engine()

    async def start_server(self, engine: Engine) -> DemoServer:
        """The server, and the client that begins once it listens."""
        server = await super().start_server(engine)
        client = asyncio.create_task(keep_asking(engine, self._project))
        return DemoServer(server, client, self._simulator)

    async def _start_simulator(self) -> str:
        made = self._simulator = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workers_tui", "simulate",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        line = (await made.stdout.readline()).decode().strip() if made.stdout else ""
        if not line.startswith("listening on "):
            raise StoreUnusable("the simulator did not start; the demo cannot run")
        return line.removeprefix("listening on ")


class DemoServer:
    """The server, the client and the simulator, stopped together."""

    def __init__(
        self,
        server: Any,
        client: asyncio.Task[None],
        simulator: asyncio.subprocess.Process | None,
    ) -> None:
        self._server = server
        self._client = client
        self._simulator = simulator

    async def stop(self, reason: str) -> None:
        """End the client first, the simulator last."""
        self._client.cancel()
        await asyncio.wait([self._client])
        await self._server.stop(reason)
        if self._simulator is not None and self._simulator.returncode is None:
            self._simulator.terminate()
            await self._simulator.wait()

"""Whatever ends a command that spends money, what it spent is booked as what came."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.sim_kit import simulator

from workers_tui.home.places import Home
from workers_tui.simulator.scenario import scenario_of

pytestmark = pytest.mark.processes

SLOW = {"default": {"text": "one two three four", "tokens_per_second": 0.5}}
PROGRAM = [sys.executable, "-m", "workers_tui"]


def started(home: Home, url: str) -> subprocess.Popen[str]:
    """A `run` whose answer has begun to come."""
    environ = {"PATH": os.defpath, "HOME": str(home.state), "WORKERS_HOME": str(home.state)}
    environ |= {"OPENROUTER_BASE_URL": url, "OPENROUTER_API_KEY": "sk-or-v1-good"}
    process = subprocess.Popen(
        [*PROGRAM, "run", "count"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=home.state,
    )  # fmt: skip
    until = time.monotonic() + 30
    while not any(path.stat().st_size for path in home.results.glob("*")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


def newest_job(home: Home) -> Any:
    environ = {"PATH": os.defpath, "HOME": str(home.state), "WORKERS_HOME": str(home.state)}
    done = subprocess.run(
        [*PROGRAM, "jobs", "--json"], env=environ, capture_output=True, check=True, timeout=30
    )
    return json.loads(done.stdout)["jobs"][0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_is_cancelled_and_not_lost(home: Home, number: signal.Signals) -> None:
    with simulator(scenario_of(SLOW)) as provider:
        process = started(home, provider.url)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert err.strip() == "workers-tui: interrupted"
        job = newest_job(home)
    assert (job["state"], job["cost_source"]) == ("cancelled", "estimated")
    assert 0 < job["cost_usd"] < 0.0001, "a lost one is booked at all it could have cost"
    assert Path(job["result_path"]).read_text(encoding="utf-8")

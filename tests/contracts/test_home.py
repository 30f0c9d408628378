"""Contract 4.2: where things lie, who may read them, and which variables count."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from tests.contracts.clients import call, client_of, fails
from tests.contracts.program import KEY, Program
from tests.contracts.upstream import Provider

FLAT = [
    "engines",
    "log",
    "models.json",
    "results",
    "server.json",
    "store.db",
    "token",
    "usage.jsonl",
]


def modes(folder: Path) -> dict[str, int]:
    """Everything below that others might read."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in [folder, *folder.rglob("*")]
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }


async def test_everything_lies_flat_in_the_home_and_is_private(program: Program) -> None:
    with program.serving() as serving:
        async with client_of(serving) as client:
            await call(client, "delegate", task="[[sim: text=x]]")
        there = {path.name for path in program.home.iterdir()}
        assert modes(program.home) == {}
    (program.home / "log").touch()
    assert set(FLAT) <= there | {"log"}
    assert list((program.root / "user").iterdir()) == []


def test_modes_are_mended_at_start(program: Program) -> None:
    program.good("run", "[[sim: text=x]]")
    program.good("key", "set", "openrouter", stdin=KEY.encode())
    program.home.chmod(0o755)
    for path in program.home.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    program.good("stats")
    # What lies deeper cannot be reached through a closed directory.
    assert [name for name in modes(program.home) if "/" not in name] == []


def test_new_files_are_private_whatever_the_umask(program: Program) -> None:
    before = os.umask(0)
    try:
        program.good("run", "[[sim: text=x]]")
    finally:
        os.umask(before)
    assert modes(program.home) == {}


def test_without_a_home_of_its_own_it_uses_the_platforms_places(program: Program) -> None:
    program.good("run", "[[sim: text=x]]", WORKERS_HOME=None)
    user = program.root / "user"
    assert (user / ".config/workers-tui/models.json").is_file()
    assert (user / ".local/state/workers-tui/store.db").is_file()
    assert not program.home.exists()
    assert modes(user / ".config/workers-tui") == modes(user / ".local/state/workers-tui") == {}


def test_the_home_option_wins_over_the_variable(program: Program, tmp_path: Path) -> None:
    program.good("--home", str(tmp_path / "other"), "stats")
    assert (tmp_path / "other/store.db").is_file()
    assert not program.home.exists()


def test_another_models_json_may_be_named(program: Program, tmp_path: Path) -> None:
    other = tmp_path / "mine.json"
    other.write_text('{"tiers": {"mine": {"model": "qwen/qwen3-coder-next"}}}')
    ran = program.good("--config", str(other), "run", "[[sim: text=x]]", "--json")
    assert ran.json["job"]["tier"] == "mine"
    assert not program.models_json.exists()


def test_server_json_says_who_serves_and_goes_with_it(program: Program) -> None:
    record = program.home / "server.json"
    with program.serving() as serving:
        said = json.loads(record.read_text())
        version = program.good("--version").out.split()[1]
        assert said == {"url": serving.url, "pid": serving.process.pid, "version": version}
        token = program.token
    assert not record.exists()
    with program.serving():
        assert program.token == token


def test_a_second_server_names_the_first(program: Program) -> None:
    with program.serving() as serving:
        ran = program.run("serve", "--port", "0")
        assert ran.code == 2
        assert serving.url in ran.error
        assert str(serving.process.pid) in ran.error
        assert json.loads((program.home / "server.json").read_text())["url"] == serving.url


def test_a_port_of_a_stranger_is_passed_over_and_said(program: Program, provider: Provider) -> None:
    port = provider.simulator.port
    running = program.start("serve", "--port", str(port))
    line = running.line()
    assert line.startswith("listening on http://127.0.0.1:")
    assert f":{port}/" not in line
    assert json.loads((program.home / "server.json").read_text())["url"] in line
    ran = running.end()
    assert ran.code == 0
    assert str(port) in ran.error
    assert "another program" in ran.error


def test_what_kill_9_left_is_recovered(program: Program) -> None:
    with program.serving() as serving:
        os.kill(serving.process.pid, 9)
        serving.process.wait()
    assert (program.home / "server.json").exists()
    with program.serving() as serving:
        assert json.loads((program.home / "server.json").read_text())["url"] == serving.url


@pytest.fixture
def share(tmp_path: Path) -> Path:
    folder = tmp_path / "share"
    folder.mkdir()
    (folder / "a.txt").write_text("from the share\n")
    return folder


@pytest.mark.parametrize("joint", [";", os.pathsep])
def test_allowed_roots_come_beside_the_directory(
    program: Program, share: Path, joint: str, tmp_path: Path
) -> None:
    assert program.run("run", "t", "--file", str(share / "a.txt")).code == 3
    roots = joint.join([str(tmp_path / "nothing-here"), str(share)])
    program.good(
        "run", "[[sim: text=x]]", "--file", str(share / "a.txt"), WORKERS_ALLOWED_ROOTS=roots
    )


async def test_allowed_roots_of_a_server_count_for_clients_that_connect_directly(
    program: Program, share: Path
) -> None:
    file = str(share / "a.txt")
    with program.serving("--project", str(program.project)) as serving:
        async with client_of(serving) as client:
            assert "a.txt" in await fails(client, "delegate", task="t", files=[file])
    with program.serving(
        "--project", str(program.project), WORKERS_ALLOWED_ROOTS=str(share)
    ) as serving:
        async with client_of(serving) as client:
            await call(client, "delegate", task="[[sim: text=x]]", files=[file])


@pytest.mark.parametrize(
    "environ",
    [
        {"WORKERS_DELEGATION": "off"},
        {"WORKERS_DELEGATION": "Disabled"},
        {"MODEL_ORCHESTRATION_DELEGATION": "0"},
        {"MODEL_ORCHESTRATION_DELEGATION": "false", "WORKERS_DELEGATION": "auto"},
        {"WORKERS_DELEGATION": "NO", "MODEL_ORCHESTRATION_DELEGATION": "ondemand"},
    ],
)
async def test_delegation_off_by_any_name_hides_and_refuses(
    program: Program, environ: dict[str, str]
) -> None:
    with program.serving(**environ) as serving:
        async with client_of(serving) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "delegate" not in names
            assert "off" in await fails(client, "delegate", task="t")


async def test_the_strictest_delegation_setting_wins(program: Program) -> None:
    program.settings(delegation="auto")
    with program.serving(WORKERS_DELEGATION="ondemand") as serving:
        async with client_of(serving) as client:
            tools = {
                tool.name: tool.description or "" for tool in (await client.list_tools()).tools
            }
    assert "Only when the user asks" in tools["delegate"]


def test_a_proxy_never_sees_loopback(program: Program) -> None:
    nowhere = "http://127.0.0.1:9"
    program.good(
        "run", "[[sim: text=x]]", HTTP_PROXY=nowhere, HTTPS_PROXY=nowhere, ALL_PROXY=nowhere,
        http_proxy=nowhere,
    )  # fmt: skip


def test_a_proxy_is_used_for_remote_hosts(program: Program, provider: Provider) -> None:
    program.settings()
    remote = "http://provider.invalid/api/v1"
    proxy = provider.url.removesuffix("/api/v1")
    ran = program.run(
        "run", "through-a-proxy [[sim: text=x]]", HTTP_PROXY=proxy, OPENROUTER_BASE_URL=remote
    )
    assert ran.code == 0, ran
    assert provider.calls("through-a-proxy")


def test_claude_directories_may_be_several(program: Program) -> None:
    from tests.contracts.transcripts import transcript

    first, second = program.root / "one", program.root / "two"
    transcript(first, "a", output=10)
    transcript(second, "b", output=20)
    (program.root / "link").symlink_to(second)
    where = f"{first},{second},{program.root / 'link'}"
    said = program.good("savings", "--json", CLAUDE_CONFIG_DIR=where).json
    assert said["manager"]["output"] == 30


def test_workers_are_looked_for_where_the_variable_says(program: Program) -> None:
    from tests.contracts.transcripts import transcript

    root = program.root / "workers"
    transcript(root / "glm", "w", output=7)
    said = program.good("savings", "--json", CLAUDE_WORKERS_ROOT=str(root)).json
    assert said["workers"]["glm"]["output"] == 7

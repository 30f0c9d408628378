"""Which directories a client may read from; nothing is guessed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import types
from tests.server.conftest import Connect, client_of
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.errors import SandboxRefused
from workers_tui.forwarder.told import Told, pack, unpack
from workers_tui.home.places import Home
from workers_tui.server.host import Host
from workers_tui.server.roots import choose, from_uris, implicit, required

READ = {"task": "t", "files": ["a"]}


def test_the_forwarders_project_wins_over_everything(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for place in (mine, other):
        place.mkdir()
    assert choose(Told(project=mine, forwarder=True), (other,), other, {}) == (mine,)
    assert choose(Told(), (other,), mine, {}) == (other,)
    assert choose(Told(), (), mine, {}) == (mine,)
    assert choose(Told(), (), None, {}) == ()


def test_root_and_home_are_never_implicit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    assert implicit(Path("/")) is None
    assert implicit(tmp_path) is None
    assert implicit(tmp_path / "work" / "..") is None
    assert implicit(tmp_path / "link") is None
    assert implicit(tmp_path / "missing") is None
    assert implicit(Path("work")) is None
    assert implicit(tmp_path / "work") == tmp_path / "work"


def test_allowed_roots_of_a_forwarded_session_count_for_it_alone(tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    server = {"WORKERS_ALLOWED_ROOTS": "/srv/of-the-server"}
    forwarded = Told(project=tmp_path, allowed_roots=(extra,), forwarder=True)
    assert choose(forwarded, (), None, server) == (tmp_path, extra)
    assert choose(Told(project=tmp_path, forwarder=True), (), None, server) == (tmp_path,)
    assert choose(Told(), (), tmp_path, server) == (tmp_path, Path("/srv/of-the-server"))


def test_only_file_uris_of_real_directories_are_roots(tmp_path: Path) -> None:
    spaced = tmp_path / "a b"
    spaced.mkdir()
    uris = [spaced.as_uri(), "https://x/y", "file:///", "file:///no/such", "nonsense", ""]
    assert from_uris(uris) == (spaced,)


def test_hostile_and_foreign_uris_are_no_roots(tmp_path: Path) -> None:
    there = tmp_path / "p"
    there.mkdir()
    (tmp_path / "file").write_text("x")
    way = str(there)
    uris = [
        f"https://localhost{way}",
        f"file://evil.example{way}",
        f"//{way}",
        way,
        f"file:///{tmp_path}/file",
        "file:///C:/Users/x",
        "file:///c%3A/Users/x",
        "file://C:/Users/x",
        "file:C:\\Users\\x",
        "file://server/share",
        "file:relative/path",
        "file://",
        f"file://{way}%00/../..",
        f"file://[{way}",
        f"file://{way}/../..{'/..' * 40}",
        "file:///%2e%2e/%2e%2e",
        "file:///" + "a/" * 5000,
    ]
    assert from_uris(uris) == ()


def test_what_may_not_be_looked_at_is_no_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, **_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", denied)
    assert from_uris([tmp_path.as_uri()]) == ()
    assert choose(Told(project=tmp_path, forwarder=True), (), None, {}) == ()


def test_roots_of_a_user_who_is_not_there_count_for_nothing(tmp_path: Path) -> None:
    said = f"~nobody-has-this-name/x;{tmp_path}"
    told = unpack(pack({"WORKERS_ALLOWED_ROOTS": said}))
    assert choose(told, (), None, {}) == (tmp_path,)


def test_a_uri_means_the_directory_that_it_names(tmp_path: Path) -> None:
    for name in ("a b", "%41", "100%", "süß", "a#b", "a?b", "q;x", "back\\slash", "new\nline"):
        (tmp_path / name).mkdir()
        assert from_uris([(tmp_path / name).as_uri()]) == (tmp_path / name,)
    assert from_uris([f"file://localhost{tmp_path}", f"FILE:{tmp_path}"]) == (tmp_path, tmp_path)


def test_no_root_is_a_refusal_that_says_how_to_name_one() -> None:
    with pytest.raises(SandboxRefused, match="--project"):
        required(())


def test_what_the_environment_says_travels_in_headers_whole(tmp_path: Path) -> None:
    project = str(tmp_path / "süß %20\n;x")
    environ = {
        "CLAUDE_CODE_SESSION_ID": "s-1",
        "CLAUDE_PROJECT_DIR": project,
        "WORKERS_ALLOWED_ROOTS": "/a;/b:/c",
        "MODEL_ORCHESTRATION_DELEGATION": "off",
        "OPENROUTER_API_KEY": "sk-secret",
    }
    headers = pack(environ)
    assert "sk-secret" not in str(headers)
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    told = unpack(headers)
    assert (told.session, str(told.project), told.delegation) == ("s-1", project, "off")
    assert told.allowed_roots == (Path("/a"), Path("/b"), Path("/c"))
    assert told.keys == ("OPENROUTER_API_KEY",)
    assert unpack({}) == Told()


async def roots_callback(tmp_path: Path, asked: list[int]) -> Any:
    async def callback(context: Any) -> types.ListRootsResult:
        asked.append(1)
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": tmp_path.as_uri()})])

    return callback


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_client_that_lists_roots_may_read_there(
    connect: Connect, engine: FakeEngine, tmp_path: Path, era: str
) -> None:
    asked: list[int] = []
    callback = await roots_callback(tmp_path, asked)
    async with connect(era, list_roots_callback=callback) as client:
        for _ in range(2):
            result = await client.call_tool("delegate", READ)
            assert not result.is_error
    assert [origin.roots for _, origin in engine.asked] == [(tmp_path,)] * 2
    if era == "legacy":
        assert len(asked) == 1


async def test_the_project_stands_on_a_job_without_files_too(
    connect: Connect, engine: FakeEngine, tmp_path: Path
) -> None:
    asked: list[int] = []
    callback = await roots_callback(tmp_path, asked)
    async with connect("legacy", list_roots_callback=callback) as client:
        for _ in range(2):
            await client.call_tool("delegate", {"task": "t"})
    assert [origin.project for _, origin in engine.asked] == [str(tmp_path)] * 2
    assert [origin.roots for _, origin in engine.asked] == [()] * 2
    assert len(asked) == 1


async def test_a_silent_client_delays_only_its_first_call_without_files(
    connect: Connect, engine: FakeEngine
) -> None:
    asked: list[int] = []

    async def silent(context: Any) -> types.ListRootsResult:
        asked.append(1)
        await asyncio.sleep(60)
        raise AssertionError

    async with connect("legacy", list_roots_callback=silent) as client:
        assert not (await client.call_tool("delegate", {"task": "t"})).is_error
        first = len(asked)
        for _ in range(2):
            assert not (await client.call_tool("delegate", {"task": "t"})).is_error
    assert first >= 1
    assert len(asked) == first


async def test_a_question_that_got_lost_is_asked_once_more(
    connect: Connect, engine: FakeEngine, tmp_path: Path
) -> None:
    asked: list[int] = []
    answer = await roots_callback(tmp_path, asked)

    async def deaf_at_first(context: Any) -> types.ListRootsResult:
        found: types.ListRootsResult = await answer(context)
        if len(asked) == 1:
            await asyncio.sleep(60)
        return found

    async with connect("legacy", list_roots_callback=deaf_at_first) as client:
        assert not (await client.call_tool("delegate", READ)).is_error
    assert len(asked) == 2


async def test_a_change_of_roots_is_asked_for_again(
    connect: Connect, engine: FakeEngine, tmp_path: Path
) -> None:
    asked: list[int] = []
    callback = await roots_callback(tmp_path, asked)
    async with connect("legacy", list_roots_callback=callback) as client:
        await client.call_tool("delegate", READ)
        await client.send_roots_list_changed()
        async with asyncio.timeout(5):
            while len(asked) < 2:
                await client.call_tool("delegate", READ)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_client_without_roots_is_refused_files_and_served_without(
    connect: Connect, engine: FakeEngine, era: str
) -> None:
    async with connect(era) as client:
        refused = await client.call_tool("delegate", READ)
        served = await client.call_tool("delegate", {"task": "t"})
    assert refused.is_error
    assert "--project" in refused.content[0].text  # type: ignore[union-attr]
    assert not served.is_error
    assert len(engine.asked) == 1


async def test_a_client_that_never_answers_is_refused_after_two_seconds(
    connect: Connect, engine: FakeEngine
) -> None:
    async def silent(context: Any) -> types.ListRootsResult:
        await asyncio.sleep(60)
        raise AssertionError

    async with connect("legacy", list_roots_callback=silent) as client:
        async with asyncio.timeout(5):
            result = await client.call_tool("delegate", READ)
    assert result.is_error
    assert engine.asked == []


async def test_the_servers_project_serves_clients_that_name_none(
    home: Home, engine: FakeEngine, tmp_path: Path
) -> None:
    host = Host(engine, port=0, project=tmp_path, kind="serve")  # type: ignore[arg-type]
    await host.start()
    try:
        async with client_of(host) as client:
            await client.call_tool("delegate", READ)
    finally:
        await host.stop()
    assert engine.asked[0][1].roots == (tmp_path,)

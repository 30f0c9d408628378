"""models.json as people write, break, watch and edit it (cases H1, H3, H4, H5)."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.errors import ConfigError, StoreUnusable, UnknownTier, WrongUse
from workers_tui.engine.events import Events, Level
from workers_tui.engine.settings.config import ConfigFile, ConfigView, unknown_tier
from workers_tui.engine.settings.settings import parse, schema_text
from workers_tui.home.assets import asset
from workers_tui.home.places import Home

GOOD = '{\n "tiers": {"fast": {"model": "a/b", "own": 1}},\n "daily_budget_usd": 1.50\n}\n'


async def opened(home: Home, path: Path | None = None) -> tuple[ConfigFile, Board, Events]:
    board = Board()
    events = Events(board, SystemClock())
    return await ConfigFile.open(home, board, events, path), board, events


def view(board: Board) -> ConfigView:
    found = board.get(Key(Topic.CONFIG))
    assert isinstance(found, ConfigView)
    return found


def errors(events: Events) -> list[str]:
    return [event.text for event in events.since(0) if event.level is Level.ERROR]


async def test_the_first_start_writes_the_shipped_settings(home: Home) -> None:
    config, board, _ = await opened(home)
    assert list(config.settings.tiers) == ["fast", "code", "reason", "long"]
    assert stat.S_IMODE(home.models_json.stat().st_mode) == 0o600
    raw = json.loads(home.models_json.read_text())
    assert (home.models_json.parent / raw.pop("$schema")).exists()
    assert raw == json.loads(asset("models.json").read_text())
    assert view(board).warnings == ()


async def test_a_named_file_must_be_there(home: Home, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not there"):
        await opened(home, tmp_path / "none.json")


async def test_the_shape_in_the_field_loads_unchanged(home: Home) -> None:
    home.models_json.write_bytes(asset("models.json").read_bytes())
    config, board, _ = await opened(home)
    assert view(board).error is None
    assert config.settings.tiers["long"].max_file_bytes == 3_000_000
    assert config.settings.daily_budget_usd == Decimal("3.0")
    assert home.models_json.read_bytes() == asset("models.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1"),
        ('{"tiers": {', "line 1"),
        ('{\n "a": 1,\n}', "line 3"),
        ('{\n // hm\n "a": 1}', "line 2"),
        ("[]", "a JSON object, not a list"),
        ('{"tiers": {"x": {}}}', r"`tiers\.x\.model`: field required"),
        ('{"tiers": {"auto": {"model": "m"}}}', "`auto` is the name"),
        ('{"daily_budget_usd": -1}', "`daily_budget_usd`: input should be greater"),
        ('{"daily_budget_usd": NaN}', "NaN is not JSON"),
        ('{"concurrency": 0}', "`concurrency`"),
        ('{"concurrency": "many", "max_file_bytes": 0}', r"`max_file_bytes`.*and 1 more"),
        ('{"budget_timezone": "Mars/Base"}', "no such time zone: Mars/Base"),
        ('{"budget_timezone": "../../etc/passwd"}', "no such time zone"),
    ],
)
async def test_what_is_wrong_is_named(home: Home, text: str, problem: str) -> None:
    home.models_json.write_text(text)
    config, board, _ = await opened(home)
    with pytest.raises(ConfigError, match=problem):
        config.usable()
    assert view(board).version == 0
    assert "\n" not in (view(board).error or "")


async def test_the_last_good_settings_stay_in_force_and_the_error_is_told(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, board, events = await opened(home)
    before = config.settings
    home.models_json.write_text(GOOD[:30])
    await config.refresh()
    await config.refresh()
    assert config.usable() is before
    assert "line 2" in (view(board).error or "")
    assert errors(events) == [f"{view(board).error}; the last good settings stay in force"]
    home.models_json.write_text(GOOD.replace("a/b", "c/d"))
    await config.refresh()
    assert config.settings.tiers["fast"].model == "c/d"
    assert (view(board).error, view(board).version) == (None, 2)


async def test_a_file_that_is_gone_or_unreadable_is_an_error_too(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, board, _ = await opened(home)
    home.models_json.unlink()
    await config.refresh()
    assert view(board).error == "models.json is gone"
    home.models_json.write_bytes(b'{"a": "\xff"}')
    await config.refresh()
    assert "cannot be read" in (view(board).error or "")
    assert config.usable().tiers


async def test_unknown_keys_are_warned_about_with_a_guess_and_survive(home: Home) -> None:
    home.models_json.write_text(
        '{"tiers": {"fast": {"model": "m", "max_token": 5, "params": {"odd": 1}}}, "mine": []}'
    )
    config, board, _ = await opened(home)
    assert view(board).warnings == (
        "models.json: unknown key `mine` is kept and ignored",
        "models.json: unknown key `tiers.fast.max_token` is kept and ignored; `max_tokens`?",
    )
    await config.set_cap(Decimal(2))
    raw = json.loads(home.models_json.read_text())
    assert (raw["mine"], raw["tiers"]["fast"]["max_token"]) == ([], 5)


async def test_an_edit_changes_only_its_place(home: Home) -> None:
    home.models_json.write_text(GOOD)
    home.models_json.chmod(0o640)
    config, _, _ = await opened(home)
    assert await config.set_cap(Decimal("2.25")) == Decimal("1.50")
    assert home.models_json.read_text() == GOOD.replace("1.50", "2.25")
    assert stat.S_IMODE(home.models_json.stat().st_mode) == 0o640
    assert config.settings.daily_budget_usd == Decimal("2.25")
    assert await config.set_cap(None) == Decimal("2.25")
    assert config.settings.daily_budget_usd is None
    assert '"daily_budget_usd": null' in home.models_json.read_text()


async def test_a_tier_edit_can_be_undone(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, _, _ = await opened(home)
    before = await config.set_tier("fast", model="x/y", max_tokens=9)
    assert before == {"model": "a/b", "max_tokens": None}
    assert config.settings.tiers["fast"].max_tokens == 9
    await config.set_tier("fast", **before)
    assert home.models_json.read_text() == GOOD
    with pytest.raises(UnknownTier, match="fast"):
        await config.set_tier("fasst", model="m")


async def test_bom_line_ends_and_a_link_are_kept(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    home.models_json.symlink_to(real)
    config, _, _ = await opened(home)
    await config.set_cap(Decimal(9))
    assert home.models_json.is_symlink()
    expected = GOOD.replace("1.50", "9").replace("\n", "\r\n").encode()
    assert real.read_bytes() == b"\xef\xbb\xbf" + expected


async def test_a_broken_file_is_never_rewritten(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, _, _ = await opened(home)
    broken = '{\n // mine\n "daily_budget_usd": 1,\n}'
    home.models_json.write_text(broken)
    with pytest.raises(ConfigError, match="line 2"):
        await config.set_cap(Decimal(5))
    assert home.models_json.read_text() == broken


async def test_an_edit_that_would_break_the_file_changes_nothing(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, _, _ = await opened(home)
    with pytest.raises(ConfigError, match="concurrency"):
        await config.edit(lambda raw: raw.update(concurrency=-1))
    assert home.models_json.read_text() == GOOD


async def test_a_full_disk_leaves_the_old_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.models_json.write_text(GOOD)
    config, _, _ = await opened(home)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnusable, match=r"cannot be saved: No space left.*free the disk"):
        await config.set_cap(Decimal(5))
    assert home.models_json.read_text() == GOOD
    assert [path.name for path in home.config.iterdir() if path.suffix == ""] != []
    assert not [path for path in home.config.iterdir() if path.name.startswith(".models.json.")]


async def test_a_first_start_on_a_full_disk_leaves_no_litter(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("workers_tui.home.files.os.fsync", full)
    with pytest.raises(StoreUnusable, match=r"cannot be made: No space left.*free the disk"):
        await opened(home)
    assert not [path for path in home.config.iterdir() if path.name.startswith(".models.json.")]


async def test_edits_of_several_programs_at_once_all_count(home: Home) -> None:
    tiers = {f"t{number}": {"model": "m"} for number in range(12)}
    home.models_json.write_text(json.dumps({"tiers": tiers}))
    programs = [(await opened(home))[0] for _ in tiers]
    await asyncio.gather(
        *(one.set_tier(name, use="new") for one, name in zip(programs, tiers, strict=True))
    )
    saved = json.loads(home.models_json.read_text())["tiers"]
    assert [tier.get("use") for tier in saved.values()] == ["new"] * len(tiers)


@pytest.mark.parametrize("usd", ["-1", "1000001", "1e9999", "1e999999999"])
async def test_a_cap_beyond_all_reason_is_wrong_use(home: Home, usd: str) -> None:
    home.models_json.write_text(GOOD)
    config, _, _ = await opened(home)
    with pytest.raises(WrongUse, match="between 0 and 1,000,000 dollars"):
        await config.set_cap(Decimal(usd))
    assert home.models_json.read_text() == GOOD


async def test_two_edits_at_once_both_count(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, _, _ = await opened(home)
    await asyncio.gather(
        config.set_cap(Decimal(7)), config.set_tier("fast", use="all"), config.set_cap(Decimal(8))
    )
    assert config.settings.tiers["fast"].use == "all"
    assert config.settings.daily_budget_usd in {Decimal(7), Decimal(8)}


@asynccontextmanager
async def watched(config: ConfigFile) -> AsyncIterator[None]:
    task = asyncio.create_task(config.watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(board: Board, true: Callable[[], bool], save: Callable[[], Any]) -> None:
    """Save again and again until it is seen: the watch may begin after the first save."""
    watcher = board.watch()
    async with asyncio.timeout(10):
        while not true():
            save()
            try:
                async with asyncio.timeout(1):
                    await watcher.changed()
            except TimeoutError:
                continue
    watcher.close()


async def test_a_save_by_hand_is_noticed_at_once(home: Home) -> None:
    home.models_json.write_text(GOOD)
    config, board, _ = await opened(home)
    async with watched(config):
        await until(
            board,
            lambda: config.settings.tiers["fast"].model == "n/m",
            lambda: home.models_json.write_text(GOOD.replace("a/b", "n/m")),
        )


async def test_a_replaced_file_behind_a_link_is_noticed(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "dotfiles"
    folder.mkdir()
    real = folder / "m.json"
    real.write_text(GOOD)
    home.models_json.symlink_to(real)
    config, board, _ = await opened(home)

    def replace() -> None:
        fresh = folder / "m.new"
        fresh.write_text(GOOD.replace("a/b", "n/m"))
        fresh.rename(real)

    async with watched(config):
        await until(board, lambda: config.settings.tiers["fast"].model == "n/m", replace)


def test_the_shipped_schema_is_that_of_the_settings() -> None:
    import workers_tui.engine.settings.config as module

    assert module.SCHEMA.read_text() == schema_text(), (
        "write it anew: python -c 'from workers_tui.engine.settings.settings import schema_text;"
        ' print(schema_text(), end="")\' > src/workers_tui/engine/models.schema.json'
    )


def test_the_shipped_settings_give_no_warning() -> None:
    _, warnings = parse(asset("models.json").read_text(), Path("models.json"))
    assert warnings == ()


def test_an_unknown_tier_names_the_others_in_the_users_order_and_of_many_the_nearest() -> None:
    few = dict.fromkeys(["long", "code", "reason", "fast"])
    assert str(unknown_tier("fats", few)).endswith("there are: long, code, reason, fast, auto")
    many = dict.fromkeys(f"tier{number}" for number in range(20))
    assert "there are: tier7" in str(unknown_tier("tier7x", many))

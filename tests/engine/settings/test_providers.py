"""Endpoints, their keys and pauses."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.errors import ConfigError, KeyRejected, WrongUse
from workers_tui.engine.events import Events
from workers_tui.engine.settings.keys import clean_key, read_keys, save_key
from workers_tui.engine.settings.providers import Providers, is_loopback
from workers_tui.engine.settings.settings import Settings
from workers_tui.home.places import Home


def providers(
    home: Home, environ: Mapping[str, str] | None = None, **given: Any
) -> tuple[Providers, Board, Events]:
    board = Board()
    events = Events(board, SystemClock())
    settings = Settings.model_validate({"providers": given})
    return Providers(lambda: settings, home, environ or {}, board, events), board, events


def test_openrouter_is_there_without_a_word(home: Home) -> None:
    known, _, _ = providers(home)
    one = known.get("openrouter")
    assert (one.base_url, one.kind) == ("https://openrouter.ai/api/v1", "openrouter")
    assert (one.key_env, one.plan, one.loopback) == ("OPENROUTER_API_KEY", False, False)


def test_the_environment_moves_openrouter_elsewhere(home: Home) -> None:
    known, _, _ = providers(home, {"OPENROUTER_BASE_URL": "http://127.0.0.1:9/api/v1/"})
    assert known.get("openrouter").base_url == "http://127.0.0.1:9/api/v1"
    assert known.get("openrouter").loopback


def test_settings_may_change_a_part_of_openrouter(home: Home) -> None:
    known, _, _ = providers(home, openrouter={"base_url": "https://eu.openrouter.ai/api/v1"})
    one = known.get("openrouter")
    assert (one.base_url, one.kind) == ("https://eu.openrouter.ai/api/v1", "openrouter")
    assert one.key_env == "OPENROUTER_API_KEY"


def test_a_provider_that_is_not_there_or_has_no_address_is_said(home: Home) -> None:
    known, _, _ = providers(home, half={})
    with pytest.raises(ConfigError, match="no provider 'none'"):
        known.get("none")
    with pytest.raises(ConfigError, match="'half' has no `base_url`"):
        known.get("half")
    assert [one.name for one in known.all()] == ["openrouter"]


def test_the_environments_key_wins_over_the_kept_one(home: Home) -> None:
    save_key(home, "openrouter", "kept")
    assert providers(home)[0].key("openrouter") == "kept"
    assert providers(home, {"OPENROUTER_API_KEY": " said\n"})[0].key("openrouter") == "said"


def test_a_local_server_needs_no_key_and_a_remote_one_does(home: Home) -> None:
    known, _, _ = providers(
        home,
        local={"base_url": "http://localhost:1/v1"},
        far={"base_url": "https://x.test/v1", "api_key_env": "FAR_KEY"},
    )
    assert known.key("local") is None
    with pytest.raises(KeyRejected, match="key set far` or set FAR_KEY"):
        known.key("far")


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:8/v1", True),
        ("http://api.localhost/v1", True),
        ("http://192.168.1.5/v1", False),
        ("https://localhost.example.com/v1", False),
        ("https://127.0.0.1.example.com/v1", False),
        ("nonsense", False),
    ],
)
def test_what_is_on_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) == here


def test_a_pause_is_said_once_and_shown_until_resumed(home: Home) -> None:
    known, board, events = providers(home)
    known.pause("openrouter", "no credit")
    known.pause("openrouter", "no credit")
    assert board.get(Key(Topic.PROVIDER, "openrouter")).paused == "no credit"
    assert len(events.since(0)) == 1
    known.resume()
    assert board.get(Key(Topic.PROVIDER, "openrouter")).paused is None
    assert known.paused("openrouter") is None


def test_the_board_never_has_a_key(home: Home) -> None:
    known, board, _ = providers(home, {"OPENROUTER_API_KEY": "sk-secret"})
    known.show()
    view = board.get(Key(Topic.PROVIDER, "openrouter"))
    assert view.has_key
    assert "sk-secret" not in repr(view)


def test_keys_that_are_kept_at_once_are_all_kept(home: Home) -> None:
    names = [f"p{number}" for number in range(12)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: save_key(home, name, f"key-{name}"), names))
    assert read_keys(home) == {name: f"key-{name}" for name in names}


def test_keys_are_kept_for_the_user_alone(home: Home) -> None:
    save_key(home, "a", "  key-a\n")
    save_key(home, "b", "key-b")
    save_key(home, "a", None)
    assert read_keys(home) == {"b": "key-b"}
    assert stat.S_IMODE(home.keys_json.stat().st_mode) == 0o600
    with pytest.raises(WrongUse, match="no key is kept for 'a'; kept: b"):
        save_key(home, "a", None)


@pytest.mark.parametrize("key", ["", " \n", "one\ntwo", "with blank", "schlüssel", "nul\0"])
def test_what_is_no_key_is_not_kept(home: Home, key: str) -> None:
    with pytest.raises(WrongUse, match="key"):
        clean_key(key)
    with pytest.raises(WrongUse):
        save_key(home, "a", key)
    assert not home.keys_json.exists()


@pytest.mark.parametrize("text", ["{broken", "[1]", '"text"'])
def test_a_broken_key_file_is_not_overwritten(home: Home, text: str) -> None:
    home.keys_json.write_text(text)
    assert read_keys(home) == {}
    with pytest.raises(ConfigError, match="mend it or move it away"):
        save_key(home, "a", "key")
    assert home.keys_json.read_text() == text


def test_odd_entries_in_the_key_file_are_passed_over(home: Home) -> None:
    home.keys_json.write_text(json.dumps({"a": "key", "b": None, "c": 5, "d": ""}))
    assert read_keys(home) == {"a": "key"}


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_broken_key_of_the_environment_is_said_without_showing_it(home: Home, key: str) -> None:
    known, _, _ = providers(home, {"OPENROUTER_API_KEY": key})
    with pytest.raises(KeyRejected, match="holds blanks") as caught:
        known.key("openrouter")
    assert key not in str(caught.value)
    assert known.key_or_none(known.get("openrouter")) is None  # lists and bills are asked without


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "http://[::1",
        "ftp://x.test",
        "http://",
        "//x.test",
        "http://x y.test",
        "http://x\ny",
    ],
)
def test_what_is_no_address_is_said_and_stops_nothing_else(home: Home, url: str) -> None:
    known, _, _ = providers(
        home,
        {"OPENROUTER_BASE_URL": url},
        odd={"base_url": url},
        good={"base_url": "http://x.test"},
    )
    known.show()
    assert [one.name for one in known.all()] == ["good"]
    for name in ("openrouter", "odd"):
        with pytest.raises(ConfigError, match="is no address for provider"):
            known.get(name)

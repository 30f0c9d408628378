"""Identities on disk: made, found, mended, and refused with words."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from workers_tui.engine.agents.identities import (
    PLACEHOLDER,
    Identities,
    checked_key,
    find_root,
    preset_named,
    view_of,
)
from workers_tui.engine.agents.presets import PRESETS
from workers_tui.engine.errors import ConfigError, WrongUse

KEY = "sk-or-v1-" + "0123456789abcdef" * 4


@pytest.fixture
def identities(tmp_path: Path) -> Identities:
    return Identities(tmp_path / "workers")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("preset", [p for p in PRESETS if p.sonnet], ids=lambda p: p.name)
def test_every_preset_makes_a_worker_that_waits_for_its_key(
    identities: Identities, preset: object
) -> None:
    made = identities.create("one", preset)  # type: ignore[arg-type]
    assert "set-key" in (made.problem or "")
    assert view_of(made).state == "not finalized"
    ready = identities.set_key("one", KEY + "\n")
    assert (ready.problem, ready.key) == (None, KEY)
    assert ready.model
    assert ready.small_model
    raw = json.loads((made.path / "settings.json").read_text())
    assert set(raw["env"]) == {
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    }


@pytest.mark.parametrize("inside", ["\n", " ", "é"])
def test_a_key_that_cannot_be_sent_is_told_before_a_library_shows_it(
    identities: Identities, inside: str
) -> None:
    made = identities.create("one", preset_named("zai"))
    file = made.path / "settings.json"
    raw = json.loads(file.read_text())
    raw["env"]["ANTHROPIC_AUTH_TOKEN"] = f"{KEY}{inside}{KEY}"
    file.write_text(json.dumps(raw))
    problem = identities.read("one").problem or ""
    assert "special characters" in problem
    assert KEY not in problem


def test_everything_is_the_users_alone(identities: Identities) -> None:
    made = identities.create("zai", preset_named("zai"))
    assert mode(identities.root) == mode(made.path) == 0o700
    assert mode(made.path / "settings.json") == 0o600
    assert mode(made.path / "run") == 0o700
    assert "CLAUDE_CONFIG_DIR" in (made.path / "run").read_text()
    identities.set_key("zai", KEY)
    assert mode(made.path / "settings.json") == 0o600


def test_a_key_is_in_no_representation(identities: Identities) -> None:
    identities.create("zai", preset_named("zai"))
    one = identities.set_key("zai", KEY)
    assert KEY not in repr(one)
    assert KEY not in repr(view_of(one))


def test_a_worker_of_an_earlier_tool_works_as_it_is(identities: Identities) -> None:
    place = identities.root / "old"
    place.mkdir(parents=True)
    env = {
        "ANTHROPIC_BASE_URL": "https://api.z.ai/api/anthropic/",
        "ANTHROPIC_AUTH_TOKEN": KEY,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": "glm-5.3",
        "API_TIMEOUT_MS": "3000000",
    }
    settings = {"env": env, "permissions": {"allow": ["Read"]}, "model": "sonnet"}
    (place / "settings.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(settings).encode())
    one = identities.usable(None)
    assert (one.name, one.base_url) == ("old", "https://api.z.ai/api/anthropic")
    assert (one.provider, one.model, one.small_model) == ("zai", "glm-5.3", "glm-5.3")
    assert one.headers() == {"authorization": f"Bearer {KEY}"}
    identities.set_key("old", KEY[::-1])
    kept = json.loads((place / "settings.json").read_text())
    assert kept["permissions"] == {"allow": ["Read"]}
    assert kept["env"]["API_TIMEOUT_MS"] == "3000000"


def test_the_key_goes_where_its_provider_documents_it(identities: Identities) -> None:
    for name, header in (("deepseek", "x-api-key"), ("zai", "authorization")):
        identities.create(name, preset_named(name))
        assert list(identities.set_key(name, KEY).headers()) == [header]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("sk-one\nsk-two-half", "line break"),
        ("sk-one two-three", "a space"),
        ("sk-", "half"),
        ("sk-or-v1-\u00e4\u00f6\u00fc-0000", "no key has"),
        (PLACEHOLDER, "placeholder"),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason(key: str, words: str) -> None:
    with pytest.raises(WrongUse, match=words):
        checked_key(key)


@pytest.mark.parametrize("name", ["", "../evil", "a/b", ".hidden", "-flag", "x" * 65])
def test_a_name_that_is_a_path_is_refused(identities: Identities, name: str) -> None:
    with pytest.raises(WrongUse):
        identities.create(name, preset_named("zai"))
    assert not identities.root.exists()


def test_names_are_not_taken_twice_and_the_nearest_is_offered(identities: Identities) -> None:
    identities.create("kimi", preset_named("kimi"))
    with pytest.raises(WrongUse, match="already"):
        identities.create("kimi", preset_named("kimi"))
    with pytest.raises(WrongUse, match="there are: kimi"):
        identities.get("kim")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1"),
        ("[]", "`env`"),
        ("{}", "`env`"),
        ('{"env": {}}', "ANTHROPIC_BASE_URL"),
        ('{"env": {"ANTHROPIC_BASE_URL": "https://x.example"}}', "no key"),
        ('{"env": {"ANTHROPIC_BASE_URL": "http://localhost:1"}}', "no model"),
    ],
)
def test_a_broken_identity_says_what_is_wrong(
    identities: Identities, text: str, words: str
) -> None:
    place = identities.root / "bad"
    place.mkdir(parents=True)
    (place / "settings.json").write_text(text)
    with pytest.raises(ConfigError, match=words):
        identities.usable("bad")
    assert view_of(identities.get("bad")).state == "broken"


def test_without_a_name_the_only_usable_worker_is_taken(identities: Identities) -> None:
    with pytest.raises(WrongUse, match="worker create"):
        identities.usable(None)
    for name in ("zai", "kimi"):
        identities.create(name, preset_named(name))
    identities.set_key("zai", KEY)
    assert identities.usable(None).name == "zai"
    identities.set_key("kimi", KEY)
    with pytest.raises(WrongUse, match="kimi, zai"):
        identities.usable(None)
    assert identities.usable(None, default="kimi").name == "kimi"


def test_a_custom_worker_needs_its_address_and_a_model(identities: Identities) -> None:
    custom = preset_named("custom")
    with pytest.raises(WrongUse, match="--sonnet"):
        identities.create("mine", custom, base_url="https://x.example")
    with pytest.raises(WrongUse, match="--base-url"):
        identities.create("mine", custom, models={"SONNET": "m"})
    made = identities.create("mine", custom, base_url="https://x.example/", models={"SONNET": "m"})
    assert made.base_url == "https://x.example"
    assert set(made.models.values()) == {"m"}


def test_a_removed_worker_is_gone_with_its_history(identities: Identities) -> None:
    made = identities.create("zai", preset_named("zai"))
    (made.path / "projects").mkdir()
    identities.remove("zai")
    assert not made.path.exists()
    with pytest.raises(WrongUse):
        identities.remove("../workers")


def test_the_root_follows_its_variable(tmp_path: Path) -> None:
    assert find_root({"HOME": "/home/dev"}) == Path("/home/dev/.claude-workers")
    assert find_root({"CLAUDE_WORKERS_ROOT": str(tmp_path)}) == tmp_path


@pytest.mark.parametrize("url", ["ftp://x", "http://a b", "http://", "http://x:0", "x"])
def test_what_is_no_address_makes_no_worker(identities: Identities, url: str) -> None:
    with pytest.raises(WrongUse, match="is no address"):
        identities.create("one", preset_named("custom"), base_url=url, models={"SONNET": "m"})
    assert identities.names() == []


@pytest.mark.parametrize("model", ["a\nb", "--settings", "x" * 300, "\x1b[2J"])
def test_what_is_no_model_makes_no_worker(identities: Identities, model: str) -> None:
    with pytest.raises(WrongUse, match="no name of a model"):
        identities.create("one", preset_named("zai"), models={"HAIKU": model})
    assert identities.names() == []


def test_only_texts_of_the_settings_count(identities: Identities) -> None:
    env = {
        "ANTHROPIC_BASE_URL": "https://api.example.com",
        "ANTHROPIC_AUTH_TOKEN": None,
        "ANTHROPIC_API_KEY": {"a": 1},
        "ANTHROPIC_DEFAULT_SONNET_MODEL": "m",
    }
    (identities.root / "odd").mkdir(parents=True)
    (identities.root / "odd" / "settings.json").write_text(
        json.dumps({"env": env, "plan": "false"})
    )
    identity = identities.get("odd")
    assert (identity.key, identity.plan) == ("", False)
    assert "it has no key" in (identity.problem or "")

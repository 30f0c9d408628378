"""keys.json: the providers' keys, the user's alone (0600). Read and changed only here."""

from __future__ import annotations

import json

from workers_tui.engine.errors import ConfigError, StoreUnusable, WrongUse
from workers_tui.engine.settings.names import nearest_words
from workers_tui.home.files import in_turn, read_json, why, write_atomic
from workers_tui.home.places import Home


def read_keys(home: Home) -> dict[str, str]:
    """Keys by provider; none when the file is missing or broken."""
    raw = read_json(home.keys_json)
    if not isinstance(raw, dict):
        return {}
    return {name: key for name, key in raw.items() if isinstance(key, str) and key}


def save_key(home: Home, provider: str, key: str | None) -> None:
    """Keep a key for a provider; None forgets it.

    Raises WrongUse for what is no key, ConfigError when the file is broken (what
    stands in it is never thrown away), StoreUnusable when it cannot be written.
    """
    try:
        with in_turn(home.config):
            keys = _changed(home, provider, key)
            write_atomic(home.keys_json, json.dumps(keys, indent=2) + "\n", mode=0o600)
    except OSError as error:
        raise StoreUnusable(f"{home.keys_json} cannot be saved: {why(error)}") from error


def _changed(home: Home, provider: str, key: str | None) -> dict[str, str]:
    """The keys as they shall be. Raises WrongUse and ConfigError."""
    keys = read_keys(home)
    if not keys and home.keys_json.exists() and not isinstance(read_json(home.keys_json), dict):
        raise ConfigError(f"{home.keys_json} is not a JSON object; mend it or move it away first")
    if key is not None:
        return {**keys, provider: clean_key(key)}
    if provider not in keys:
        known = ", ".join(nearest_words(provider, keys)) or "none"
        raise WrongUse(f"no key is kept for {provider!r}; kept: {known}")
    return {name: kept for name, kept in keys.items() if name != provider}


def clean_key(key: str) -> str:
    """A pasted key without the blanks around it. Raises WrongUse when it cannot be one."""
    stripped = key.strip()
    if not stripped:
        raise WrongUse("the key is empty; paste it when asked, or pipe it in")
    if not can_be_sent(stripped):
        raise WrongUse("this is no key: it holds blanks, line ends or special characters inside")
    return stripped


def can_be_sent(key: str) -> bool:
    """False for what the HTTP library would refuse, with the key in its message."""
    return key.isascii() and key.isprintable() and " " not in key

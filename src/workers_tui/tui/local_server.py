"""A model server found on this machine as a provider and a tier of models.json, and taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from workers_tui.engine.errors import ConfigError

if TYPE_CHECKING:
    from workers_tui.engine.checks.local_servers import LocalServer
    from workers_tui.engine.settings.config import ConfigFile

TIER = "local"
USE = "costs nothing and leaves nothing but this machine: short, private tasks"

Deed = Callable[[], Awaitable[object]]


def not_yet(servers: Iterable[LocalServer], known: Iterable[str]) -> list[LocalServer]:
    """Servers that no provider of the settings stands for; `known` are base URLs."""
    there = {url.rstrip("/").replace("localhost", "127.0.0.1") for url in known}
    return [server for server in servers if server.base_url not in there]


async def add(config: ConfigFile, server: LocalServer) -> tuple[str, Deed]:
    """Write provider and tier; the tier's name, and what takes both back. Raises ConfigError."""
    if not server.models:
        raise ConfigError(f"{server.title} has no model loaded: load one, then add it")
    made: dict[str, str] = {}

    def write(raw: dict[str, Any]) -> None:
        providers, tiers = raw.setdefault("providers", {}), raw.setdefault("tiers", {})
        if not not_yet([server], [one.get("base_url") or "" for one in providers.values()]):
            raise ConfigError(f"{server.title} is in models.json already")
        provider, tier = free(server.name, providers), free(TIER, tiers)
        providers[provider] = {"base_url": server.base_url}
        tiers[tier] = {"model": server.models[0], "provider": provider, "use": USE}
        made.update(provider=provider, tier=tier)

    def take_back(raw: dict[str, Any]) -> None:
        raw.get("providers", {}).pop(made["provider"], None)
        raw.get("tiers", {}).pop(made["tier"], None)

    await config.edit(write)
    return made["tier"], lambda: config.edit(take_back)


def free(name: str, taken: Iterable[str]) -> str:
    """The name, or the first of `name-2`, `name-3` that nobody has."""
    names, number, wanted = set(taken), 1, name
    while wanted in names:
        number += 1
        wanted = f"{name}-{number}"
    return wanted

"""Model servers on this machine's usual ports: found, named, and offered for models.json."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

PATIENCE = 1.5
SHOWN_MODELS = 5


@dataclass(frozen=True, slots=True)
class Usual:
    """A server and where it listens unless told otherwise."""

    name: str
    """As a key of `providers`."""
    title: str
    port: int


USUAL: tuple[Usual, ...] = (
    Usual("ollama", "Ollama", 11434),
    Usual("llamacpp", "llama.cpp", 8080),
    Usual("lmstudio", "LM Studio", 1234),
)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """One that answers."""

    name: str
    title: str
    base_url: str
    models: tuple[str, ...]

    @property
    def offer(self) -> str:
        """What to put into models.json, in one line."""
        entry = json.dumps({self.name: {"base_url": self.base_url}})
        model = self.models[0] if self.models else "MODEL"
        tier = json.dumps({"local": {"model": model, "provider": self.name}})
        return f"add to models.json: providers {entry}, tiers {tier}"

    @property
    def told(self) -> str:
        """What was found, in one line."""
        some = ", ".join(self.models[:SHOWN_MODELS]) or "no model loaded"
        more = f" and {len(self.models) - SHOWN_MODELS} more" if len(self.models) > 5 else ""
        return f"{self.title} at {self.base_url}: {some}{more}"


async def find_local_servers(
    usual: Sequence[Usual] = USUAL, transport: httpx.AsyncBaseTransport | None = None
) -> list[LocalServer]:
    """Every usual server that lists its models. Never raises for one that does not answer."""
    # Proxies of the environment are for other machines.
    async with httpx.AsyncClient(transport=transport, timeout=PATIENCE, trust_env=False) as client:
        found = await asyncio.gather(*(_look(client, one) for one in usual))
    return [server for server in found if server is not None]


async def _look(client: httpx.AsyncClient, usual: Usual) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{usual.port}/v1"
    try:
        reply = await client.get(f"{base_url}/models")
        said = reply.json() if reply.is_success else None
    except (httpx.HTTPError, ValueError, RecursionError):
        return None
    data: Any = said.get("data") if isinstance(said, dict) else None
    if not isinstance(data, list):
        return None
    ids = [entry.get("id") for entry in data if isinstance(entry, dict)]
    return LocalServer(
        usual.name, usual.title, base_url, tuple(i for i in ids if isinstance(i, str))
    )

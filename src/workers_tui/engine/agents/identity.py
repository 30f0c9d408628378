"""One agent identity as a value: read from its settings, shown without its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers_tui.engine.agents.presets import FLAT_RATE, HEADER_KEY, host_of, price_source
from workers_tui.engine.agents.trial import Trial
from workers_tui.engine.settings.keys import can_be_sent
from workers_tui.engine.settings.model_name import is_model
from workers_tui.engine.settings.providers import is_address, is_loopback

PLACEHOLDER = "PASTE_YOUR_API_KEY_HERE"
SLOTS = ("SONNET", "OPUS", "HAIKU")
URL = "ANTHROPIC_BASE_URL"
TOKEN = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - a variable's name
API_KEY = "ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class Identity:
    """One worker's identity as it lies on disk."""

    name: str
    path: Path
    base_url: str = ""
    key: str = field(default="", repr=False)
    """The provider's key; empty when there is none."""
    header_key: bool = False
    """The key goes into `x-api-key` instead of a bearer token."""
    models: Mapping[str, str] = field(default_factory=dict)
    """By slot: SONNET, OPUS, HAIKU, and MAIN where a model is set for all."""
    plan: bool = False
    """A flat rate pays: calls cost nothing more, the list price is shown beside."""
    problem: str | None = None
    """Why it cannot be used, in words."""
    trial: Trial | None = None
    """The last real round trip with these settings; None when there was none."""

    @property
    def loopback(self) -> bool:
        """It runs on this machine."""
        return is_loopback(self.base_url)

    @property
    def provider(self) -> str:
        """Name under which prices are looked up."""
        return price_source(self.base_url)

    @property
    def model(self) -> str:
        """The model for the main work."""
        return self.models.get("MAIN") or self.models.get("SONNET") or self.models.get("OPUS") or ""

    @property
    def small_model(self) -> str:
        """The model for small tasks."""
        return self.models.get("HAIKU") or self.model

    @property
    def needs_key(self) -> bool:
        """Its address is good and its key is not."""
        missing = not self.key and not self.loopback
        unfit = self.key == PLACEHOLDER or not can_be_sent(self.key)
        return is_address(self.base_url) and (missing or unfit)

    @property
    def asked_for(self) -> dict[str, str]:
        """What a trial is about: address, key and models."""
        return {**self.models, "url": self.base_url, "key": self.key}

    @property
    def word(self) -> str:
        """`ready`, `untried`, `failed`, `not finalized` or `broken`."""
        if self.key == PLACEHOLDER:
            return "not finalized"
        if self.problem:
            return "broken"
        if self.trial is None:
            return "untried"
        return "ready" if self.trial.ok else "failed"

    def headers(self) -> dict[str, str]:
        """How the key is shown to the provider."""
        if not self.key:
            return {}
        if self.header_key:
            return {"x-api-key": self.key}
        return {"authorization": f"Bearer {self.key}"}


@dataclass(frozen=True, slots=True)
class WorkerView:
    """What the board shows of an identity; never its key."""

    name: str
    base_url: str
    model: str
    small_model: str
    state: str
    """`ready`, `untried`, `failed` (when last tried), `not finalized` or `broken`."""
    problem: str | None = None
    plan: bool = False
    loopback: bool = False
    usable: bool = True
    """It has all that a job needs."""
    running: int = 0
    """Jobs at work now."""
    month_pico: int = 0
    """Spent since the first of the month."""
    month_jobs: int = 0


def identity_of(name: str, path: Path, env: Mapping[str, str], raw: Mapping[str, Any]) -> Identity:
    url = env.get(URL, "").rstrip("/")
    key = env.get(TOKEN, "").strip() or env.get(API_KEY, "").strip()
    header = not env.get(TOKEN, "").strip() or host_of(url) in HEADER_KEY
    models = {
        slot: env[f"ANTHROPIC_DEFAULT_{slot}_MODEL"]
        for slot in SLOTS
        if env.get(f"ANTHROPIC_DEFAULT_{slot}_MODEL")
    }
    if env.get("ANTHROPIC_MODEL"):
        models["MAIN"] = env["ANTHROPIC_MODEL"]
    plan = raw.get("plan") is True or host_of(url) in FLAT_RATE
    problem = _problem(name, url, key, models)
    return Identity(name, path, url, key, header, models, plan, problem)


def _problem(name: str, url: str, key: str, models: Mapping[str, str]) -> str | None:
    mending = f"`workers-tui worker set-key {name}`"
    if not is_address(url):
        return "settings.json names no usable ANTHROPIC_BASE_URL"
    if key == PLACEHOLDER:
        return f"not finalized: {mending} gives it a key"
    if not key and not is_loopback(url):
        return f"it has no key: {mending} gives it one"
    if not can_be_sent(key):
        return (
            "its key holds blanks, line ends or special characters inside: "
            f"{mending} gives it another"
        )
    if not models or not all(map(is_model, models.values())):
        return "settings.json names no model that can be used (ANTHROPIC_DEFAULT_SONNET_MODEL, …)"
    return None


def view_of(
    identity: Identity, running: int = 0, month_pico: int = 0, month_jobs: int = 0
) -> WorkerView:
    """What may be shown of an identity."""
    failed = identity.trial.said if identity.word == "failed" and identity.trial else None
    return WorkerView(
        identity.name,
        identity.base_url,
        identity.model,
        identity.small_model,
        identity.word,
        identity.problem or failed,
        identity.plan,
        identity.loopback,
        identity.problem is None,
        running,
        month_pico,
        month_jobs,
    )

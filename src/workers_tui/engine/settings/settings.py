"""What models.json may say, one sentence a field. Values only: no file is opened here.

The shape that users of this idea have today loads unchanged (contract 4.3).
Unknown keys are kept and named as warnings; a value of the wrong kind is an
error that names the key and the line it can be mended at.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workers_tui.engine.errors import ConfigError

MOST_USD = 1_000_000
MOST = 1_000_000_000
"""Bounds that only a slip of the finger passes; sums stay far below what the store can hold."""

Usd = Annotated[Decimal, Field(ge=0, le=MOST_USD)]
Count = Annotated[int, Field(ge=1, le=MOST)]
Word = Annotated[str, Field(min_length=1)]


class Part(BaseModel):
    """A frozen part of the settings that keeps keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)


class Tier(Part):
    """One named model choice."""

    model: Word
    """The model to ask for, as its provider spells it."""
    params: dict[str, Any] = {}
    """Sent with every request as they are: `reasoning`, `temperature`, …"""
    use: str = ""
    """What the tier is good for, in words; `auto` picks by them."""
    provider: str | None = None
    """A key of `providers`; without it OpenRouter."""
    fallbacks: tuple[Word, ...] = ()
    """Models to try in order when the first cannot answer (OpenRouter)."""
    max_tokens: Count | None = None
    """Longest answer in tokens; without it `default_max_tokens`."""
    max_file_bytes: Count | None = None
    """Larger files are cut; without it the top-level `max_file_bytes`."""
    context: Count | None = None
    """Tokens that the model can take, prompt and answer together."""


class ProviderSettings(Part):
    """An endpoint that speaks the chat-completions dialect."""

    base_url: str | None = None
    """Address that ends before `/chat/completions`."""
    api_key_env: str | None = None
    """Environment variable that holds the key."""
    kind: Literal["openrouter", "openai"] = "openai"
    """`openrouter` also takes routing preferences, fallbacks and a highest price."""
    plan: bool = False
    """A flat rate pays for it: nothing is held, the list price is shown beside."""


class ModelPrice(Part):
    """Prices of a model in USD per million tokens; they win over every other source."""

    input: Usd
    """A prompt token."""
    output: Usd
    """An answer token, reasoning included."""
    cache_read: Usd | None = None
    """A prompt token read from the cache; without it `input`."""
    cache_write: Usd | None = None
    """A prompt token written to the cache for 5 minutes; without it `input`."""
    cache_write_1h: Usd | None = None
    """A prompt token written to the cache for an hour; without it `cache_write`."""


class AgentRules(Part):
    """Bounds for agent workers; arguments beyond these are refused."""

    default_worker: str | None = None
    """The identity to use when none is named."""
    default_model: str | None = None
    """The model to use when none is named."""
    small_model: str | None = None
    """The model for the worker's small tasks."""
    allowed_models: tuple[str, ...] = ()
    """Models that may be asked for; empty means all."""
    permission_mode: str = "default"
    """How much a worker may do without asking, when nothing is said."""
    max_permission_mode: str = "acceptEdits"
    """The most that may be asked for."""
    tools: tuple[str, ...] | None = None
    """Tools a worker may use; without it the built-in list, which has no Bash."""
    max_turns: Count = 40
    """The most turns of one run."""
    concurrency: Count = 2
    """Agents that run at the same time."""


class Settings(Part):
    """The whole of models.json."""

    json_schema: str | None = Field(default=None, alias="$schema")
    """Where the JSON Schema of this file lies, for editors."""
    tiers: dict[str, Tier] = {}
    """Model choices by name."""
    provider: dict[str, Any] = {}
    """OpenRouter's routing preferences, sent with every request."""
    providers: dict[str, ProviderSettings] = {}
    """Endpoints by name, beside the built-in `openrouter`."""
    prices: dict[str, ModelPrice] = {}
    """Prices by model."""
    default_max_tokens: Count = 4000
    """Longest answer in tokens where a tier does not say."""
    max_file_bytes: Count = 400_000
    """Larger files are cut at a line end."""
    max_return_chars: Count = 6000
    """Longest text of a reply; the rest is fetched by job id."""
    daily_budget_usd: Usd | None = None
    """The cap of a day; null for none."""
    budget_timezone: str | None = None
    """Zone in which a day begins; without it the machine's."""
    budget_mode: Literal["strict", "soft"] = "strict"
    """strict: the cap holds whatever happens. soft: holds are estimates and may be overshot."""
    unknown_charge_usd: Usd = Decimal("0.05")
    """What a request of unknown cost counts against the cap."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Calls that run at the same time."""
    delegation: Literal["off", "ondemand", "auto"] = "auto"
    """off: nothing is taken. ondemand: only when the user says so. auto: the model decides."""
    agents: AgentRules = AgentRules()
    """Bounds for agent workers."""
    allow_secrets: tuple[str, ...] = ()
    """Globs of texts and paths that look like secrets and are harmless."""
    deny_read: tuple[str, ...] = ()
    """Globs of files that are never sent, beside the built-in ones."""
    deny_write: tuple[str, ...] = ()
    """Globs of files that are never written, beside the built-in ones."""
    large_read_bytes: Count = 51_200
    """Reads of files above this are worth delegating (used by the hooks)."""

    @field_validator("budget_timezone")
    @classmethod
    def zone_exists(cls, name: str | None) -> str | None:
        """A zone that the machine knows."""
        if name is not None:
            try:
                ZoneInfo(name)
            except (OSError, ValueError, KeyError) as error:
                raise ValueError(f"no such time zone: {name}") from error
        return name

    @field_validator("tiers")
    @classmethod
    def auto_is_taken(cls, tiers: dict[str, Tier]) -> dict[str, Tier]:
        """`auto` names the choice itself."""
        if "auto" in tiers:
            raise ValueError(
                "`auto` is the name of the choice between tiers; name the tier otherwise"
            )
        return tiers

    def tier_provider(self, tier: Tier) -> str:
        """The name of the tier's provider."""
        return tier.provider or "openrouter"


def parse(text: str, path: Path) -> tuple[Settings, tuple[str, ...]]:
    """Settings and warnings from the text of models.json.

    Raises ConfigError with the line or the key at fault.
    """
    raw = read_object(text, path)
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(f"{path.name}: {_first_problem(error)}") from None
    return settings, tuple(_warnings(settings, path))


def schema_text() -> str:
    """The JSON Schema of models.json, as it is shipped for editors."""
    schema = Settings.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "workers-tui models.json"
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def read_object(text: str, path: Path) -> dict[str, Any]:
    """The JSON object in a settings file. Raises ConfigError with the line at fault."""
    try:
        raw = json.loads(text.removeprefix("\ufeff"), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path.name} line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path.name}: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path.name} must hold a JSON object, not a {type(raw).__name__}")
    return raw


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _first_problem(error: ValidationError) -> str:
    problems = error.errors()
    first = problems[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    message = first["msg"].removeprefix("Value error, ")
    return f"`{where}`: {message[:1].lower()}{message[1:]}{more}"


def _warnings(settings: Settings, path: Path) -> Iterator[str]:
    for place, part in _parts(settings):
        known = [field.alias or name for name, field in type(part).model_fields.items()]
        for key in part.model_extra or {}:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; `{near[0]}`?" if near else ""
            yield f"{path.name}: unknown key `{place}{key}` is kept and ignored{hint}"
    known_providers = {"openrouter", *settings.providers}
    for name, tier in settings.tiers.items():
        if settings.tier_provider(tier) not in known_providers:
            yield f"{path.name}: tier `{name}` names provider `{tier.provider}`, which is not there"


def _parts(settings: Settings) -> Iterator[tuple[str, Part]]:
    yield "", settings
    yield "agents.", settings.agents
    for group in ("tiers", "providers", "prices"):
        for name, part in getattr(settings, group).items():
            yield f"{group}.{name}.", part

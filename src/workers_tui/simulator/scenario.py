"""What the simulator answers, and how it misbehaves: frozen values, readable from JSON.

A scenario is a list of rules; the first live one that fits a request gives its
behaviour. A request may choose for itself: by a model name `any/model#fault` or
`sim/fault`, or by a directive `[[sim: fault=cut, first_delay=0.2]]` in its prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from workers_tui.simulator import scenario_checks as checks

DIRECTIVE = re.compile(r"\[\[sim:\s*([^\]]*)\]\]")

BEFORE_STREAM = frozenset(
    {
        "400", "401", "402", "403", "404", "408", "413", "429", "500", "502", "503", "504", "529",
        "unknown-model", "context-400", "moderation-403", "key-403", "free-429", "raw-429",
        "privacy-404", "capacity-429", "unavailable-503", "html-200", "html-502", "html-503",
        "error-200", "hang", "drop",
    }
)  # fmt: skip
"""Faults that show before any event: what each sends stands in `faults`."""

IN_STREAM = frozenset(
    {
        "cut", "cut-quiet", "error-midstream", "error-string-code", "error-no-choices",
        "error-first", "empty", "network-error", "length", "content-filter", "reasoning-only",
        "usage-twice", "usage-empty-delta", "no-usage", "no-done", "no-finish", "finish-blank",
        "cache-hit", "stall", "stall-comments",
    }
)  # fmt: skip
"""Faults that show while the answer streams."""

CHAT_ONLY = frozenset(
    {
        "content-filter", "reasoning-only", "usage-twice", "usage-empty-delta", "no-usage",
        "no-done", "finish-blank", "cache-hit",
    }
)  # fmt: skip
"""Faults that a Messages answer does not have: `content`, `stop_reason` and `usage_style` do."""

FAULTS = BEFORE_STREAM | IN_STREAM


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one request is answered."""

    text: str | None = None
    """The answer; None: something plausible for the task."""
    reasoning: str = ""
    """Thinking that comes before the answer."""
    content: tuple[Mapping[str, Any], ...] = ()
    """Messages only: blocks `{"text"}`, `{"thinking"}`, `{"tool", "input"}` instead of `text`."""
    fault: str = ""
    """One of FAULTS, or none."""
    message: str | None = None
    """Text of the error that a fault sends."""
    retry_after: str | None = None
    """Value of the Retry-After header: seconds or a date."""
    reset_ms: int | None = None
    """Value of X-RateLimit-Reset, Unix milliseconds."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of the answer."""
    first_delay: float = 0.0
    """Seconds before the first event."""
    header_delay: float = 0.0
    """Seconds before the status line."""
    tokens_per_second: float = 0.0
    """Speed of the answer; 0: as fast as the connection takes it."""
    chunk_chars: int = 12
    """Characters in one delta."""
    at: float = 0.5
    """Where in the answer an in-stream fault strikes, 0 to 1."""
    stall: float = 3600.0
    """Seconds of silence of the stall and hang faults."""
    line_end: str = "\n"
    """End of each SSE line: `\\n`, `\\r\\n` or `\\r`."""
    split: int = 0
    """Bytes per write; 0: one event at a time."""
    data_lines: bool = False
    """Spread each event's JSON over several `data:` lines."""
    raw_unicode: bool = True
    """Send text as UTF-8 (line separators included) instead of \\u escapes."""
    comments: int = 0
    """`: OPENROUTER PROCESSING` lines before the first event."""
    comment_every: int = 0
    """A comment after every so many events."""
    comment_blank: bool = True
    """Whether a blank line follows a comment."""
    finish: str = "stop"
    native_finish: str | None = None
    finish_with_content: bool = False
    """The last content chunk carries the finish reason."""
    prompt_tokens: int | None = None
    """None: counted from the request."""
    completion_tokens: int | None = None
    """None: counted from the answer."""
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int | None = None
    """None: counted from `reasoning`."""
    usage_style: str = "full"
    """Messages: `full`, `start-zero`, `output-only`, `start-only` or `none`."""
    cost: Decimal | None = None
    """USD; None: by the catalogue's price."""
    byok: bool = False
    """The account's own key was used: cost is 0 and the upstream cost is told beside."""
    served: str | None = None
    """The model that answers, when it is another one."""
    provider: str = "SimHost"
    generation_id: bool = True
    """Whether X-Generation-Id (Messages: request-id) is sent."""
    bill_whole: bool = False
    """A client that hangs up is billed for the whole answer."""
    bill_misses: int = 1
    """How often /generation says 404 before it knows the bill."""
    stop_reason: str | None = None
    """Messages: instead of end_turn or tool_use."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A behaviour and the requests it is for."""

    behaviour: Behaviour = Behaviour()
    when: Mapping[str, Any] = field(default_factory=dict)
    """Regular expressions over `user`, `tool_result`, `system`, `model`, `raw`; `tool`: a tool
    that is offered; `answers`: the tool whose result came; `tools`, `agent`, `stream`: true or
    false. All must hold; none: every request. What a named group catches can stand in the
    content as `<<name>>`."""
    times: int | None = None
    """How often it applies; None: always."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rules, what holds where no rule speaks, and the account's limits."""

    rules: tuple[Rule, ...] = ()
    default: Behaviour = Behaviour()
    keys: tuple[str, ...] = ()
    """Keys that are accepted; none: any."""
    need_key: bool = True
    count_tokens: str = "yes"
    """`yes`, `404` or `hang`."""
    limit: Decimal | None = None
    """The key's own limit in USD: beyond it requests get 402."""
    seed: int | None = None
    """Set: answers vary in speed and now and then fail, reproducibly (the demo)."""


def behaviour_of(raw: Mapping[str, Any], base: Behaviour = Behaviour()) -> Behaviour:
    """A behaviour from JSON or a directive; raises ValueError naming what it does not know."""
    kinds = {one.name: str(one.type) for one in fields(Behaviour)}
    given = checks.known("behaviour", raw, list(kinds))
    changes = {
        name: checks.fits(name, _typed(name, value), kinds[name]) for name, value in given.items()
    }
    chosen = replace(base, **changes)
    if chosen.fault and chosen.fault not in FAULTS:
        raise ValueError(f"unknown fault {chosen.fault!r}; known: {', '.join(sorted(FAULTS))}")
    return chosen


def _typed(name: str, value: Any) -> Any:
    if name == "cost" and value is not None:
        return checks.dollars(name, value)
    if name == "headers":
        if not isinstance(value, Mapping):
            raise ValueError(f"headers must be an object, not {value!r}")
        return tuple((str(key), str(one)) for key, one in value.items())
    if name == "content":
        return checks.blocks(value)
    return _from_text(name, value) if isinstance(value, str) else value


def _from_text(name: str, value: str) -> Any:
    default = getattr(Behaviour(), name)
    if isinstance(default, bool):
        return value.lower() in {"1", "true", "yes"}
    if isinstance(default, int | float):
        return type(default)(float(value))
    if name.endswith(("_tokens", "_ms")):
        return int(value)
    return value


def scenario_of(raw: Mapping[str, Any]) -> Scenario:
    """A scenario from parsed JSON. Raises ValueError."""
    said = dict(checks.known("setting", raw, [one.name for one in fields(Scenario)]))
    kinds = {one.name: str(one.type) for one in fields(Scenario)}
    default = behaviour_of(said.pop("default", {}))
    rules = tuple(_rule(one, default) for one in checks.listed("rules", said.pop("rules", ())))
    keys = tuple(map(str, checks.listed("keys", said.pop("keys", ()))))
    if said.get("limit") is not None:
        said["limit"] = checks.dollars("limit", said["limit"])
    rest = {name: checks.fits(name, value, kinds[name]) for name, value in said.items()}
    return Scenario(rules=rules, default=default, keys=keys, **rest)


def _rule(raw: Any, default: Behaviour) -> Rule:
    said = checks.known("rule", raw, [one.name for one in fields(Rule)])
    return Rule(
        behaviour_of(said.get("behaviour", {}), default),
        checks.conditions(said.get("when", {})),
        checks.fits("times", said.get("times"), "int | None"),
    )


def load_scenario(path: Path) -> Scenario:
    """A scenario from a file. Raises OSError and ValueError."""
    return scenario_of(json.loads(path.read_text(encoding="utf-8-sig")))


def directive(prompt: str, model: str, base: Behaviour) -> Behaviour | None:
    """What a request asks for itself by its model name or its prompt, or None."""
    raw: dict[str, Any] = {}
    name, mark, fault = model.partition("#")
    if mark:
        raw["fault"] = fault
    elif name.startswith("sim/") and name[4:] in FAULTS:
        raw["fault"] = name[4:]
    found = DIRECTIVE.findall(prompt)
    for part in found[-1].split(",") if found else ():
        key, equals, value = part.strip(" ").partition("=")
        raw[key if equals else "fault"] = value if equals else key
    return behaviour_of(raw, base) if raw else None


class Picker:
    """Finds the behaviour for a request and counts how often each rule spoke."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._used: dict[int, int] = {}

    def pick(self, seen: Mapping[str, Any]) -> Behaviour | None:
        """The behaviour of the first live rule that fits, or None."""
        for number, rule in enumerate(self.scenario.rules):
            if rule.times is not None and self._used.get(number, 0) >= rule.times:
                continue
            if all(_fits(name, want, seen) for name, want in rule.when.items()):
                self._used[number] = self._used.get(number, 0) + 1
                return _filled(rule, seen)
        return None


def _filled(rule: Rule, seen: Mapping[str, Any]) -> Behaviour:
    """The behaviour with what the rule's named groups caught put in for `<<name>>`."""
    caught: dict[str, str] = {}
    for name, want in rule.when.items():
        if isinstance(want, str) and isinstance(seen.get(name), str) and "(?P<" in want:
            found = re.search(want, seen[name], re.DOTALL)
            caught |= found.groupdict(default="") if found else {}
    if not caught:
        return rule.behaviour
    text = json.dumps(list(rule.behaviour.content))
    for name, value in caught.items():
        text = text.replace(f"<<{name}>>", json.dumps(value)[1:-1])
    return replace(rule.behaviour, content=tuple(json.loads(text)))


def _fits(name: str, want: Any, seen: Mapping[str, Any]) -> bool:
    value = seen.get(name)
    if name in {"tool", "answers"}:
        return isinstance(value, Sequence | set | frozenset) and want in value
    if isinstance(want, bool):
        return bool(value) == want
    return isinstance(value, str) and re.search(want, value, re.DOTALL) is not None

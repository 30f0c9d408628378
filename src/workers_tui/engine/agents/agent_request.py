"""What may be asked of an agent worker, and the rules it is held to.

Values and pure checks: arguments beyond the user's settings are refused here,
by name, before a job exists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from workers_tui.engine.errors import PolicyRefused, SandboxRefused, WrongUse
from workers_tui.engine.settings.model_name import is_model
from workers_tui.engine.settings.settings import AgentRules

DEFAULT_TOOLS = ("Read", "Glob", "Grep", "Edit", "Write")
"""What a worker has when nobody says otherwise: no Bash, no web, no workers of its own."""
KNOWN_TOOLS = frozenset(
    {*DEFAULT_TOOLS, "Task", "Bash", "NotebookEdit", "TodoWrite", "WebFetch", "WebSearch"}
)
MODES = ("plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions")
"""Permission modes, the strictest first."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One agent run as the asker put it (contract 4.5, `delegate_start`)."""

    prompt: str | None = None
    prompt_file: str | None = None
    """A file under the asker's roots that holds the prompt; one of both is given."""
    worker: str | None = None
    """Name of an identity; None: the settings' default, or the only one."""
    model: str | None = None
    small_model: str | None = None
    cwd: str | None = None
    """Where it works; None: the first root."""
    add_dirs: tuple[str, ...] = ()
    """Further directories it may read and write."""
    max_turns: int | None = None
    allowed_tools: tuple[str, ...] = ()
    """Tools beside the usual ones, or rules such as `Bash(git log:*)`."""
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: str | None = None
    append_system_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A further prompt for a session that has ended its turn (`delegate_followup`)."""

    target: str
    """Job id or session id."""
    prompt: str | None = None
    prompt_file: str | None = None
    permission_mode: str | None = None
    max_turns: int | None = None


def check_words(request: AgentRequest | FollowUp) -> None:
    """Raises WrongUse for texts that no program can be started with.

    A prompt takes another way, and what is meant by a target is looked up.
    """
    for one in fields(request):
        value = getattr(request, one.name)
        texts = [value] if isinstance(value, str) else value if isinstance(value, tuple) else []
        if one.name not in {"prompt", "target"} and not all(map(_can_be_passed, texts)):
            raise WrongUse(f"{one.name} holds a character that cannot be passed to a program")


def _can_be_passed(text: str) -> bool:
    return "\0" not in text and text.encode("utf-8", "replace").decode() == text


def tool_name(rule: str) -> str:
    """`Bash` of `Bash(git log:*)`. Raises WrongUse for what is not one rule of a known tool."""
    name, opened, inner = rule.partition("(")
    if name not in KNOWN_TOOLS:
        raise WrongUse(f"there is no tool {name!r}; there are: {', '.join(sorted(KNOWN_TOOLS))}")
    if opened and not _closes_at_end(inner):
        raise WrongUse(f"{rule!r} is not one rule such as Bash(git log:*)")
    return name


def _closes_at_end(inner: str) -> bool:
    """Whether the bracket closes with the last character: what follows would be another rule."""
    depth = 1
    for number, char in enumerate(inner, start=1):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return number == len(inner)
    return False


def tools_for(
    rules: AgentRules, allowed: Sequence[str] = (), disallowed: Sequence[str] = ()
) -> tuple[str, ...]:
    """The tools a worker gets. Raises PolicyRefused and WrongUse for what it may not have."""
    bound = frozenset(KNOWN_TOOLS if rules.tools is None else rules.tools)
    asked = [tool_name(rule) for rule in allowed]
    for name in asked:
        if name not in bound:
            raise PolicyRefused(
                f"tool {name} is not among `agents.tools` in models.json:"
                f" {', '.join(sorted(bound))}"
            )
    usual = DEFAULT_TOOLS if rules.tools is None else tuple(rules.tools)
    without = {name for rule in disallowed if (name := tool_name(rule)) == rule}
    return tuple(dict.fromkeys(name for name in (*usual, *asked) if name not in without))


def mode_for(rules: AgentRules, asked: str | None) -> str:
    """The permission mode. Raises PolicyRefused when it is more than the settings allow."""
    mode = asked or rules.permission_mode
    if mode not in MODES:
        raise WrongUse(f"there is no permission mode {mode!r}; there are: {', '.join(MODES)}")
    if asked and MODES.index(mode) > _rank(rules.max_permission_mode):
        raise PolicyRefused(
            f"permission mode {mode} goes beyond `agents.max_permission_mode`"
            f" ({rules.max_permission_mode}) in models.json"
        )
    return mode


def _rank(mode: str) -> int:
    return MODES.index(mode) if mode in MODES else 0


def turns_for(rules: AgentRules, asked: int | None) -> int:
    """The most turns. Raises PolicyRefused and WrongUse."""
    if asked is None:
        return rules.max_turns
    if asked < 1:
        raise WrongUse("max_turns must be at least 1")
    if asked > rules.max_turns:
        raise PolicyRefused(
            f"max_turns {asked} goes beyond `agents.max_turns` ({rules.max_turns}) in models.json"
        )
    return asked


def check_model(rules: AgentRules, model: str) -> str:
    """The model itself. Raises PolicyRefused naming the allowed ones, and WrongUse."""
    if not is_model(model):
        raise WrongUse(f"{one_line(repr(model), 40)} is no name of a model")
    if rules.allowed_models and model not in rules.allowed_models:
        raise PolicyRefused(
            f"model {model} is not among `agents.allowed_models`: {', '.join(rules.allowed_models)}"
        )
    return model


def directory_for(asked: str | None, roots: Sequence[Path], name: str = "cwd") -> Path:
    """A directory under one of the roots, resolved. Raises SandboxRefused and WrongUse."""
    if not roots:
        raise SandboxRefused("no directory may be used: the client named no roots")
    path = Path(asked) if asked else roots[0]
    try:
        path = roots[0] / path.expanduser()
        real = path.resolve()
        there = real.is_dir()
    except (OSError, RuntimeError) as wrong:  # too long, a loop of links, nobody's home
        raise WrongUse(f"{name} {one_line(str(path), 200)} cannot be used: {wrong}") from None
    if not any(real == root or root in real.parents for root in (r.resolve() for r in roots)):
        raise SandboxRefused(f"{name} {path} lies outside the roots: {', '.join(map(str, roots))}")
    if not there:
        raise WrongUse(f"{name} {path} is not a directory")
    return real


def one_line(text: str, limit: int = 120) -> str:
    """The text on one line, cut."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"

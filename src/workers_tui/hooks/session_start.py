"""SessionStart: the delegation rules for the model, the all-time savings line for the user."""

from __future__ import annotations

import os

from workers_tui.home.switches import savings_shown
from workers_tui.hooks.registration import OWN_PREFIX, PLUGIN_PREFIX, tool_prefix
from workers_tui.hooks.state import State, is_session_id

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

USE_LIMIT = 80
"""Characters of a tier's use that the model gets to see."""

INTRODUCTION = (
    "How work is split in this session. You plan, decide, review and answer; before each task, "
    "split off what others can do for less:"
)
CALLS = (
    "- Workers ({prefix}delegate; several tasks at once: {prefix}delegate_batch): bulk reading, "
    "summaries, extraction, first drafts, tests, boilerplate, translations, second opinions. "
    "Name paths in `files` and do not read them first: the content never enters your context."
)
AGENTS = (
    "- Agent workers ({prefix}delegate_start): longer jobs with file tools in a directory. They "
    "have the user's file rights."
)
SUBAGENTS = (
    "- Sonnet subagents: work that needs this session's tools or several steps of judgement.\n"
    "- Haiku subagents: mechanical work with this session's tools, such as searches and renames.\n"
    "- You: architecture, unclear requirements, security, the last review. Check what comes back "
    "before you rely on it; a worker can be wrong."
)
SKILL = "Load the skill workers:delegating before the first dispatch."


def session_start(given: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Context for the model; silent only when delegation is off."""
    state = State(environ)
    if state.mode == "off":
        return None
    prefix = tool_prefix(str(given.get("cwd") or os.getcwd()), environ)
    session = str(given.get("session_id")) if is_session_id(given.get("session_id")) else ""
    text = _on_demand(state, prefix) if state.mode == "ondemand" else _auto(state, prefix, session)
    answer: dict[str, Any] = {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
    }
    line = state.notices().get("all_time")
    if isinstance(line, str) and line and savings_shown(environ):
        answer["systemMessage"] = line
    return answer


def _on_demand(state: State, prefix: str) -> str:
    if not prefix or not state.delegable:
        return (
            "Delegation to worker models is on demand, but no worker is set up yet. "
            "Do not delegate; if the user asks to, say: run `workers-tui doctor`."
        )
    return (
        f"Cheap worker models can be reached with {prefix}delegate. Delegation is on demand: use "
        f"them only when the user asks for it. {_at_hand(state)}"
    )


def _auto(state: State, prefix: str, session: str) -> str:
    workers = bool(prefix) and state.delegable and not state.cap_reached
    parts = [
        INTRODUCTION,
        CALLS.format(prefix=prefix) if workers and (state.tiers or not state.workers) else "",
        AGENTS.format(prefix=prefix) if workers and state.workers else "",
        SUBAGENTS,
        _at_hand(state) if workers else _why_none(state, prefix),
        _opting_out(session),
        SKILL if workers and prefix == PLUGIN_PREFIX else "",
    ]
    return "\n".join(part for part in parts if part)


def _at_hand(state: State) -> str:
    tiers = "; ".join(f"{name}: {use[:USE_LIMIT]}" if use else name for name, use in state.tiers)
    said = f"Tiers: {tiers}." if tiers else ""
    agents = f"Agent workers: {', '.join(state.workers)}." if state.workers else ""
    return " ".join(part for part in (said, agents) if part)


def _why_none(state: State, prefix: str) -> str:
    if prefix and state.cap_reached:
        return "The day's cap for workers is reached: use subagents only until it resets."
    hint = "" if prefix in {OWN_PREFIX, PLUGIN_PREFIX} else " (`workers-tui connect` registers one)"
    return f"No worker is set up{hint}: use subagents only."


def _opting_out(session: str) -> str:
    rule = (
        'When the user says not to delegate ("don\'t delegate", "do it yourself", in any '
        "language), that holds for the rest of the session, subagents included"
    )
    command = _program()
    if not session or not command:
        return rule + "."
    return f"{rule}; then run once: {command} hook opt-out {session}"


def _program() -> str:
    """`workers-tui` where the shell finds it, else nothing."""
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        if directory and os.access(os.path.join(directory, "workers-tui"), os.X_OK):
            return "workers-tui"
    return ""

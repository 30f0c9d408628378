"""The two switches of the environment: delegation mode and savings lines."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing and collections cost a hook 5 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OFF_WORDS = frozenset({"0", "false", "no", "off", "disabled"})
STRICTEST_FIRST = ("off", "ondemand", "auto")


def delegation_mode(
    settings: Iterable[str | None] = (), environ: Mapping[str, str] = os.environ
) -> str:
    """off, ondemand or auto: the strictest of the settings given and the environment's."""
    said = [
        *settings,
        environ.get("WORKERS_DELEGATION"),
        environ.get("MODEL_ORCHESTRATION_DELEGATION"),
    ]
    modes = {_mode(value) for value in said if value}
    return next((mode for mode in STRICTEST_FIRST if mode in modes), "auto")


def _mode(value: str) -> str:
    word = value.strip().lower()
    if word in OFF_WORDS:
        return "off"
    return "ondemand" if word in {"ondemand", "on-demand", "on_demand"} else "auto"


def savings_shown(environ: Mapping[str, str] = os.environ) -> bool:
    """False when the user silenced every savings line."""
    said = (environ.get("WORKERS_SAVINGS"), environ.get("MODEL_ORCHESTRATION_SAVINGS"))
    return not any(value and value.strip().lower() in OFF_WORDS for value in said)

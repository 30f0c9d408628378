"""Checks a call's arguments against the tool's short schema, and says what is wrong in words."""

from __future__ import annotations

from typing import Any

from workers_tui.engine.errors import WrongUse

KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "array": list,
    "object": dict,
}
ARTICLES = {
    "string": "a text",
    "integer": "a whole number",
    "array": "a list",
    "object": "an object",
}


def check(schema: dict[str, Any], value: Any, where: str = "") -> None:
    """Raise WrongUse when the value does not fit. Only what our schemas use is known here."""
    kind: str = schema["type"]
    if not isinstance(value, KINDS[kind]) or isinstance(value, bool):
        raise WrongUse(f"{where or 'arguments'} must be {ARTICLES[kind]}")
    if isinstance(value, dict):
        _check_object(schema, value, where)
    elif isinstance(value, list):
        _check_array(schema, value, where)
    elif isinstance(value, int):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            raise WrongUse(f"{where} must be between {low} and {high}, not {value}")
    elif "enum" in schema and value not in schema["enum"]:
        raise WrongUse(f"{where} must be one of {', '.join(schema['enum'])}")


def _check_object(schema: dict[str, Any], value: dict[str, Any], where: str) -> None:
    known = schema["properties"]
    unknown = [str(name) for name in value if name not in known]
    if unknown:
        allowed = ", ".join(known) or "none"
        raise WrongUse(f"unknown argument {_name(where, unknown[0])}; there are: {allowed}")
    for name in schema.get("required", ()):
        if name not in value:
            raise WrongUse(f"{_name(where, name)} is missing")
    for name, part in value.items():
        check(known[name], part, _name(where, name))


def _check_array(schema: dict[str, Any], value: list[Any], where: str) -> None:
    low, high = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not low <= len(value) <= high:
        raise WrongUse(f"{where} takes {low} to {high} entries, not {len(value)}")
    for number, part in enumerate(value):
        check(schema["items"], part, f"{where}[{number}]")


def _name(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name

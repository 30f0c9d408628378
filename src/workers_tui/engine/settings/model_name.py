"""What can be the name of a model. Names come from models.json and from providers' answers."""

from __future__ import annotations

LONGEST = 200


def is_model(name: str) -> bool:
    """Whether this can be the name of a model: it stands on command lines and screens."""
    return name.isprintable() and len(name) <= LONGEST and not name.startswith("-")

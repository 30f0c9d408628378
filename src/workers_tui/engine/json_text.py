"""Changes a JSON file's text as a careful person would: only what has to change.

Key order, indent and unknown keys stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any


def change_json(text: str, change: Callable[[dict[str, Any]], None]) -> str:
    """The text with `change` applied to its object."""
    value = json.loads(text)
    change(value)
    found = re.search(r"\n([ \t]+)\S", text)
    indent = found.group(1) if found else None
    end = "\n" if text.endswith("\n") else ""
    return json.dumps(value, ensure_ascii=False, indent=indent) + end

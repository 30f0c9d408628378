"""`hook headers`: the token for a Claude Code registered over HTTP, out of its own files."""

from __future__ import annotations

import os

from workers_tui.home.where import state_dir

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping


def headers(environ: Mapping[str, str]) -> bytes:
    """The Authorization header as JSON; an empty object when no server ever ran."""
    try:
        with open(os.path.join(state_dir(environ), "token"), "rb") as file:
            token = file.read(256).strip().decode("ascii")
    except (OSError, UnicodeDecodeError):
        return b"{}\n"
    plain = token.replace("-", "").replace("_", "").isalnum()
    return f'{{"Authorization": "Bearer {token}"}}\n'.encode() if plain else b"{}\n"

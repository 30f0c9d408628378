"""Which directories a client's files may come from. Nothing is ever guessed.

The forwarder's project, else what the client answers to roots/list, else the
server's --project, else none. The file system's root and the home directory
never come in by themselves; WORKERS_ALLOWED_ROOTS may name them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from workers_tui.engine.errors import SandboxRefused
from workers_tui.forwarder.told import Told, split_roots

HOW = (
    "no directory is known for this client, so no file can be read or written: connect it with "
    "`workers-tui connect`, start the server with --project, or set WORKERS_ALLOWED_ROOTS"
)


def implicit(path: Path) -> Path | None:
    """The directory, if it may be a root without having been named on purpose."""
    try:
        if not path.is_absolute() or not path.is_dir():
            return None
        real = path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None  # it may not be looked at, or no system could have such a name
    return None if real in {Path(real.anchor), Path.home().resolve()} else path


def from_uris(uris: Iterable[str]) -> tuple[Path, ...]:
    """The usable directories among the `file:` URIs of a roots/list answer."""
    paths = (_path_in(uri) for uri in uris)
    return tuple(root for path in paths if path is not None and (root := implicit(path)))


def _path_in(uri: str) -> Path | None:
    """The path of a `file:` URI of this machine."""
    try:
        place = urlsplit(uri)
    except ValueError:
        return None
    if place.scheme == "file" and place.netloc in {"", "localhost"}:
        return Path(unquote(place.path))
    return None


def choose(
    told: Told,
    listed: tuple[Path, ...],
    project: Path | None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Path, ...]:
    """A client's roots, base first; empty when nothing is known.

    A forwarded client's extra roots are its own; the server's environment
    counts only for clients that connect directly.
    """
    base: tuple[Path, ...] = ()
    if told.project is not None:
        root = implicit(told.project)
        base = (root,) if root else ()
    base = base or listed or ((project,) if project else ())
    extra = told.allowed_roots
    if not told.forwarder:
        extra = split_roots(environ.get("WORKERS_ALLOWED_ROOTS", ""))
    return tuple(dict.fromkeys([*base, *(root for root in extra if root.is_absolute())]))


def required(roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """The roots, or SandboxRefused saying how to name one."""
    if not roots:
        raise SandboxRefused(HOW)
    return roots

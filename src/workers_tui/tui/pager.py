"""Shows a long text in the user's own pager while the dashboard steps aside.

Only the screen steps aside: jobs and clients go on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from workers_tui.tui import safe

if TYPE_CHECKING:
    from workers_tui.tui.shell import Shell

DEFAULT = "less"


def command(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The pager and its arguments."""
    try:
        words = shlex.split(environ.get("PAGER", ""))
    except ValueError:
        words = []
    return words or [DEFAULT]


async def show(app: Shell, text: str) -> str:
    """Open the pager on the text; return what went wrong, in words, or nothing.

    The text is made safe first: a pager may pass control sequences on.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(safe.clean(text) + "\n")
        file.flush()
        try:
            with app.suspend(), _lent(app):
                wrong = await _run(*command(), file.name)
        except SuspendNotSupported:
            return "This terminal cannot step aside for a pager."
    app.action_redraw()  # what changed meanwhile was not drawn
    return wrong


async def _run(*words: str) -> str:
    """What went wrong; an error must not leave `suspend`, which would never take over again."""
    try:
        process = await asyncio.create_subprocess_exec(*words)
    except OSError as error:
        return f"The pager cannot start: {error.strerror} ({words[0]}). Set PAGER."
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
    return ""


@contextlib.contextmanager
def _lent(app: Shell) -> Iterator[None]:
    """Keys that send signals are the pager's: they reach everybody on the terminal."""
    before = signal.signal(signal.SIGQUIT, lambda *_: None)
    if app.terminal is not None:
        app.terminal.lent = True
    try:
        yield
    finally:
        if app.terminal is not None:
            app.terminal.lent = False
        signal.signal(signal.SIGQUIT, before)

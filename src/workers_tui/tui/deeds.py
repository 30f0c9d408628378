"""What a key sets going, and how long it lasts.

A deed goes on although its screen is left: who presses `r` and `escape` wants
the job. What only looks something up ends with the screen (`LastLine.look_up`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.app import App
from textual.dom import DOMNode

from workers_tui.engine.errors import WorkersError
from workers_tui.tui.key_queue import KeyQueue, keys_of

if TYPE_CHECKING:
    from workers_tui.tui.shell import Shell

Node = TypeVar("Node", bound=DOMNode)
Deed = Callable[[Node], Coroutine[Any, Any, None]]


def does(deed: Deed[Node]) -> Callable[[Node], None]:
    """Make an action of a deed; several may be under way."""

    @wraps(deed)
    def begin(self: Node) -> None:
        self.app.run_worker(_do(self.app, deed(self)), group="deeds")

    return begin


def asks(deed: Deed[Node]) -> Callable[[Node], None]:
    """Make an action of a deed that asks the user for something on its way.

    What is typed from the first moment on waits for the question.
    """

    @wraps(deed)
    def begin(self: Node) -> None:
        keys = keys_of(self)
        self.app.run_worker(_ask(keys, keys.begin(), _do(self.app, deed(self))), group="deeds")

    return begin


async def _do(app: App[Any], deed: Coroutine[Any, Any, None]) -> None:
    """What refuses a deed is told, and never the end of the program."""
    try:
        await deed
    except WorkersError as error:
        cast("Shell", app).tell(str(error), "error")


async def _ask(keys: KeyQueue, number: int, deed: Coroutine[Any, Any, None]) -> None:
    try:
        await deed
    finally:
        keys.end(number)

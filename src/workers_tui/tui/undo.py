"""Changes of the settings that can be taken back, newest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

KEPT = 50

Deed = Callable[[], Awaitable[object]]


class Undo:
    """What to do, and to say, to take each change back."""

    def __init__(self) -> None:
        self._deeds: deque[tuple[str, Deed]] = deque(maxlen=KEPT)

    def push(self, said: str, deed: Deed) -> None:
        """Remember how to take a change back."""
        self._deeds.append((said, deed))

    async def pop(self) -> str:
        """Take the newest change back and say how things are now.

        Raises what the deed raises; the change can then be taken back later.
        """
        if not self._deeds:
            return "There is nothing to undo."
        said, deed = self._deeds[-1]
        await deed()
        self._deeds.pop()
        return f"Undone: {said}."

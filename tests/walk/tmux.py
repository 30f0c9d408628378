"""A program in a tmux window: send keys, wait for text, capture what is on the screen."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence

LOOK_EVERY = 0.1


class NeverCame(AssertionError):
    """The screen never showed what was expected; its text is in the message."""


class Window:
    """One tmux session of a fixed size."""

    def __init__(
        self,
        command: Sequence[str],
        size: tuple[int, int],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        if shutil.which("tmux") is None:
            raise FileNotFoundError("tmux is not installed")
        self.size = size
        # A server of its own: one that is just ending takes no new session.
        self._name = f"workers-tui-walk-{size[0]}x{size[1]}-{time.monotonic_ns()}"
        settings = {"TERM": "tmux-256color", "COLORTERM": "truecolor"} | dict(environ or {})
        words = [f"{name}={value}" for name, value in settings.items()]
        self._tmux(
            "new-session", "-d", "-s", self._name, "-x", str(size[0]), "-y", str(size[1]),
            "env", *words, *command,
        )  # fmt: skip
        self._tmux("set-option", "-t", self._name, "status", "off")
        self._tmux("set-option", "-g", "escape-time", "0")

    def press(self, *keys: str) -> None:
        """Send keys by tmux's names, one after the other."""
        for key in keys:
            self._tmux("send-keys", "-t", self._name, key)
            time.sleep(0.08)

    def type(self, text: str) -> None:
        """Send text as it is."""
        self._tmux("send-keys", "-t", self._name, "-l", text)

    def text(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-t", self._name, "-p")

    def coloured(self) -> str:
        """The same with its colours."""
        return self._tmux("capture-pane", "-t", self._name, "-e", "-N", "-p")

    def wait_for(self, pattern: str, timeout: float = 15.0) -> str:
        """The screen's text once it matches. Raises NeverCame."""
        return self._wait(pattern, timeout, wanted=True)

    def wait_gone(self, pattern: str, timeout: float = 15.0) -> str:
        """The screen's text once it does not match any more. Raises NeverCame."""
        return self._wait(pattern, timeout, wanted=False)

    def _wait(self, pattern: str, timeout: float, *, wanted: bool) -> str:
        end, seen = time.monotonic() + timeout, ""
        while time.monotonic() < end:
            seen = self.text()
            if bool(re.search(pattern, seen)) is wanted:
                return seen
            time.sleep(LOOK_EVERY)
        what = "never came" if wanted else "never went"
        raise NeverCame(f"{pattern!r} {what} at {self.size}:\n{seen}")

    @property
    def alive(self) -> bool:
        """Whether the program still runs."""
        command = ["tmux", "-L", self._name, "has-session", "-t", self._name]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def close(self) -> None:
        """End it."""
        if self.alive:
            self._tmux("kill-session", "-t", self._name)

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self._name, "-f", "/dev/null", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

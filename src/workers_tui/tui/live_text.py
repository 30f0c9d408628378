"""Which part of a job's text is on the screen, so that only what is new is added."""

from __future__ import annotations

OVERLAP = 200
"""Characters compared to find where a moved tail continues."""


class LiveText:
    """The text of the job in view, as far as it was shown."""

    def __init__(self) -> None:
        self.job: str | None = None
        self.text = ""

    def leave(self) -> None:
        """Another job comes into view."""
        self.job, self.text = None, ""

    def enter(self, job: str, text: str) -> str | None:
        """Take the newest text; return what was added, None when it must be shown anew."""
        before, self.text = self.text, text
        known, self.job = self.job == job, job
        if not known or not before:
            return None
        if text.startswith(before):
            return text[len(before) :]
        # A bounded tail moved on: it continues behind the end of what was shown.
        at = text.rfind(before[-OVERLAP:])
        return text[at + len(before[-OVERLAP:]) :] if at >= 0 else None

"""The directory under which Claude Code keeps a project's own settings: its main checkout.

Hooks import this, so it stays as light as can be.
"""

from __future__ import annotations

import os

WORKTREES = f"{os.sep}.git{os.sep}worktrees{os.sep}"


def main_checkout(directory: str) -> str:
    """The repository's top, of a worktree the main one's; outside a repository the directory."""
    real = os.path.realpath(directory)
    here = real
    while True:
        mark = os.path.join(here, ".git")  # noqa: PTH118 - pathlib costs a hook 5 ms
        if os.path.isdir(mark):  # noqa: PTH112
            return here
        if os.path.isfile(mark):  # noqa: PTH113
            return _of_worktree(mark) or here
        above = os.path.dirname(here)  # noqa: PTH120
        if above == here:
            return real
        here = above


def _of_worktree(mark: str) -> str:
    """The main checkout that a worktree's `.git` file points to; empty for a submodule's."""
    try:
        with open(mark, "rb") as file:  # noqa: PTH123
            said = os.fsdecode(file.read(4096))
    except OSError:
        return ""
    top, found, _ = said.removeprefix("gitdir:").strip().partition(WORKTREES)
    return top if found else ""

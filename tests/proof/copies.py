"""Copies of the project in which a line may be changed: own sources, interpreter, same packages.

Tests start programs with `sys.executable`; a copy's interpreter finds the copy's
sources, so these programs run the changed line, too.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PARTS = ("src", "tests", "styles", "models.json", "pyproject.toml", "docs", "README.md")
CACHE = ".cache"
"""Programs that peers' tests start; borrowed, not copied."""


class Copy:
    """One copy of the working tree."""

    def __init__(self, place: Path, project: Path = PROJECT) -> None:
        self.place = place
        self.python = place / "venv" / "bin" / "python"
        place.mkdir(parents=True)
        for part in PARTS:
            _copy(project / part, place / part)
        if (project / CACHE).exists():
            (place / CACHE).symlink_to(project / CACHE)
        self._make_interpreter()

    def _make_interpreter(self) -> None:
        """A virtual environment whose one package path is the copy, then the project's own."""
        self.python.parent.mkdir(parents=True)
        self.python.symlink_to(Path(sys.executable).resolve())
        home = Path(sys.executable).resolve().parent
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        (self.place / "venv" / "pyvenv.cfg").write_text(f"home = {home}\nversion = {version}\n")
        packages = self.place / "venv" / "lib" / f"python{version}" / "site-packages"
        packages.mkdir(parents=True)
        # The project's own .pth files, which name its sources, are not read from there.
        theirs = sysconfig.get_path("purelib")
        (packages / "copy.pth").write_text(f"{self.place / 'src'}\n{theirs}\n")

    def remove(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", ".hypothesis", "__snapshots__")
        shutil.copytree(source, target, ignore=ignored)
    elif source.exists():
        shutil.copy2(source, target)


def environment() -> dict[str, str]:
    """For pytest in a copy: nothing of the caller's that could lead back to the project."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {**found, "PYTHONDONTWRITEBYTECODE": "1"}

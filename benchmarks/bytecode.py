"""Lets the programs that a benchmark starts keep their bytecode, as installed ones do.

With PYTHONDONTWRITEBYTECODE set, as build machines like it, every start would
compile every module that changed since, and the figure would be the compiler's.
"""

from __future__ import annotations

import os


def kept() -> None:
    """Forget the variable: nothing that is started from here inherits it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

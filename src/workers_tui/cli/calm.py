"""Keeps Python's collector of cycles from holding the loop up in a program that runs for long."""

from __future__ import annotations

import gc

CALM = (5_000, 20, 20)
"""Thresholds of the collector, above Python's own."""


def settle_memory() -> None:
    """Everything is loaded: what is there now stays, so the collector need not look at it again.

    A full collection over all of Textual and the SDK holds the loop up for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*CALM)

"""Asks the price table in a process of its own, for a program that lives long.

The table would stay in memory for good (7 MiB), to answer once a day for a few models.
Standard input and output are JSON: `[[model, day]]` in, `[[model, day, price or null]]` out.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Collection

from workers_tui.engine.pricing.manager_prices import (
    ModelDay,
    ask_table,
    price_as_text,
    price_from_text,
)
from workers_tui.engine.pricing.price import Price

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds; it takes less than one."""


def ask_apart(wanted: Collection[ModelDay]) -> dict[ModelDay, Price | None]:
    """What the installed price table says; asked in this process when no other can be started."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(list(wanted)).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        rows = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        log.info("the price table is asked in this process: %s", error)
        return ask_table(wanted)
    return {(model, day): price_from_text(text) for model, day, text in rows}


def main() -> None:
    """Answer one question."""
    wanted = [(str(model), int(day)) for model, day in json.load(sys.stdin)]
    found = ask_table(wanted)
    rows = [(model, day, price_as_text(price)) for (model, day), price in found.items()]
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()

"""The dashboard on the stand-in engine in this terminal: `python -m tests.tui.look HOME`.

`--crash` lets it fail by an error of its own, `--noise` writes where nothing may be written.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

from tests.tui.fakes import FakeEngine, fill

from workers_tui.cli.common import log_to_file
from workers_tui.cli.dashboard import run_dashboard
from workers_tui.engine.jobs.job import CallRequest, Job, Origin
from workers_tui.home.files import prepare
from workers_tui.home.places import Home, find_home
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.driver import Terminal


class Witness(FakeEngine):
    """An engine that leaves notes: what it was asked, and that it was closed."""

    async def delegate(self, request: CallRequest, origin: Origin) -> Job:
        with (self.home.state / "tasks").open("a", encoding="utf-8") as notes:
            notes.write(request.task + "\n")
        return await super().delegate(request, origin)

    async def close(self) -> None:
        await super().close()
        (self.home.state / "engine").write_text("closed", encoding="utf-8")


def main(home: Home, flags: list[str]) -> int:
    """Run until the user quits."""
    prepare(home)
    log_to_file(home)

    async def start() -> Witness:
        engine = Witness(home)
        fill(engine)
        if "--noise" in flags:
            logging.getLogger("uvicorn").error("NOISE from a logger")
            warnings.warn("NOISE from warnings", stacklevel=1)
            print("NOISE on stdout")
            print("NOISE on stderr", file=sys.stderr)
        if "--crash" in flags:
            app.set_timer(0.2, lambda: 1 // 0)
        return engine

    app = DashboardApp(home, start, demo=True, driver_class=Terminal)  # type: ignore[arg-type]
    return run_dashboard(app)


if __name__ == "__main__":
    sys.exit(main(find_home(flat=Path(sys.argv[1])), sys.argv[2:]))

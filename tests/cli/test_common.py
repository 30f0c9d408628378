"""What commands share: the log is for later, the terminal for the user."""

from __future__ import annotations

import subprocess
import sys

from workers_tui.home.places import Home

LATER = """
import logging, sys
from pathlib import Path
from workers_tui.cli.common import log_to_file
from workers_tui.home.places import find_home
home = find_home({"WORKERS_HOME": sys.argv[1]})
log_to_file(home)
logging.warning("lost")
home.log.rmdir()
logging.warning("kept")
"""


def test_a_log_that_cannot_be_written_for_a_while_is_silent_and_goes_on_later(home: Home) -> None:
    home.log.mkdir(parents=True)  # nothing can be written there
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(home.state)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert [line.split()[-1] for line in home.log.read_text().splitlines()] == ["kept"]

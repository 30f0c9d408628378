"""Prints the torture's table under its last line."""

from __future__ import annotations

import pytest
from tests.torture import table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was tried, held and lost."""
    if table.ROWS:
        terminalreporter.section("torture")
        for line in table.lines():
            terminalreporter.write_line(line)

"""notices.json is written whole and read forgivingly."""

from pathlib import Path

import pytest

from workers_tui.home.notices import Notices, read_notices, write_notices
from workers_tui.home.places import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, tmp_path)


def test_what_was_written_is_read(home: Home) -> None:
    notices = Notices("all time: 12 % é", {"s1": "this session: 22 %"})
    write_notices(home, notices)
    assert read_notices(home) == notices
    assert read_notices(home).line("s1") == "this session: 22 %"
    assert home.notices_json.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", [None, "", "[]", '{"all_time": 3, "sessions": {"a": 1}}', "{"])
def test_what_makes_no_sense_is_nothing(home: Home, text: str | None) -> None:
    if text is not None:
        home.notices_json.write_text(text)
    assert read_notices(home) == Notices()
    assert read_notices(home).line(None) == ""

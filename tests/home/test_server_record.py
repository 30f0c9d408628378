"""Who serves, and with which token."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from workers_tui.home.places import Home
from workers_tui.home.server_record import (
    ServerRecord,
    ensure_token,
    read_record,
    read_token,
    remove_record,
    rotate_token,
    write_record,
)

RECORD = ServerRecord("http://127.0.0.1:4747/mcp", 123, "0.1.0")


def test_a_record_comes_back_as_written(home: Home) -> None:
    write_record(home, RECORD)
    assert read_record(home) == RECORD


def test_a_record_of_another_process_stays(home: Home) -> None:
    write_record(home, RECORD)
    remove_record(home, 999)
    assert read_record(home) == RECORD
    remove_record(home, 123)
    assert read_record(home) is None


def test_a_senseless_record_counts_as_none(home: Home) -> None:
    home.server_json.write_text('{"url": 5, "pid": "x"}')
    assert read_record(home) is None


def test_the_token_is_made_once_also_by_racing_threads(home: Home) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: ensure_token(home), range(20)))
    assert tokens == {read_token(home)}
    assert stat.S_IMODE(home.token.stat().st_mode) == 0o600


@pytest.mark.parametrize("left", ["", "\n", "\xff\xfe"])
def test_a_token_file_that_holds_none_is_made_anew(home: Home, left: str) -> None:
    home.token.write_bytes(left.encode("latin-1"))
    token = ensure_token(home)
    assert token == ensure_token(home) == read_token(home)
    assert stat.S_IMODE(home.token.stat().st_mode) == 0o600


def test_rotating_gives_another_token(home: Home) -> None:
    old = ensure_token(home)
    assert rotate_token(home) != old
    assert read_token(home) != old


def test_a_token_that_cannot_be_written_leaves_no_litter(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int, *__: object, **___: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("workers_tui.home.server_record.os.fdopen", full)
    with pytest.raises(OSError, match="No space left"):
        ensure_token(home)
    assert not list(home.token.parent.glob(".token.*"))

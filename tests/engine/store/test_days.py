"""Which day a call belongs to: zones, summer time, clocks that are wrong."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.store.days import day_start, find_zone, hour_of, local_zone_name, today

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu"]


def test_today_is_the_clock_s_day_in_the_zone() -> None:
    found = today(datetime(2026, 11, 29, 23, 30, tzinfo=UTC), BERLIN, None, None)
    assert found.day == date(2026, 11, 30)
    assert found.resets_at == datetime(2026, 11, 30, 23, 0, tzinfo=UTC)


def test_a_booked_day_is_not_left_again() -> None:
    now, newest = datetime(2026, 11, 28, 12, tzinfo=UTC), date(2026, 11, 29)
    assert today(now, BERLIN, newest, newest).day == newest


def test_a_day_more_than_one_ahead_only_warns() -> None:
    now, newest = datetime(2026, 11, 27, 12, tzinfo=UTC), date(2026, 11, 29)
    found = today(now, BERLIN, None, newest)
    assert found.day == date(2026, 11, 27)
    assert "2026-11-29" in found.warning


@pytest.mark.parametrize(("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25)])
def test_days_of_summer_time_changes_have_their_own_length(
    day: tuple[int, int, int], hours: int
) -> None:
    start = day_start(date(*day), BERLIN)
    assert day_start(date(*day) + timedelta(days=1), BERLIN) - start == timedelta(hours=hours)


@given(
    now=st.integers(0, 3_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    ahead=st.none() | st.integers(-400, 400),
)
def test_today_is_never_behind_the_clock_nor_more_than_a_day_ahead(
    now: datetime, zone: ZoneInfo, ahead: int | None
) -> None:
    clock_day = now.astimezone(zone).date()
    newest = None if ahead is None else clock_day + timedelta(days=ahead)
    found = today(now, zone, newest, newest)
    assert clock_day <= found.day <= clock_day + timedelta(days=1)
    assert found.resets_at > now
    assert bool(found.warning) == (ahead is not None and ahead > 1)


def test_hours_are_local_and_stay_within_the_day() -> None:
    day = date(2026, 11, 29)
    assert hour_of(datetime(2026, 11, 29, 12, tzinfo=UTC), day, BERLIN) == 13
    assert hour_of(datetime(2026, 11, 30, 12, tzinfo=UTC), day, BERLIN) == 23
    assert hour_of(datetime(2026, 11, 28, 12, tzinfo=UTC), day, BERLIN) == 0


@pytest.mark.parametrize("name", [None, "", "Mars/Olympus", "../../etc/passwd", "/etc/passwd"])
def test_a_name_that_is_no_zone_is_none(name: str | None) -> None:
    assert find_zone(name) is None


def test_the_machine_s_zone_has_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    assert local_zone_name() == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "nonsense")
    place = tmp_path / "zoneinfo" / "America" / "Lima"
    place.parent.mkdir(parents=True)
    place.touch()
    (tmp_path / "localtime").symlink_to(place)
    monkeypatch.setattr("workers_tui.engine.store.days.LOCALTIME", tmp_path / "localtime")
    assert local_zone_name() == "America/Lima"
    monkeypatch.setattr("workers_tui.engine.store.days.LOCALTIME", tmp_path / "none")
    assert local_zone_name() == "UTC"

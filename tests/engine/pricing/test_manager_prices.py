"""Prices of the manager's models: who says them, and that they are kept."""

from __future__ import annotations

import sqlite3
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from workers_tui.engine.pricing.manager_prices import (
    DEAREST,
    ManagerPrices,
    ask_table,
    forget_prices,
    own_prices,
    price_as_text,
)
from workers_tui.engine.pricing.price_asking import ask_apart
from workers_tui.engine.settings.settings import MOST_USD
from workers_tui.engine.transcripts.index import MIGRATIONS

DAY = date(2026, 6, 10).toordinal()
OLD = date(2026, 2, 10).toordinal()
TODAY = date(2026, 6, 11)


@pytest.fixture
def conn() -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    conn.executescript(MIGRATIONS[0])
    return conn


def test_what_the_table_said_is_kept_and_so_is_its_silence(conn: sqlite3.Connection) -> None:
    wanted = {("claude-opus-4-8", DAY), ("nobody-9", DAY)}
    prices = ManagerPrices()
    missing = prices.missing(conn, wanted)
    assert missing == wanted
    prices.learn(conn, ask_table(missing), TODAY)
    again = ManagerPrices()
    assert again.missing(conn, wanted) == set()
    found = again.find("claude-opus-4-8", DAY)
    told = prices.find("claude-opus-4-8", DAY)
    assert found is not None
    assert told is not None
    assert (found.base, found.steps, found.source) == (told.base, told.steps, "genai-prices")
    assert (found.input, found.cache_write_1h) == (Decimal(5), Decimal(10))
    assert again.find("nobody-9", DAY) is None
    assert again.looked_up == "2026-06-11"


def test_prices_change_with_the_day() -> None:
    found = ask_table([("claude-opus-4-6", OLD), ("claude-opus-4-6", DAY)])
    old, new = found["claude-opus-4-6", OLD], found["claude-opus-4-6", DAY]
    assert old is not None
    assert new is not None
    assert [step.above for step in old.steps] == [200_000]
    assert new.steps == ()


def test_a_longer_name_means_the_same_model() -> None:
    found = ask_table([("claude-opus-4-8[1m]", DAY), ("kimi-k2.5", DAY), ("z-ai/glm-5", DAY)])
    assert found["claude-opus-4-8[1m]", DAY] is not None
    assert found["kimi-k2.5", DAY] is not None


def test_the_users_own_prices_win(conn: sqlite3.Connection) -> None:
    settings = {
        "prices": {"claude-opus-4-8": {"input": 1, "output": 0.1}, "odd": {"input": "x"}, "no": 3}
    }
    prices = ManagerPrices(own_prices(settings))
    assert prices.missing(conn, {("claude-opus-4-8", DAY)}) == set()
    found = prices.find("claude-opus-4-8", DAY)
    assert found is not None
    assert (found.output, found.source) == (Decimal("0.1"), "models.json")
    assert prices.find("odd", DAY) is None


@pytest.mark.parametrize("rate", [-5, 1e7, 1e400, "NaN", "-Infinity", True, "", [1], "1e30"])
@pytest.mark.parametrize("name", ["input", "output", "cache_read", "cache_write_1h"])
def test_a_price_that_the_settings_would_refuse_counts_nowhere(name: str, rate: Any) -> None:
    given = {"input": 1, "output": 2, name: rate}
    assert own_prices({"prices": {"m": given, "good": {"input": 0, "output": 1e6}}}).keys() == {
        "good"
    }
    assert DEAREST == MOST_USD


def test_a_new_price_table_is_asked_again(conn: sqlite3.Connection) -> None:
    forget_prices(conn, "1")
    ManagerPrices().learn(conn, {("m", DAY): None}, TODAY)
    forget_prices(conn, "1")
    assert ManagerPrices().missing(conn, {("m", DAY)}) == set()
    forget_prices(conn, "2")
    assert ManagerPrices().missing(conn, {("m", DAY)}) == {("m", DAY)}


def test_a_process_apart_says_the_same_as_this_one() -> None:
    wanted = [("claude-opus-4-6", DAY), ("no-such-model", DAY), ("z-ai/glm-5", OLD)]
    here = {key: price_as_text(price) for key, price in ask_table(wanted).items()}
    assert {key: price_as_text(price) for key, price in ask_apart(wanted).items()} == here


def test_without_another_process_this_one_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [("claude-opus-4-6", DAY)]
    for program in ("/no/such/python", "/bin/false", "/bin/echo"):
        monkeypatch.setattr("sys.executable", program)
        assert ask_apart(wanted) == ask_table(wanted)

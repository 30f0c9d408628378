"""The figures as a pure fold: percent, kept out, net dollars, prices."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from workers_tui.engine.jobs.job import Job, JobKind, JobState, Sent
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.pricing.price import Price, Rates
from workers_tui.engine.transcripts.cells import Sums, step_of
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.job_savings import Links, job_savings, read_and_back
from workers_tui.engine.transcripts.savings import (
    Figures,
    figures,
    main_models,
    tokens,
)
from workers_tui.engine.usage import Usage

OPUS = Price(
    Decimal(5), Decimal(25), Decimal("0.5"), Decimal("6.25"), Decimal(10), source="genai-prices"
)
DAY = date(2026, 6, 10).toordinal()


def row(model: str = "opus", session: str = "s1", prompt: int = 0, **sums: int) -> CellRow:
    return CellRow("", "p", "", session, model, DAY, step_of(prompt), Sums(messages=1, **sums))


def job(**more: Any) -> Job:
    values: dict[str, Any] = {
        "id": "abcde",
        "kind": JobKind.CALL,
        "state": JobState.DONE,
        "task": "sum up",
        "created_at": datetime(2026, 6, 10, 12, tzinfo=UTC),
        "session": "s1",
        "usage": Usage(input=10_000, output=500),
        "cost": Cost(from_usd("0.001"), CostSource.REPORTED),
        "attempts": 1,
        "bytes_out": 40_000,
        "sent": (Sent("a.log", 1, 100, 36_000, ""),),
    }
    return Job(**{**values, **more})


def test_every_kind_of_token_has_its_own_price() -> None:
    sums = row(input=10**6, output=10**6, creation=2 * 10**6, creation_1h=10**6, read=10**6)
    found = tokens([sums], lambda *_: OPUS)
    assert found.cost_pico == from_usd(Decimal(5) + 25 + Decimal("6.25") + 10 + Decimal("0.5"))
    assert found.sums.fresh == 4 * 10**6


def test_the_cache_read_price_is_the_tables_own() -> None:
    price = Price(Decimal(3), Decimal(15), cache_read=Decimal("1.7"))
    assert tokens([row(read=10**6)], lambda *_: price).cost_pico == from_usd("1.7")


@pytest.mark.parametrize(("prompt", "dollars"), [(200_000, 1), (200_001, 2)])
def test_long_prompts_cost_more_where_the_table_says_so(prompt: int, dollars: int) -> None:
    steps = (Rates(Decimal(10), Decimal(50), above=200_000),)
    price = Price(Decimal(5), Decimal(25), steps=steps)
    sums = [row(prompt=prompt, input=200_000)]
    assert tokens(sums, lambda *_: price).cost_pico == from_usd(dollars)
    assert tokens(sums, lambda *_: OPUS).cost_pico == from_usd(1)


def test_a_model_without_a_price_is_named_and_costs_nothing() -> None:
    rows = [row("opus", input=10**6), row("glm-9", input=10**6)]
    found = tokens(rows, lambda model, _: OPUS if model == "opus" else None)
    assert (found.cost_pico, found.unpriced) == (from_usd(5), ("glm-9",))


def kept(job: Job, chars_back: int | None) -> int:
    read, back = read_and_back(job, chars_back)
    return read - back


def test_kept_out_is_what_the_files_held_less_what_came_back() -> None:
    assert kept(job(), None) == 9_000 - 500
    assert kept(job(), chars_back=800) == 9_000 - 200
    assert kept(job(sent=()), None) == 0
    assert kept(job(state=JobState.FAILED), None) == 0
    assert kept(job(kind=JobKind.AGENT), None) == 0
    assert kept(job(usage=Usage(output=9_000, reasoning=500)), None) == 9_000 - 8_500


def test_attempts_do_not_multiply_what_was_kept_out() -> None:
    thrice = job(attempts=3, usage=Usage(input=30_000, output=500))
    assert kept(thrice, None) == 9_000 - 500


def test_a_file_that_claude_read_itself_afterwards_was_not_kept_out() -> None:
    at = int(datetime(2026, 6, 10, 13, tzinfo=UTC).timestamp())
    links = Links(own_reads={"s1": [(at, "/home/dev/project/a.log")]})
    (saved,) = job_savings([job()], links, lambda _: OPUS)
    assert saved.read_again == ("a.log",)
    assert saved.kept_out == 0
    before = Links(own_reads={"s1": [(at - 7200, "/home/dev/project/a.log")]})
    whole = job_savings([job()], before, lambda _: OPUS)[0]
    assert (whole.kept_out, whole.back) == (8_500, 500)


@pytest.mark.parametrize(
    ("path", "project", "again"),
    [
        ("/home/dev/project/README.md", "/home/dev/project", True),
        ("/home/dev/project/docs/README.md", "/home/dev/project", False),
        ("/srv/shared/README.md", "/home/dev/project", True),
        ("/home/dev/project/docs/README.md", None, True),
        ("/home/dev/project/OTHER-README.md", None, False),
    ],
)
def test_in_a_known_project_only_the_very_file_was_read_again(
    path: str, project: str | None, again: bool
) -> None:
    at = int(datetime(2026, 6, 10, 13, tzinfo=UTC).timestamp())
    sent = (Sent("README.md", 1, 9, 4_000, ""),)
    asked = job(sent=sent, project=project)
    (saved,) = job_savings([asked], Links(own_reads={"s1": [(at, path)]}), lambda _: OPUS)
    assert bool(saved.read_again) == again


def test_net_dollars_are_a_range_less_the_workers_cost() -> None:
    (saved,) = job_savings([job()], Links(), lambda _: OPUS)
    assert saved.net_high_pico == from_usd(Decimal(8_500) * 5 / 10**6) - from_usd("0.001")
    assert saved.net_low_pico == from_usd(Decimal(8_500) / 2 / 10**6) - from_usd("0.001")


def test_net_dollars_may_be_negative() -> None:
    dear = job(cost=Cost(from_usd(1), CostSource.REPORTED))
    (saved,) = job_savings([dear], Links(), lambda _: OPUS)
    assert saved.net_low_pico is not None
    assert saved.net_high_pico is not None
    assert saved.net_low_pico < saved.net_high_pico < 0
    chatty = job(usage=Usage(input=10_000, output=50_000))
    (lost,) = job_savings([chatty], Links(), lambda _: OPUS)
    assert lost.net_low_pico is not None
    assert lost.net_high_pico is not None
    assert lost.net_low_pico < lost.net_high_pico < 0


def test_net_dollars_are_unknown_without_a_price_of_the_managers_model() -> None:
    (saved,) = job_savings([job()], Links(), lambda _: None)
    assert (saved.net_low_pico, saved.net_high_pico) == (None, None)
    assert figures([saved], {}).net_high_pico is None


def test_percent_is_over_the_sessions_that_delegated() -> None:
    saved = job_savings(
        [job(), job(id="b", session="s2"), job(id="c", session=None)], Links(), lambda _: OPUS
    )
    found = figures(saved, {"s1": 10_500, "s2": 10_500, "s3": 10**9})
    assert (found.worker_fresh, found.all_fresh, found.sessions) == (21_000, 42_000, 2)
    assert found.percent == 50
    assert found.jobs == 3
    assert Figures().percent is None


def test_cached_tokens_of_workers_are_no_fresh_work() -> None:
    cached = job(usage=Usage(input=10_000, output=500, cached=9_000))
    assert figures(job_savings([cached], Links(), lambda _: OPUS), {}).worker_fresh == 1_500


@pytest.mark.parametrize("found_by", ["tool use", "job id"])
def test_a_job_is_joined_to_the_session_that_asked(found_by: str) -> None:
    links = Links({"toolu_1": "s7"}, {"abcde": "toolu_1"} if found_by == "job id" else {})
    tool = "toolu_1" if found_by == "tool use" else None
    (saved,) = job_savings([job(session=None, tool_use_id=tool)], links, lambda _: OPUS)
    assert saved.session == "s7"


def test_unknown_costs_are_counted_never_taken_as_0() -> None:
    unknown = job(cost=Cost(None, CostSource.UNKNOWN))
    assert figures(job_savings([unknown], Links(), lambda _: OPUS), {}).unknown_costs == 1


def test_a_sessions_own_model_is_the_one_that_did_most() -> None:
    rows = [row("opus", "s1", input=5), row("haiku", "s1", input=9), row("opus", "s2", input=90)]
    best = main_models(rows)
    assert {session: model for session, (model, _) in best.items()} == {
        "s1": "haiku",
        "s2": "opus",
    }

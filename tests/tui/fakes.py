"""A stand-in engine: frozen values on a real board, and verbs that note what they were asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from workers_tui.engine.agents.agent_request import FollowUp
from workers_tui.engine.agents.agent_trace import TraceStep
from workers_tui.engine.agents.identity import WorkerView
from workers_tui.engine.board import Board, Key, ServerView, Topic
from workers_tui.engine.calls.tiers import TierView
from workers_tui.engine.errors import UnknownJob
from workers_tui.engine.events import Events
from workers_tui.engine.jobs.job import (
    CallRequest,
    Job,
    JobKind,
    JobState,
    Origin,
    Question,
    Sent,
    WaitingFor,
)
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.pricing.model_lists import ModelInfo
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.settings.settings import Settings
from workers_tui.engine.spending.ledger import Totals
from workers_tui.engine.spending.spend import Spend
from workers_tui.engine.transcripts.cells import Sums
from workers_tui.engine.transcripts.job_savings import JobSaving, JobSums
from workers_tui.engine.transcripts.savings import Figures, Tokens
from workers_tui.engine.transcripts.savings_view import DayPoint, Period, SavingsView
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home

NOON = datetime(2026, 11, 29, 14, 2, 48, tzinfo=UTC)


class StillClock:
    """Time that stands until a test moves it."""

    def __init__(self, now: datetime = NOON) -> None:
        self.at = now

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOON).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def make_savings(**more: Any) -> SavingsView:
    """A day with savings, one job that lost money, and a warning."""
    gain = {"net_low_pico": from_usd("3.10"), "net_high_pico": from_usd("5.80")}
    loss = {"net_low_pico": from_usd("-0.42"), "net_high_pico": from_usd("-0.11")}
    cost = from_usd("1.07")
    today = Figures(22_000, 100_000, 3, 363_000, cost, **gain, unknown_costs=2, jobs=41)
    session = Figures(1_000, 40_000, 1, -9_000, from_usd("0.05"), **loss, jobs=4, read_again=1)
    ever = Figures(600_000, 4_000_000, 30, 2_100_000, cost * 9, None, None, jobs=410)
    claude = Tokens(Sums(40, 9_000, 30_000, 61_000, 0, 2_000_000), from_usd("7.5"))
    first = NOON.date().toordinal() - 2
    values: dict[str, Any] = {
        "today": Period(today, claude),
        "all_time": Period(ever, claude),
        "session": Period(session, Tokens()),
        "session_id": "5e55",
        "days": tuple(
            DayPoint(first + day, 300_000 * (day + 1), 90_000, from_usd("0.2"))
            for day in range(3)
        ),
        "doers": (
            ("fast", JobSums(40, 300_000, worker_pico=from_usd("0.31"))),
            ("reason", JobSums(2, 9_000, worker_pico=from_usd("0.05"), unknown_costs=2)),
        ),
        "workers": (("glm", claude), ("local", Tokens(Sums(2, 50, 70), 0, ("qwen3:8b",)))),
        "models": (("claude-opus-4-6", claude),),
        "lost_money": (
            JobSaving(
                make_job("l0ss1", JobState.DONE, task="Read the plan"), "5e55", 0,
                from_usd("-0.0300"), from_usd("-0.0300"), ("docs/plan.md",),
            ),
        ),
        "warnings": ("Claude read docs/plan.md itself after it had delegated it",),
    }  # fmt: skip
    return SavingsView(**(values | more))


def worker(name: str = "glm", **more: Any) -> WorkerView:
    """An identity as the board shows it."""
    values: dict[str, Any] = {
        "name": name,
        "base_url": "https://api.z.ai/api/anthropic",
        "model": "glm-5",
        "small_model": "glm-5-air",
        "state": "ready",
        "running": 1,
        "month_pico": from_usd("4.20"),
        "month_jobs": 31,
    }
    return WorkerView(**(values | more))


class FakeConfig:
    """Settings that only remember what was saved."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.saved: list[tuple[str, Any]] = []
        self.raw: dict[str, Any] = {"providers": {}, "tiers": {}}

    @property
    def settings(self) -> Settings:
        return Settings.model_validate(self.raw)

    async def edit(self, change: Callable[[dict[str, Any]], None]) -> Settings:
        change(self.raw)
        return self.settings

    async def set_cap(self, usd: Decimal | None) -> Decimal | None:
        self.saved.append(("cap", usd))
        spend: Spend = self._engine.board.get(Key(Topic.SPEND))
        before = None if spend.cap_pico is None else Decimal(spend.cap_pico) / 10**12
        self._engine.put_spend(cap=usd)
        return before

    async def set_tier(self, name: str, **changes: Any) -> dict[str, Any]:
        self.saved.append((name, changes))
        view: TierView = self._engine.board.get(Key(Topic.TIER, name))
        before = {field: getattr(view, field, None) for field in changes}
        known = {field: value for field, value in changes.items() if hasattr(view, field)}
        self._engine.board.put(Key(Topic.TIER, name), replace(view, **known))
        return before


class FakePrices:
    """Three models, one without a price."""

    async def load_table(self) -> None: ...

    def models(self, provider: str) -> list[ModelInfo]:
        def info(name: str, price: tuple[str, str] | None, context: int) -> ModelInfo:
            cost = Price(Decimal(price[0]), Decimal(price[1])) if price else None
            return ModelInfo(name, name, cost, context)

        return [
            info("deepseek/deepseek-v4-flash", ("0.11", "0.21"), 1_000_000),
            info("minimax/minimax-m3", ("0.30", "1.2"), 205_000),
            info("odd/no-price", None, 8_000),
        ]

    def find(self, provider: str, model: str) -> Price | None:
        return next((info.price for info in self.models(provider) if info.id == model), None)

    async def refresh(self, provider: str) -> None:
        return None


class FakeLedger:
    """Sums of a day with two tiers."""

    async def totals(self, day: date | None = None, *, by: str | None = None) -> dict[str, Totals]:
        one = Totals(40, Usage(300_000, 30_000), from_usd("0.9"), from_usd("0.9"))
        two = Totals(1, Usage(63_000, 11_000), from_usd("0.17"), 0, from_usd("0.17"), 0, 1)
        if by == "kind":
            return {"call": one, "agent": Totals(3, Usage(9_000, 800), from_usd("0.0213"))}
        return {"fast": one, "long": two} if by else {"": one}


class FakeAgents:
    """Agents that take a further task."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.steps: list[TraceStep] = []

    async def followup(self, request: FollowUp, origin: Origin) -> Job:
        self._engine.asked.append(("follow_up", request))
        return await self._engine.job(request.target)

    def trace(self, job_id: str) -> list[TraceStep]:
        return self.steps


class FakeEngine:
    """What the dashboard needs of an engine."""

    def __init__(self, home: Home) -> None:
        self.id = "e1"
        self.home = home
        self.environ: Mapping[str, str] = {"PATH": "", "CLAUDE_CONFIG_DIR": str(home.state / "cc")}
        self.clock = StillClock()
        self.board = Board()
        self.events = Events(self.board, self.clock)
        self.config = FakeConfig(self)
        self.prices = FakePrices()
        self.agents = FakeAgents(self)
        self.ledger = FakeLedger()
        self.asked: list[tuple[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.queue = SimpleNamespace(paused=False)
        self.closed = False

    # Values

    def put(self, job: Job) -> Job:
        self.board.put(Key(Topic.JOB, job.id), job)
        return job

    def add_text(self, job_id: str, text: str) -> None:
        self.texts[job_id] = self.texts.get(job_id, "") + text
        self.board.put(Key(Topic.OUTPUT, job_id), len(self.texts[job_id]))

    def put_spend(
        self, spent: str = "1.07", held: str = "0.12", cap: Decimal | str | None = "3", **more: Any
    ) -> Spend:
        spend = make_spend(spent, held, cap, **more)
        self.board.put(Key(Topic.SPEND), spend)
        return spend

    def put_server(self, url: str | None = "http://127.0.0.1:4747/mcp", clients: int = 2) -> None:
        self.board.put(Key(Topic.SERVER), ServerView(url, clients))

    # Verbs

    async def text(self, job_id: str, offset: int = 0, limit: int | None = None) -> str:
        text = self.texts.get(job_id, "")[offset:]
        return text if limit is None else text[:limit]

    def peek(self, job_id: str) -> str:
        return self.texts.get(job_id, "")

    async def job(self, job_id: str) -> Job:
        job: Job | None = self.board.get(Key(Topic.JOB, job_id))
        if job is None:
            raise UnknownJob(f"there is no job {job_id!r}")
        return job

    async def list_jobs(self, **wanted: Any) -> list[Job]:
        self.asked.append(("list", wanted))
        return [self.board.get(Key(Topic.JOB, name)) for name in self.board.names(Topic.JOB)]

    async def ended(self, job_id: str) -> Job:
        return await self.job(job_id)

    async def cancel(self, job_id: str, by: str = "you") -> None:
        self.asked.append(("cancel", job_id))
        job = await self.job(job_id)
        self.put(replace(job, state=JobState.CANCELLED, ended_at=self.clock.now(), ms=900))

    def approve(self, job_id: str) -> None:
        self.asked.append(("approve", job_id))

    def reject(self, job_id: str) -> None:
        self.asked.append(("reject", job_id))

    async def rerun(self, job_id: str, tier: str | None = None) -> Job:
        self.asked.append(("rerun", (job_id, tier)))
        job = await self.job(job_id)
        return self.put(
            replace(job, id="new1", state=JobState.QUEUED, tier=tier, ms=None, ended_at=None)
        )

    async def delegate(self, request: CallRequest, origin: Origin) -> Job:
        self.asked.append(("delegate", request))
        return self.put(make_job("d1", JobState.DONE, task=request.task, tier=request.tier))

    def pause(self) -> None:
        self.asked.append(("pause", None))
        self.queue.paused = True

    def resume(self) -> None:
        self.asked.append(("resume", None))
        self.queue.paused = False

    async def drain(self, reason: str) -> None:
        self.asked.append(("drain", reason))

    async def close(self) -> None:
        self.closed = True


def make_spend(
    spent: str = "1.07", held: str = "0.12", cap: Decimal | str | None = "3", **more: Any
) -> Spend:
    """A day's money."""
    cap_pico = None if cap is None else from_usd(cap)
    spent_pico, held_pico = from_usd(spent), from_usd(held)
    hours = [0] * 24
    for hour, cents in zip(range(8, 15), (3, 1, 4, 6, 9, 14, 8), strict=True):
        hours[hour] = from_usd(cents) // 100
    values: dict[str, Any] = {
        "day": date(2026, 11, 29),
        "timezone": "UTC",
        "resets_at": datetime(2026, 11, 30, tzinfo=UTC),
        "cap_pico": cap_pico,
        "spent_pico": spent_pico,
        "cost_pico": spent_pico,
        "reported_pico": spent_pico,
        "estimated_pico": 0,
        "held_pico": held_pico,
        "holds": 2,
        "free_pico": None if cap_pico is None else max(0, cap_pico - spent_pico - held_pico),
        "calls": 41,
        "usage": Usage(363_000, 41_000),
        "pending_calls": 0,
        "unknown_calls": 0,
        "by_hour_pico": tuple(hours),
        "burn_pico_per_hour": from_usd("0.21"),
        "reaches_cap_at": datetime(2026, 11, 29, 17, 40, tzinfo=UTC),
        "mode": "strict",
        "warning": "",
    }
    return Spend(**(values | more))


def make_job(job_id: str, state: JobState = JobState.RUNNING, **more: Any) -> Job:
    """A job as it stands in the middle of an afternoon."""
    values: dict[str, Any] = {
        "task": "Summarise the errors in debug.log",
        "created_at": NOON - timedelta(seconds=10),
        "engine": "e1",
        "tier": "fast",
        "model": "deepseek/deepseek-v4-flash",
        "provider": "openrouter",
        "client": "claude-code 2.1.197",
    }
    if state is not JobState.QUEUED:
        values["started_at"] = NOON - timedelta(seconds=6)
    if state.ended:
        values |= {"ended_at": NOON, "ms": 6_000}
    return Job(**({"id": job_id, "kind": JobKind.CALL, "state": state} | values | more))


def paid(usd: str, source: CostSource = CostSource.REPORTED) -> Cost:
    """A cost."""
    return Cost(from_usd(usd), source)


def tiers() -> Sequence[TierView]:
    """The four shipped tiers."""

    def view(name: str, model: str, price: tuple[str, str], picks: int) -> TierView:
        cost = Price(Decimal(price[0]), Decimal(price[1]), source="models.json", context=262_144)
        return TierView(
            name, model, "openrouter", cost, f"{name} work", 400_000, 262_144, picks,
            0.97, 6_400, from_usd("0.00021"), None,
        )  # fmt: skip

    return (
        view("fast", "deepseek/deepseek-v4-flash", ("0.11", "0.21"), 31),
        view("code", "qwen/qwen3-coder-next", ("0.12", "0.80"), 8),
        view("reason", "deepseek/deepseek-v4-pro", ("0.43", "0.87"), 2),
        view("long", "google/gemini-3.1-flash-lite", ("0.25", "1.5"), 1),
    )


def fill(engine: FakeEngine) -> None:
    """The picture of a busy afternoon, one job in each state."""
    for tier in tiers():
        engine.board.put(Key(Topic.TIER, tier.name), tier)
    engine.put_spend()
    engine.put_server()
    engine.board.put(Key(Topic.SAVINGS), make_savings(warnings=()))
    engine.put(
        make_job(
            "k7f2q",
            usage=Usage(77_500, 1_200),
            cost=paid("0.0004", CostSource.ESTIMATED),
            tier_reason="because summary of 1 file, 310 KB",
            files=("debug.log",),
            sent=(Sent("debug.log", 1, 5_600, 310_000, "ab" * 32),),
            bytes_out=310_400,
        )
    )
    engine.put(
        make_job(
            "m2qx4",
            kind=JobKind.AGENT,
            tier=None,
            worker="glm",
            turns=4,
            task="Fix the pagination as in docs/plan.md",
            started_at=NOON - timedelta(seconds=48),
            usage=Usage(40_000, 3_100),
            cost=paid("0.019"),
            last_action="Edit app/pages.py",
            tool_calls=7,
        )
    )
    engine.put(
        make_job(
            "p9xt7",
            JobState.WAITING,
            waiting_for=WaitingFor.APPROVAL,
            started_at=None,
            tier="long",
            task="Compare both logs",
            question=Question(
                "2 secrets found",
                ("access.log:12 AWS key", "access.log:90 password in a URL"),
                from_usd("0.41"),
                3_100_000,
            ),
            estimate_pico=from_usd("0.41"),
        )
    )
    engine.put(
        make_job(
            "r4t8w",
            JobState.WAITING,
            waiting_for=WaitingFor.RETRY,
            retry_at=NOON + timedelta(seconds=12),
            error="rate limited",
            tier="reason",
        )
    )
    engine.put(make_job("q1d5z", JobState.QUEUED, task="Translate the plan into one paragraph"))
    engine.put(
        make_job(
            "a31bc",
            JobState.DONE,
            tier="code",
            task="Tests for parser.py",
            written="tests/test_parser.py",
            usage=Usage(9_000, 2_000),
            cost=paid("0.0017"),
            ms=11_000,
            ended_at=NOON - timedelta(minutes=2),
        )
    )
    engine.put(
        make_job(
            "b02gh",
            JobState.FAILED,
            tier="reason",
            error="rate limited three times: try tier code",
            cost=paid("0"),
            ms=31_000,
            ended_at=NOON - timedelta(minutes=5),
        )
    )
    engine.put(
        make_job(
            "c44km",
            JobState.CANCELLED,
            cost=paid("0.0002", CostSource.ESTIMATED),
            error="cancelled by you",
            ended_at=NOON - timedelta(minutes=9),
        )
    )
    engine.put(
        make_job(
            "l0st1",
            JobState.LOST,
            error="the engine that ran it died; what it had received is kept",
            cost=Cost(None, CostSource.UNKNOWN),
            ended_at=NOON - timedelta(minutes=30),
        )
    )
    engine.add_text(
        "k7f2q",
        '- 14:02 to 14:31: "disk full" on /var, 17 times, first from backup.sh\n'
        "- 14:40: three requests to /login failed with 502, upstream auth-2\n- ",
    )
    engine.events.tell("server", "listening on 127.0.0.1:4747")
    engine.events.tell("config", "models.json is in force as saved")

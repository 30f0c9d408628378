"""One call from the queue to its end, in a straight line (design 3, journey 1).

Reads, looks for secrets, picks a tier, asks the attempts for an answer and puts
it where it belongs. Whatever goes wrong on the way is one WorkersError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from workers_tui.engine.calls import prompt as prompts
from workers_tui.engine.calls import tiers
from workers_tui.engine.calls.answer import Answer
from workers_tui.engine.calls.approval import ask_user
from workers_tui.engine.calls.attempts import Attempts
from workers_tui.engine.calls.call_plan import Plan
from workers_tui.engine.calls.live_text import LiveText
from workers_tui.engine.calls.outcome import done, judge, truncated, unfenced
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.queue import Place
from workers_tui.engine.calls.running import Running
from workers_tui.engine.errors import WorkFailed
from workers_tui.engine.files.sandbox import Piece, Sandbox
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.engine.jobs.results import keep_old, read_result
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.settings.config import unknown_tier
from workers_tui.engine.settings.settings import Settings, Tier


async def run_call(parts: Parts, run: Running) -> None:
    """Do the call. Raises WorkersError; the job's last state is the caller's business."""
    async with parts.queue.place(run.line) as place:
        settings = _choices(parts, parts.config.usable(), run.request.tier)
        sandbox = _sandbox(parts, settings, run)
        parts.jobs.show(run.job_id, state=JobState.READING)
        if run.request.write_to is not None:
            await sandbox.check_write(run.request.write_to)
        pieces = await _read(settings, sandbox, run)
        plan = await _plan(parts, settings, run, pieces)
        await ask_user(parts, run, place, plan, pieces)
        answer = await _answer(parts, run, place, plan)
        if run.request.write_to is not None:  # without, the job ended with its bill
            written = await _write(parts, sandbox, run, run.request.write_to, answer)
            await parts.jobs.change(run.job_id, **done(answer), written=written)


def _sandbox(parts: Parts, settings: Settings, run: Running) -> Sandbox:
    return Sandbox(
        run.origin.roots,
        deny_read=settings.deny_read,
        deny_write=settings.deny_write,
        allow=settings.allow_secrets,
        private=(parts.home.config, parts.home.state),
    )


async def _read(settings: Settings, sandbox: Sandbox, run: Running) -> list[Piece]:
    request = run.request
    if not request.files:
        return []
    if request.tier == "auto":
        limit = tiers.largest_limit(settings)
    else:
        limit = tiers.file_limit(settings, _tier(settings, request.tier))
    return await sandbox.read(request.files, max_file_bytes=limit)


async def _plan(parts: Parts, settings: Settings, run: Running, pieces: Sequence[Piece]) -> Plan:
    """The tier, its provider, the prompt and the prices."""
    request = run.request
    pick = await _pick(parts, settings, run, pieces)
    tier = _tier(settings, pick.name)
    provider = parts.providers.get(settings.tier_provider(tier))
    models = [tier.model, *(tier.fallbacks if provider.routes else ())]
    prices = {model: await parts.prices.ready(provider.name, model) for model in models}
    parts.jobs.show(
        run.job_id,
        tier=pick.name,
        tier_reason=pick.reason,
        model=tier.model,
        provider=provider.name,
    )
    return Plan(
        settings,
        pick.name,
        tier,
        provider,
        prompts.build(request.task, pieces, request.write_to),
        tiers.output_cap(settings, tier, request.max_tokens),
        prices,
        next(filter(None, (parts.prices.unlisted(provider.name, model) for model in models)), ""),
    )


async def _pick(
    parts: Parts, settings: Settings, run: Running, pieces: Sequence[Piece]
) -> tiers.Pick:
    request = run.request
    if request.tier != "auto":
        return tiers.Pick(request.tier, f"{request.tier}, asked for")
    sizes = tuple(_whole_size(piece) for piece in pieces)
    for tier in settings.tiers.values():  # the sources are asked once, then they are at hand
        await parts.prices.ready(settings.tier_provider(tier), tier.model)

    def price_of(tier: Tier) -> Price | None:
        return parts.prices.find(settings.tier_provider(tier), tier.model)

    return tiers.pick(settings, tiers.Load(request.task, sizes, request.max_tokens), price_of)


def _choices(parts: Parts, settings: Settings, tier: str) -> Settings:
    """The settings with the tiers that `auto` may choose among: those that can work, if any."""
    if tier != "auto":
        return settings
    able = {name: one for name, one in settings.tiers.items() if _can_work(parts, settings, one)}
    return settings.model_copy(update={"tiers": able}) if able else settings


def _can_work(parts: Parts, settings: Settings, tier: Tier) -> bool:
    """The tier's provider is there, has a key or needs none, and is not paused."""
    name = settings.tier_provider(tier)
    provider = parts.providers.find(name)
    if provider is None or parts.providers.paused(name) is not None:
        return False
    return provider.loopback or parts.providers.key_or_none(provider) is not None


def _whole_size(piece: Piece) -> int:
    """A cut piece counts with all that lies on disk: a tier that takes it whole is better."""
    return max(piece.bytes, piece.size) if piece.cut else piece.bytes


def _tier(settings: Settings, name: str) -> Tier:
    if name not in settings.tiers:
        raise unknown_tier(name, settings.tiers)
    return settings.tiers[name]


async def _answer(parts: Parts, run: Running, place: Place, plan: Plan) -> Answer:
    job = await parts.jobs.get(run.job_id)
    text = LiveText.open(_place(job), run, parts.board, parts.clock)
    try:
        answer = await Attempts(parts, run, place, plan, text).make()
    finally:
        await text.close()
    failure = judge(answer)
    if failure is not None:
        raise failure
    return answer


async def _write(parts: Parts, sandbox: Sandbox, run: Running, target: str, answer: Answer) -> str:
    """Put a whole answer into the file that was asked for; the old one is kept."""
    if truncated(answer):
        raise WorkFailed(
            f"the answer hit the output limit, so {target} was not touched; what came is kept, "
            "raise max_tokens or ask for less"
        )
    job = await parts.jobs.get(run.job_id)
    text = await asyncio.to_thread(read_result, _place(job))

    def keep(old: Path) -> None:
        keep_old(parts.home.results, job.id, old)

    written = await sandbox.write(target, unfenced(text), keep)
    return str(written.path)


def _place(job: Job) -> Path:
    """Where a job's text lies."""
    if job.result_path is None:
        raise WorkFailed(f"job {job.id} has no place for its text")
    return job.result_path

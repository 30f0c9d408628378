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
from workers_tui.engine.calls.approval import Found, ask_user
from workers_tui.engine.calls.attempts import Attempts
from workers_tui.engine.calls.call_plan import Plan
from workers_tui.engine.calls.choices import choices, named
from workers_tui.engine.calls.live_text import LiveText
from workers_tui.engine.calls.material import gather, sandbox
from workers_tui.engine.calls.outcome import done, judge, truncated, unfenced
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.queue import Place
from workers_tui.engine.calls.running import Running
from workers_tui.engine.errors import StoreError, StoreUnusable, WorkFailed
from workers_tui.engine.files.sandbox import Piece
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.engine.jobs.results import keep_old, read_result
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.settings.settings import Settings, Tier


async def run_call(parts: Parts, run: Running) -> None:
    """Do the call. Raises WorkersError; the job's last state is the caller's business."""
    async with parts.queue.place(run.line) as place:
        settings = choices(parts, run.request.tier)
        parts.jobs.show(run.job_id, state=JobState.READING)
        plan, found = await _prepare(parts, settings, run)
        await ask_user(parts, run, place, plan, found)
        answer = await _answer(parts, run, place, plan)
        if run.request.write_to is not None:  # without, the job ended with its bill
            written = await _write(parts, settings, run, run.request.write_to, answer)
            await _end_written(parts, run, answer, written)


async def _prepare(parts: Parts, settings: Settings, run: Running) -> tuple[Plan, Sequence[Found]]:
    """The plan, and the secrets in what it sends; of the files only the prompt is left."""
    ahead, run.ahead = run.ahead, None
    material = await (ahead or gather(parts, settings, run.request, run.origin))
    return await _plan(parts, settings, run, material.pieces), material.found


async def _plan(parts: Parts, settings: Settings, run: Running, pieces: Sequence[Piece]) -> Plan:
    """The tier, its provider, the prompt and the prices."""
    request = run.request
    pick = await _pick(parts, settings, run, pieces)
    tier = named(settings, pick.name)
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


def _whole_size(piece: Piece) -> int:
    """A cut piece counts with all that lies on disk: a tier that takes it whole is better."""
    return max(piece.bytes, piece.size) if piece.cut else piece.bytes


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


async def _write(
    parts: Parts, settings: Settings, run: Running, target: str, answer: Answer
) -> str:
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

    place = sandbox(settings, run.origin, (parts.home.config, parts.home.state))
    written = await place.write(target, unfenced(text), keep)
    return str(written.path)


async def _end_written(parts: Parts, run: Running, answer: Answer, written: str) -> None:
    """Say that the file is there, also where the store does not take the job's end."""
    parts.jobs.show(run.job_id, written=written)
    try:
        await parts.jobs.change(run.job_id, **done(answer))
    except StoreError as error:
        raise StoreUnusable(f"{written} is written, but {error}") from error


def _place(job: Job) -> Path:
    """Where a job's text lies."""
    if job.result_path is None:
        raise WorkFailed(f"job {job.id} has no place for its text")
    return job.result_path

"""What `doctor` looks at in the engine: settings, keys, providers, tiers, sandbox, store.

Every failure names the command that mends it. Nothing here changes anything.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workers_tui.engine.agents.identities import Identities, find_root
from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.calls.bills import Bills
from workers_tui.engine.checks.check import Check
from workers_tui.engine.checks.local_servers import LocalServer
from workers_tui.engine.engine import Engine
from workers_tui.engine.errors import (
    ConfigError,
    KeyRejected,
    SandboxRefused,
    UpstreamFailed,
    WorkersError,
)
from workers_tui.engine.files.sandbox import Sandbox
from workers_tui.engine.money import from_usd, text_usd
from workers_tui.engine.settings.providers import DEFAULT, Provider
from workers_tui.engine.settings.settings import Tier
from workers_tui.engine.transcripts.number_words import plural
from workers_tui.home.files import read_json

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 100_000_000
NOT_FOUND = 404
UNAUTHORIZED = frozenset({401, 403})


def check_python() -> Check:
    """The interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= OLDEST_PYTHON
    return Check("python", ok, f"{version} at {sys.executable}", None if ok else "use Python 3.11+")


async def check_engine(engine: Engine, locals_: Sequence[LocalServer]) -> list[Check]:
    """Everything that needs an engine, in the order a user should mend it."""
    checks = [_settings(engine), *_kept_keys(engine)]
    for provider in _used(engine):
        checks += await _provider(engine, provider)
    for name, tier in engine.config.settings.tiers.items():
        checks.append(await _tier(engine, name, tier))
    checks += _workers(engine)
    checks += _local(engine, locals_)
    checks.append(await check_sandbox())
    checks.append(await _store(engine))
    return checks


def _settings(engine: Engine) -> Check:
    config = engine.config
    if config.error:
        return Check("settings", ok=False, detail=config.error, fix=f"mend {config.path}")
    said = "; ".join(config.warnings) or plural(len(config.settings.tiers), "tier")
    cap = config.settings.daily_budget_usd
    limit = f"cap {text_usd(from_usd(cap))} a day" if cap is not None else "no cap"
    return Check("settings", ok=True, detail=f"{config.path}: {said}, {limit}")


def _kept_keys(engine: Engine) -> list[Check]:
    path = engine.home.keys_json
    if not path.exists() or isinstance(read_json(path), dict):
        return []
    fix = f"mend or delete {path}, then run `workers-tui key set PROVIDER` for each provider"
    return [Check("keys", ok=False, detail=f"{path} is not a JSON object", fix=fix)]


def _used(engine: Engine) -> list[Provider]:
    settings = engine.config.settings
    names = dict.fromkeys(settings.tier_provider(tier) for tier in settings.tiers.values())
    found = [engine.providers.find(name) for name in names]
    return [provider for provider in found if provider is not None]


async def _provider(engine: Engine, provider: Provider) -> list[Check]:
    """Its key, whether it answers, and what is left on the key."""
    name = provider.name
    key = engine.providers.key_or_none(provider)
    fault = engine.providers.fault(provider)
    if fault or (key is None and not provider.loopback):
        return [_no_key(engine, provider, f"it {fault}" if fault else "missing")]
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    what = "key" if provider.routes else "models"
    try:
        await engine.upstream.get_json(name, f"{provider.base_url}/{what}", headers)
    except UpstreamFailed as error:
        if error.status != NOT_FOUND:  # a gateway without this page answers all the same
            mending = engine.providers.mending(provider)
            return [_refused(provider, error, mending if key is not None else "")]
    checks = [Check(f"provider {name}", ok=True, detail=f"answers at {provider.base_url}")]
    if key is not None:
        checks.append(await _key(engine, provider))
    return checks


def _no_key(engine: Engine, provider: Provider, said: str) -> Check:
    """There is none, or one that cannot be sent."""
    login = " or `workers-tui login`" if provider.name == DEFAULT else ""
    fix = f"{engine.providers.mending(provider)}{login}"
    return Check(f"key {provider.name}", ok=False, detail=said, fix=fix)


def _refused(provider: Provider, error: UpstreamFailed, mending: str) -> Check:
    """`mending` says what to do about the key, where there is one."""
    name = provider.name
    if isinstance(error, KeyRejected) or (mending and error.status in UNAUTHORIZED):
        return Check(f"key {name}", ok=False, detail=f"not accepted: {error}", fix=mending)
    fix = f"start it, or correct base_url of {name} in models.json"
    if not provider.loopback:
        fix = f"check the network and the proxy settings; {provider.base_url} must be reachable"
    return Check(f"provider {name}", ok=False, detail=str(error), fix=fix)


async def _key(engine: Engine, provider: Provider) -> Check:
    name = f"key {provider.name}"
    try:
        usage = await Bills(engine.providers, engine.upstream).key(provider.name)
    except WorkersError as error:
        return Check(name, ok=False, detail=str(error), fix=engine.providers.mending(provider))
    if usage is None or usage.limit_pico is None:
        return Check(name, ok=True, detail="accepted, no limit of its own")
    left = usage.remaining_pico or 0
    detail = f"accepted, {text_usd(left)} of {text_usd(usage.limit_pico)} left"
    fix = None if left > 0 else "raise the key's limit where it was made, or use another key"
    return Check(name, left > 0, detail, fix)


async def _tier(engine: Engine, name: str, tier: Tier) -> Check:
    title = f"tier {name}"
    provider = engine.config.settings.tier_provider(tier)
    fix = f"choose a model for tier {name} in models.json or in the dashboard (e)"
    try:
        engine.providers.get(provider)
    except ConfigError as error:
        if provider == DEFAULT and engine.environ.get("OPENROUTER_BASE_URL"):
            fix = "correct or unset OPENROUTER_BASE_URL"
        return Check(title, ok=False, detail=str(error), fix=fix)
    price = await engine.prices.ready(provider, tier.model)
    unlisted = engine.prices.unlisted(provider, tier.model)
    if unlisted:
        return Check(title, ok=False, detail=unlisted, fix=fix)
    if price is None:
        strict = engine.config.settings.budget_mode == "strict"
        return Check(
            title,
            not strict,
            f"{tier.model}: nobody knows its price",
            f"add {tier.model} to prices in models.json, or set budget_mode to soft",
        )
    into, out = (text_usd(from_usd(one)) for one in (price.input, price.output))
    said = f"{tier.model} {into} in, {out} out per million tokens"
    return Check(title, ok=True, detail=f"{said} ({price.source})")


def _workers(engine: Engine) -> list[Check]:
    found = Identities(find_root(engine.environ)).all()
    if not found:
        said = "none; `workers-tui worker presets` lists providers"
        return [Check("agent workers", ok=True, detail=said)]
    return [_worker(one) for one in found]


def _worker(one: Identity) -> Check:
    title, where = f"worker {one.name}", f"{one.model} at {one.base_url}"
    if one.problem:
        fix = f"mend {one.path / 'settings.json'}"
        if one.needs_key:
            fix = f"workers-tui worker set-key {one.name}"
        return Check(title, ok=False, detail=one.problem, fix=fix)
    finalize = f"workers-tui worker finalize {one.name}"
    if one.trial is None:
        return Check(title, ok=True, detail=f"{where}, untried: {finalize}")
    if not one.trial.ok:
        said = f"failed when last tried: {one.trial.said}"
        return Check(title, ok=False, detail=said, fix=finalize)
    return Check(title, ok=True, detail=where)


def _local(engine: Engine, found: Sequence[LocalServer]) -> list[Check]:
    known = {provider.base_url for provider in engine.providers.all()}
    known |= {url.replace("localhost", "127.0.0.1") for url in known}
    return [
        Check("local server", ok=True, detail=one.told, fix=one.offer)
        for one in found
        if one.base_url not in known
    ]


async def check_sandbox() -> Check:
    """A file inside is read, one beside the root is refused, as in every call."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        root.mkdir()
        (root / "inside").write_text("x", encoding="utf-8")
        (Path(place) / "root-outside").write_text("x", encoding="utf-8")
        sandbox = Sandbox([root])
        try:
            await sandbox.read(["inside"], max_file_bytes=10)
            await sandbox.read(["../root-outside"], max_file_bytes=10)
        except SandboxRefused:
            return Check("sandbox", ok=True, detail="reads inside, refuses outside")
        except WorkersError as error:
            return Check("sandbox", ok=False, detail=str(error), fix="report this with the log")
    return Check("sandbox", ok=False, detail="it lets paths out", fix="do not use it; report this")


async def _store(engine: Engine) -> Check:
    path = engine.home.store_db

    def look(conn: sqlite3.Connection) -> str:
        return str(conn.execute("PRAGMA quick_check(1)").fetchone()[0])

    try:
        said = await engine.store.read(look)
    except WorkersError as error:
        return Check("store", ok=False, detail=str(error), fix=f"look at {path}")
    if said != "ok":
        fix = f"move {path} away: it is rebuilt from usage.jsonl"
        return Check("store", ok=False, detail=said, fix=fix)
    free = (await asyncio.to_thread(shutil.disk_usage, path.parent)).free
    health = await engine.ledger.health()
    detail = f"{path}: {plural(health.rows, 'ledger row')}, {free // 1_000_000:,} MB free"
    if health.bad_rows:
        detail += f", {plural(health.bad_rows, 'bad row')} in usage.jsonl"
    enough = free >= LEAST_FREE_BYTES
    return Check("store", enough, detail, None if enough else "free disk space")

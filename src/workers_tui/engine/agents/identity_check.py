"""A real round trip with an identity: does its address, key and model work, and what is wrong.

It sends one short message per model and asks for a token count; it costs a few
tokens. Answers are told in words a user can act on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from workers_tui.engine.agents.identities import SHORTEST_KEY
from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.network_words import cause_of

SECONDS = 30.0
COUNT_SECONDS = 5.0
VERSION = "2023-06-01"
NAMED = 6
"""Models named in an answer at most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the check."""

    ok: bool
    text: str
    fatal: bool = True
    """Whether the worker cannot be used when this is not ok."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check found."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """The worker can be used."""
        return all(one.ok or not one.fatal for one in self.findings)


class IdentityCheck:
    """Asks one endpoint."""

    def __init__(
        self, identity: Identity, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._identity = identity
        self._client = httpx.AsyncClient(
            transport=transport,
            timeout=SECONDS,
            trust_env=not identity.loopback,
            headers={"anthropic-version": VERSION, **identity.headers()},
        )

    async def run(self) -> Checked:
        """Check everything there is."""
        identity = self._identity
        if identity.problem:
            return Checked((Finding(False, identity.problem),))
        findings = []
        async with self._client:
            for model in dict.fromkeys([identity.model, *identity.models.values()]):
                finding = await self._model(model)
                findings.append(finding)
                if not finding.ok and model == identity.model:
                    break
            else:
                findings.append(await self._count())
        return Checked(tuple(findings))

    async def _model(self, model: str) -> Finding:
        body = {
            "model": model,
            "max_tokens": 16,
            "messages": [{"role": "user", "content": "Answer with the word ok."}],
        }
        try:
            reply = await self._client.post(f"{self._identity.base_url}/v1/messages", json=body)
        except httpx.HTTPError as wrong:
            return Finding(False, self._unreachable(wrong))
        if reply.status_code != 200:
            return Finding(False, await self._refused(model, reply))
        raw = as_object(reply)
        if raw.get("type") == "error" or "content" not in raw:
            said = error_text(raw) or f"a page that is no message ({media(reply)})"
            return Finding(
                False, f"{model}: the address answered with {said}: is it the right one?"
            )
        served = raw.get("model")
        other = f", served as {served}" if served and served != model else ""
        usage = raw.get("usage")
        if not isinstance(usage, dict) or not usage.get("output_tokens"):
            note = f"{model} answers{other}, but tells no usage: its cost will be unknown"
            return Finding(False, note, fatal=False)
        return Finding(True, f"{model} answers{other}")

    async def _count(self) -> Finding:
        url = f"{self._identity.base_url}/v1/messages/count_tokens"
        body = {"model": self._identity.model, "messages": [{"role": "user", "content": "ok"}]}
        try:
            reply = await self._client.post(url, json=body, timeout=COUNT_SECONDS)
        except httpx.HTTPError:
            return Finding(False, "count_tokens does not answer; estimates are used", fatal=False)
        if reply.status_code == 200 and "input_tokens" in as_object(reply):
            return Finding(True, "count_tokens answers")
        said = f"count_tokens is not there ({reply.status_code}); estimates are used"
        return Finding(False, said, fatal=False)

    def _unreachable(self, wrong: httpx.HTTPError) -> str:
        url = self._identity.base_url
        if isinstance(wrong, httpx.TimeoutException):
            return f"{url} did not answer within {SECONDS:.0f} s"
        return f"{url} cannot be reached ({cause_of(wrong)}): is the address right?"

    async def _refused(self, model: str, reply: httpx.Response) -> str:
        status, said = reply.status_code, error_text(as_object(reply))
        said = f": {said}" if said else f" ({media(reply)})"
        if status in {401, 403}:
            return f"{self._key_words()} {status}{said}"
        if status == 404 and "model" not in said:
            return f"there is no Messages API at {self._identity.base_url}, {status}{said}"
        if status in {400, 404}:
            return f"model {model} was refused, {status}{said}{await self._others()}"
        return f"{model}: {status}{said}"

    def _key_words(self) -> str:
        key = self._identity.key
        length = f"it has {len(key)} characters"
        if key.startswith("sk-or-v1-") and len(key) != OPENROUTER_KEY:
            return f"the key is not accepted; {length} instead of {OPENROUTER_KEY}: half a key?"
        if len(key) < 4 * SHORTEST_KEY:
            return f"the key is not accepted; {length}: half a key?"
        return f"the key is not accepted ({length});"

    async def _others(self) -> str:
        models = await list_models(self._client, self._identity.base_url)
        return f"; there are: {', '.join(models[:NAMED])}" if models else ""


OPENROUTER_KEY = 73


async def list_models(client: httpx.AsyncClient, base_url: str) -> list[str]:
    """Models the endpoint lists (Ollama: those that are pulled); none when it is silent."""
    for path, key, name in (("/api/tags", "models", "name"), ("/v1/models", "data", "id")):
        try:
            reply = await client.get(base_url + path, timeout=COUNT_SECONDS)
        except httpx.HTTPError:
            continue
        rows = as_object(reply).get(key)
        if reply.status_code == 200 and isinstance(rows, list):
            return [str(row[name]) for row in rows if isinstance(row, dict) and name in row]
    return []


def as_object(reply: httpx.Response) -> dict[str, Any]:
    """The body as a JSON object; empty when it is none."""
    try:
        raw = json.loads(reply.content)
    except (ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def error_text(raw: Mapping[str, Any]) -> str:
    """The provider's own words in any of the usual envelopes."""
    error = raw.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or "")
    return str(error or raw.get("message") or raw.get("msg") or "")


def media(reply: httpx.Response) -> str:
    """`text/html` and the like."""
    return str(reply.headers.get("content-type", "no content type")).partition(";")[0]

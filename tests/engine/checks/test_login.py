"""Logging in against the simulator, both ways, and what a stranger can do about it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from workers_tui.engine.checks import login as login_module
from workers_tui.engine.checks.login import Callback, exchange, login_page, make_challenge
from workers_tui.engine.errors import UpstreamFailed
from workers_tui.simulator.simulator import Simulator


async def get(url: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True, timeout=10) as client:
        return await client.get(url)


def test_the_page_carries_the_challenge_and_never_the_verifier() -> None:
    one, other = make_challenge(), make_challenge()
    assert one != other
    assert 43 <= len(one.verifier) <= 128
    digest = hashlib.sha256(one.verifier.encode()).digest()
    assert one.challenge == base64.urlsafe_b64encode(digest).decode().rstrip("=")
    page = login_page("https://openrouter.ai/api/v1", one, "http://127.0.0.1:9/callback")
    assert page.startswith("https://openrouter.ai/auth?")
    assert one.verifier not in page
    query = parse_qs(urlsplit(page).query)
    assert query["code_challenge"] == [one.challenge]
    assert query["code_challenge_method"] == ["S256"]
    assert "callback_url" not in login_page("https://openrouter.ai/api/v1", one, None)


async def test_a_browser_brings_the_code_back_and_it_becomes_a_key() -> None:
    challenge = make_challenge()
    async with Simulator() as provider, Callback() as callback:
        shown = await get(login_page(provider.url, challenge, callback.url))
        key = await exchange(provider.url, await callback.code(), challenge)
    assert "close this page" in shown.text
    assert key in provider.account.keys


async def test_a_code_that_was_pasted_becomes_a_key_once() -> None:
    challenge = make_challenge()
    async with Simulator() as provider:
        page = await get(login_page(provider.url, challenge, None))
        found = re.search("<code>(.*?)</code>", page.text)
        assert found is not None
        key = await exchange(provider.url, f" {found[1]}\n", challenge)
        with pytest.raises(UpstreamFailed, match="used or older") as caught:
            await exchange(provider.url, found[1], challenge)
    assert key in provider.account.keys
    assert caught.value.status == 403


async def test_a_strangers_code_is_worth_nothing() -> None:
    mine, theirs = make_challenge(), make_challenge()
    async with Simulator() as provider:
        page = await get(login_page(provider.url, theirs, None))
        found = re.search("<code>(.*?)</code>", page.text)
        assert found is not None
        with pytest.raises(UpstreamFailed, match="403"):
            await exchange(provider.url, found[1], mine)


async def test_other_requests_do_not_disturb_the_wait() -> None:
    async with Callback() as callback:
        root = callback.url.removesuffix("/callback")
        for path in ("/", "/favicon.ico", "/callback", "/callback?state=1"):
            assert (await get(root + path)).status_code == 404
        reader, writer = await asyncio.open_connection(*_address(root))
        writer.write(b"\x16\x03\x01 no http\r\n")
        await reader.read()
        writer.close()
        await get(f"{callback.url}?code=abc")
        assert await asyncio.wait_for(callback.code(), 5) == "abc"


def _address(url: str) -> tuple[str, int]:
    place = urlsplit(url)
    return str(place.hostname), int(place.port or 0)


async def test_a_refusal_in_the_browser_ends_the_wait() -> None:
    async with Callback() as callback:
        await get(f"{callback.url}?error=access_denied")
        with pytest.raises(UpstreamFailed, match="refused"):
            await callback.code()


async def test_nobody_coming_back_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_module, "PATIENCE", 0.01)
    async with Callback() as callback:
        with pytest.raises(UpstreamFailed, match="--headless"):
            await callback.code()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(200, "<html>", "no key"), (200, "[]", "no key"), (200, '{"key": ""}', "no key"),
     (200, "[" * 100_000, "no key"), (400, "{}", "method"), (500, "oops", "500")],
)  # fmt: skip
async def test_an_answer_without_a_key_is_a_clear_failure(
    status: int, body: str, said: str
) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, text=body))
    with pytest.raises(UpstreamFailed, match=said):
        await exchange("https://openrouter.ai/api/v1", "c", make_challenge(), transport)


async def test_a_provider_that_cannot_be_reached_is_named() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(UpstreamFailed, match=r"openrouter\.ai.* cannot be reached: refused"):
        await exchange(
            "https://openrouter.ai/api/v1", "c", make_challenge(), httpx.MockTransport(refuse)
        )

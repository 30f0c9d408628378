"""Finding model servers on this machine."""

from __future__ import annotations

import json

import httpx

from workers_tui.engine.checks.local_servers import find_local_servers


async def test_servers_that_list_models_are_found_and_offered() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.port == 11434:
            return httpx.Response(200, json={"data": [{"id": "qwen3:8b"}, {"id": 7}, "x"]})
        if request.url.port == 8080:
            return httpx.Response(200, text="<html>another program</html>")
        raise httpx.ConnectError("refused")

    (found,) = await find_local_servers(transport=httpx.MockTransport(answer))
    assert (found.name, found.models) == ("ollama", ("qwen3:8b",))
    assert found.base_url == "http://127.0.0.1:11434/v1"
    assert "qwen3:8b" in found.told
    providers = found.offer.split("providers ")[1].split(", tiers")[0]
    assert json.loads(providers) == {"ollama": {"base_url": found.base_url}}


async def test_nothing_there_is_nothing_found() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    assert await find_local_servers(transport=httpx.MockTransport(refuse)) == []


async def test_an_answer_that_is_nested_too_deeply_is_no_server() -> None:
    deep = httpx.MockTransport(lambda _: httpx.Response(200, text="[" * 100_000))
    assert await find_local_servers(transport=deep) == []

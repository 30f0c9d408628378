"""Logging in without pasting a key: the code and its verifier."""

from __future__ import annotations

import base64
import hashlib

import httpx

from workers_tui.simulator.scenario import Scenario
from workers_tui.simulator.simulator import Simulator

VERIFIER = "a-verifier-of-good-length"
DIGEST = hashlib.sha256(VERIFIER.encode()).digest()
CHALLENGE = base64.urlsafe_b64encode(DIGEST).rstrip(b"=").decode()


async def test_a_code_becomes_a_key_once_and_the_key_opens() -> None:
    async with Simulator(Scenario(keys=("other",))) as sim, httpx.AsyncClient() as client:
        query = {
            "callback_url": "http://localhost:9/cb",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        back = await client.get(f"{sim.root}/auth", params=query)
        code = httpx.URL(back.headers["location"]).params["code"]
        ask = {"code": code, "code_verifier": VERIFIER, "code_challenge_method": "S256"}
        first = await client.post(f"{sim.url}/auth/keys", json=ask)
        again = await client.post(f"{sim.url}/auth/keys", json=ask)
        bearer = {"authorization": f"Bearer {first.json()['key']}"}
        opened = await client.get(f"{sim.url}/key", headers=bearer)
    assert (first.status_code, again.status_code, opened.status_code) == (200, 403, 200)


async def test_a_wrong_verifier_is_refused() -> None:
    async with Simulator() as sim, httpx.AsyncClient() as client:
        query = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
        page = await client.get(f"{sim.root}/auth", params=query)
        code = page.text.partition("<code>")[2].partition("</code>")[0]
        ask = {"code": code, "code_verifier": "wrong", "code_challenge_method": "S256"}
        reply = await client.post(f"{sim.url}/auth/keys", json=ask)
    assert reply.status_code == 403

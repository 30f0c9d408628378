"""The protocol's own conformance suite against our server, with a written baseline."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.peers.bearer_proxy import bearer_proxy
from tests.peers.peers import peer
from tests.peers.programs import output_of
from tests.peers.shop import Shop

from workers_tui.home.places import Home
from workers_tui.home.server_record import read_token

pytestmark = [pytest.mark.peers, pytest.mark.timeout(180)]

BASELINE = Path(__file__).with_name("fixtures") / "conformance-baseline.yaml"


async def test_the_server_conforms_but_for_the_baseline(home: Home, tmp_path: Path) -> None:
    node, suite = peer("node"), peer("conformance")
    shop = Shop(home, "http://127.0.0.1:9/api/v1")
    async with shop.open() as (_, host):
        assert host.url is not None
        port = int(host.url.split(":")[2].split("/")[0])
        async with bearer_proxy(port, read_token(home) or "") as open_port:
            url = f"http://127.0.0.1:{open_port}/mcp"
            code, said = await output_of(
                *(node, suite.resolve(), "server", "--url", url),
                *("--expected-failures", BASELINE),
                home=tmp_path,
            )
    assert code == 0, said

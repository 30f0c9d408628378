"""The program in processes of its own, against a provider on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.program import Program, Zygote
from tests.contracts.upstream import Provider


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here is of whole processes: they run apart from the fast ones."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.processes)


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    """Behaves as each request asks for; shared, so nobody changes its scenario."""
    made = Provider()
    yield made
    made.stop()


@pytest.fixture
def own_provider() -> Iterator[Provider]:
    """One whose scenario a test may change."""
    made = Provider()
    yield made
    made.stop()


@pytest.fixture
def program(zygote: Zygote, provider: Provider, tmp_path: Path) -> Iterator[Program]:
    """A fresh user."""
    made = Program(zygote, tmp_path / "fresh", provider.url)
    yield made
    made.stop()

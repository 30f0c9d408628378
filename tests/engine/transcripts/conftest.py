"""A tree of transcripts and a follower of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.engine.follow_kit import Following
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store import Store
from workers_tui.home.places import Home


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "claude")
    tree.write(line(), name="old")
    return tree


@pytest.fixture
async def start(home: Home, tree: Tree) -> AsyncIterator[Callable[..., Following]]:
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    made: list[Following] = []

    def begin(**environ: str) -> Following:
        made.append(Following(home, store, environ, tree))
        return made[-1]

    yield begin
    for one in made:
        await one.close()
    await store.close()

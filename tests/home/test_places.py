"""Where things lie."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest

from workers_tui.home.places import APP, find_home


def test_workers_home_keeps_everything_flat(tmp_path: Path) -> None:
    home = find_home({"WORKERS_HOME": str(tmp_path)})
    assert home.models_json == tmp_path / "models.json"
    assert home.store_db == tmp_path / "store.db"
    assert home.token == tmp_path / "token"


def test_an_option_wins_over_the_environment(tmp_path: Path) -> None:
    assert find_home({"WORKERS_HOME": "/elsewhere"}, flat=tmp_path).state == tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="platformdirs adds an author directory there")
def test_without_it_the_platforms_directories_are_used() -> None:
    home = find_home({})
    assert home.config == Path(platformdirs.user_config_dir(APP))
    assert home.state == Path(platformdirs.user_state_dir(APP))


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="has no such variables")
def test_a_relative_xdg_directory_is_ignored_as_its_specification_says() -> None:
    relative = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "./config"}
    assert find_home(relative) == find_home({})

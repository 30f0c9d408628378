"""What the demo shows at its first look, before anything was asked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from workers_tui.cli.demo import AGENT_MODEL, CLAUDE_MODEL
from workers_tui.cli.demo_client import WORKER
from workers_tui.cli.demo_transcripts import Session, write_transcript
from workers_tui.engine.transcripts.transcript_files import MANAGER, find_sources, list_files


def test_its_transcripts_lie_where_claudes_and_the_workers_are_looked_for(tmp_path: Path) -> None:
    claude, workers = tmp_path / "claude", tmp_path / "workers"
    hour = timedelta(hours=1)
    project = tmp_path / "shop"
    write_transcript(Session(claude, "demo-1", CLAUDE_MODEL, 3, 100, hour), project)
    write_transcript(Session(workers / WORKER, "by-hand", AGENT_MODEL, 2, 100, hour), project)
    environ = {"CLAUDE_CONFIG_DIR": str(claude), "CLAUDE_WORKERS_ROOT": str(workers)}
    found = {
        source.owner: [Path(file.path).read_text() for file in list_files(source).files]
        for source in find_sources(environ)
    }
    assert found[MANAGER][0].count(f'"model": "{CLAUDE_MODEL}"') == 3
    assert found[WORKER][0].count(f'"model": "{AGENT_MODEL}"') == 2

"""Every command that a document or a message names exists, with its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from workers_tui.cli.main import workers_tui

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "workers_tui"
DOCUMENTS = sorted(
    [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *SOURCE.glob("plugin/**/*.md")]
)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`(workers-tui [^`]+)`")
BLOCK_LINE = re.compile(r"^(workers-tui [^#\n]+)", re.MULTILINE)
ENDS = re.compile(r"[|&<>…]| #|\{")
"""Where a shell, a comment or a placeholder goes on."""


def named(text: str) -> Iterator[str]:
    """The command lines in a text, without our program's name."""
    blocks = "\n".join(FENCE.findall(text))
    for pattern, where in ((QUOTED, FENCE.sub("", text)), (BLOCK_LINE, blocks)):
        for match in pattern.finditer(where):
            yield ENDS.split(match[1].replace("\n", " "))[0].removeprefix("workers-tui").strip()


def wrong(line: str) -> str:
    """What is wrong with a command line; empty when nothing is."""
    command: click.Command = workers_tui
    parent = click.Context(workers_tui)
    known = set[str]()
    for word in shlex.split(line):
        known |= {option for param in command.params for option in param.opts}
        known |= {option for param in command.params for option in param.secondary_opts}
        if word.startswith("-"):
            if word.partition("=")[0] not in {*known, "--help", "--version"}:
                return f"no option {word} in: {line}"
        elif isinstance(command, click.Group):
            found = command.get_command(parent, word)
            if found is None:
                return f"no command {word} in: {line}"
            command = found
    return ""


def test_the_check_itself_sees_what_is_wrong() -> None:
    assert wrong("connect --scope user --remove") == ""
    assert wrong("worker set-key glm") == ""
    assert "--gone" in wrong("connect --gone")
    assert "gone" in wrong("worker gone x")
    assert list(named("a `workers-tui key set X`\n```\nworkers-tui stats  # c\n```\n")) == [
        "key set X",
        "stats",
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_documents_name_commands_that_exist(path: Path) -> None:
    lines = list(named(path.read_text(encoding="utf-8")))
    assert [said for line in lines if (said := wrong(line))] == []
    if path.name == "README.md" and path.parent == REPOSITORY:
        assert len(lines) > 10


def test_messages_name_commands_that_exist() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    lines = [match[1] for text in texts.values() for match in QUOTED.finditer(text)]
    said = [wrong(ENDS.split(line.removeprefix("workers-tui"))[0]) for line in lines]
    assert [one for one in said if one] == []
    assert len(lines) > 20

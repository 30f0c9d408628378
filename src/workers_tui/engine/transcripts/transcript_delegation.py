"""What the lines of a session that delegates say: who was asked, what came back.

Only lines that may say such a thing are looked into here; the price of a full
decode is not paid for others. A shape that nobody knows says nothing.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

DELEGATE = "__delegate"
"""In the names of tools that may delegate, and of no tool of Claude Code's own."""
DELEGATES = re.compile(r"mcp__.*__(delegate|delegate_batch|delegate_start|delegate_followup)$")
READERS = frozenset({"Read", "NotebookRead"})
JOB_KEYS = ("workers-tui/job", "workers-tui/jobs")


class Delegation(msgspec.Struct, array_like=True, gc=False):
    """Claude Code asked a worker."""

    tool_use: str
    session: str
    at: str
    tool: str
    files: list[str]
    """As given; relative ones start at `cwd`."""
    cwd: str


class Returned(msgspec.Struct, array_like=True, gc=False):
    """A worker's answer came back to Claude Code."""

    tool_use: str
    jobs: list[str]
    chars: int
    """Length of the text that entered Claude's context."""


class OwnRead(msgspec.Struct, array_like=True, gc=False):
    """Claude Code read a file itself, in a session that delegates."""

    tool_use: str
    session: str
    at: str
    path: str


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None


class _Content(msgspec.Struct, gc=False):
    content: list[_Block] | str | None = None


class _Deep(msgspec.Struct, gc=False):
    message: _Content | None = None
    cwd: str | None = None
    meta: Any = msgspec.field(default=None, name="mcpMeta")

    @property
    def blocks(self) -> list[_Block]:
        content = self.message.content if self.message else None
        return content if isinstance(content, list) else []


_decode_deep = msgspec.json.Decoder(_Deep).decode


def _deep(raw: bytes) -> _Deep:
    try:
        return _decode_deep(raw)
    except (ValueError, RecursionError):
        return _Deep()  # a shape we do not know says nothing about delegation


def tool_uses(raw: bytes, session: str, at: str) -> tuple[list[Delegation], list[OwnRead]]:
    """The delegations and own reads that an assistant line asks for."""
    asked, read = [], []
    deep = _deep(raw)
    for block in deep.blocks:
        if block.type != "tool_use" or not block.id:
            continue
        given = block.input if isinstance(block.input, dict) else {}
        if DELEGATES.match(block.name):
            files = _files_of(given)
            asked.append(Delegation(block.id, session, at, block.name, files, deep.cwd or ""))
        elif block.name in READERS and isinstance(given.get("file_path"), str):
            read.append(OwnRead(block.id, session, at, given["file_path"]))
    return asked, read


def _files_of(given: dict[str, Any]) -> list[str]:
    """The files of a call, or of every call of a batch."""
    jobs = given.get("jobs")
    requests = [given, *(jobs if isinstance(jobs, list) else [])]
    lists = [request.get("files") for request in requests if isinstance(request, dict)]
    return [name for files in lists if isinstance(files, list) for name in files if _text(name)]


def _text(value: object) -> bool:
    return isinstance(value, str)


def returned(raw: bytes) -> Returned | None:
    """What a tool result of ours brought back, or None when the line is something else."""
    deep = _deep(raw)
    meta = deep.meta.get("_meta") if isinstance(deep.meta, dict) else None
    block = next((block for block in deep.blocks if block.tool_use_id), None)
    if block is None or not isinstance(meta, dict):
        return None
    jobs = [job for key in JOB_KEYS for job in _job_ids(meta.get(key))]
    return Returned(block.tool_use_id, jobs, _length(block.content)) if jobs else None


def _job_ids(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return _job_ids(value.get(JOB_KEYS[0]) or value.get("id"))
    if isinstance(value, list):
        return [name for item in value for name in _job_ids(item)]
    return []


def _length(content: object) -> int:
    if isinstance(content, str):
        return len(content)
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return sum(len(text) for text in texts if isinstance(text, str))
    return 0

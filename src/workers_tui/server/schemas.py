"""The tools' names, descriptions and schemas, written by hand and kept short.

The premium model pays for every word of them in every session: the whole list
stays under 1,500 tokens. `python -m workers_tui.server.schemas` writes the copy
that the forwarder answers from; a test holds the two equal.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from workers_tui.forwarder.tool_list import FILE, TIERS

Schema = dict[str, Any]

DELEGATING = frozenset({"delegate", "delegate_batch", "delegate_start", "delegate_followup"})
"""Hidden and refused while delegation is off."""

MODES = ("auto", "ondemand", "off")

AUTO = (
    "Cheap worker models do bulk work for you: summarising, extracting, boilerplate, tests, "
    "reviewing long files. Hand over with delegate: name paths in `files`, do not read or paste "
    "them first; they never enter your context. Several tasks at once: delegate_batch. Work that "
    "needs tools in a directory: delegate_start. Check what comes back. A reply's first line has "
    "the job id; delegate_result pages through long answers."
)
ON_DEMAND = (
    "Worker models are here for when the user asks to delegate; do not use them unasked. "
    "delegate takes paths in `files`, delegate_batch several tasks, delegate_start a working "
    "directory; delegate_result pages through long answers."
)
OFF = "The user has turned delegation off. Results of earlier jobs can still be read."
INSTRUCTIONS = {"auto": AUTO, "ondemand": ON_DEMAND, "off": OFF}

ALWAYS_LOAD = {"anthropic/alwaysLoad": True}


def text(description: str = "") -> Schema:
    return {"type": "string", "description": description} if description else {"type": "string"}


def number(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def texts(description: str = "") -> Schema:
    schema: Schema = {"type": "array", "items": {"type": "string"}}
    return {**schema, "description": description} if description else schema


def shape(required: list[str], **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


WAIT = number(0, 3600)
CALL = {
    "task": text(),
    "tier": text(f"{TIERS}"),
    "files": texts("path, glob, directory, or path:10-200"),
    "write_to": text("save the answer here; you get the first 20 lines"),
    "max_tokens": number(1, 1_000_000),
}


def tool(
    name: str,
    description: str,
    schema: Schema,
    *,
    read_only: bool = False,
    always: bool = False,
) -> Schema:
    made: Schema = {"name": name, "description": description, "inputSchema": schema}
    if read_only:
        made["annotations"] = {"readOnlyHint": True}
    if always:
        made["_meta"] = ALWAYS_LOAD
    return made


def tool_list(mode: str) -> list[Schema]:
    """The tools of one delegation mode, with a gap where the tiers are named."""
    tools = [*_calls(mode), *_agents(mode), *_jobs()]
    return [made for made in tools if mode != "off" or made["name"] not in DELEGATING]


def _when(mode: str) -> str:
    return "Only when the user asks: " if mode == "ondemand" else ""


def _calls(mode: str) -> list[Schema]:
    plain = {key: value if key == "tier" else _bare(value) for key, value in CALL.items()}
    plain["tier"] = text()
    return [
        tool(
            "delegate",
            _when(mode) + "one task for a cheap model, which gets the files' content and answers "
            "in text. For parallel tasks use delegate_batch.",
            shape(["task"], **CALL),
            always=True,
        ),
        tool(
            "delegate_batch",
            _when(mode) + "up to 100 delegate tasks in parallel, answers in order.",
            shape(
                ["jobs"],
                jobs={
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 100,
                    "items": shape(["task"], **plain),
                },
            ),
            always=True,
        ),
    ]


def _bare(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "description"}


def _agents(mode: str) -> list[Schema]:
    return [
        tool(
            "delegate_start",
            _when(mode) + "a worker agent with file tools does a longer job in cwd; returns a job "
            "id at once unless wait_seconds.",
            shape(
                [],
                prompt=text(),
                prompt_file=text(),
                worker=text("see worker_models"),
                model=text(),
                small_model=text(),
                cwd=text(),
                add_dirs=texts(),
                max_turns=number(1, 1000),
                allowed_tools=texts(),
                disallowed_tools=texts(),
                permission_mode=text(),
                append_system_prompt=text(),
                wait_seconds=WAIT,
            ),
        ),
        tool(
            "delegate_followup",
            _when(mode) + "go on with an agent job.",
            shape(
                [],
                job_id=text(),
                session_id=text(),
                prompt=text(),
                prompt_file=text(),
                permission_mode=text(),
                max_turns=number(1, 1000),
                wait_seconds=WAIT,
            ),
        ),
    ]


def _jobs() -> list[Schema]:
    return [
        tool(
            "delegate_status",
            "State and latest steps of a job.",
            shape(["job_id"], job_id=text(), wait_seconds=WAIT, progress_limit=number(0, 200)),
            read_only=True,
        ),
        tool(
            "delegate_result",
            "A job's answer, in pages.",
            shape(["job_id"], job_id=text(), wait_seconds=WAIT, offset=number(0, 1_000_000_000)),
            read_only=True,
        ),
        tool("delegate_cancel", "Stop a job.", shape(["job_id"], job_id=text())),
        tool(
            "delegate_list",
            "Jobs, newest first.",
            shape([], state=text(), limit=number(1, 200)),
            read_only=True,
        ),
        tool("worker_stats", "Spend, cap and calls per tier.", shape([]), read_only=True),
        tool("worker_models", "Agent workers and their models.", shape([]), read_only=True),
    ]


def generated() -> str:
    """The text of the forwarder's file."""
    value = {"instructions": INSTRUCTIONS, "tools": {mode: tool_list(mode) for mode in MODES}}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    Path(FILE).write_text(generated(), encoding="utf-8")
    sys.stdout.write(f"wrote {FILE}\n")

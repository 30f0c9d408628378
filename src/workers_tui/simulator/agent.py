"""A stand-in for Claude Code in the demo: `python -m workers_tui.simulator.agent`.

It speaks the same stream of events and asks through the same gateway, so an
agent of the demo is started, metered, shown and stopped as a real one. Its
tools only look: Glob and Read, below the directory it works in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

VERSION = "2.1.0"
TOOL_TAKES = 1.2
"""Seconds that a tool seems to work, so that one can watch."""
SHOWN = 40
"""Lines or names that a tool gives."""


TRIES = 3
BUSY = frozenset({429, 500, 502, 503, 529})
WAIT = 2.0
"""Seconds before it asks again."""


class Failed(Exception):
    """The gateway or the model refused a request."""

    def __init__(self, said: str, status: int = 0) -> None:
        super().__init__(said)
        self.status = status


def tell(**event: Any) -> None:
    """One event on standard output."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def flag(name: str) -> str:
    """The value of a flag on the command line, empty without it."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""


class Conversation:
    """One session: what was said so far, and the way to the model."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.session = flag("--session-id") or flag("--resume")
        self._settings = settings
        self._kept = Path(os.environ["CLAUDE_CONFIG_DIR"]) / f"{self.session}.json"
        self._said: list[dict[str, Any]] = []
        if flag("--resume") and self._kept.exists():
            self._said = json.loads(self._kept.read_text(encoding="utf-8"))

    def turn(self, prompt: str) -> str:
        """Work on a prompt until the model uses no tool any more; its last words."""
        self._said.append({"role": "user", "content": prompt})
        for number in range(int(flag("--max-turns") or 10)):
            blocks = self._ask_on()
            message = {"id": f"msg_{number}_{time.monotonic_ns()}", "content": blocks}
            tell(type="assistant", message=message, parent_tool_use_id=None)
            self._said.append({"role": "assistant", "content": blocks})
            results = [result_of(block) for block in blocks if block["type"] == "tool_use"]
            if not results:
                break
            tell(type="user", message={"content": results}, parent_tool_use_id=None)
            self._said.append({"role": "user", "content": results})
        self._kept.write_text(json.dumps(self._said), encoding="utf-8")
        return "".join(block.get("text", "") for block in blocks)

    def _ask_on(self) -> list[dict[str, Any]]:
        """A request, asked again while the provider is busy. Raises Failed."""
        for attempt in range(1, TRIES):
            try:
                return self._ask()
            except Failed as wrong:
                if wrong.status not in BUSY:
                    raise
                wait = {"attempt": attempt, "retry_delay_ms": WAIT * 1000}
                tell(type="system", subtype="api_retry", error_status=wrong.status, **wait)
                time.sleep(WAIT)
        return self._ask()

    def _ask(self) -> list[dict[str, Any]]:
        """One streamed request through the gateway. Raises Failed."""
        env = self._settings["env"]
        helper = ["sh", "-c", self._settings["apiKeyHelper"]]
        token = subprocess.run(helper, capture_output=True, text=True, check=True).stdout.strip()
        body = {
            "model": env["ANTHROPIC_MODEL"],
            "max_tokens": int(env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]),
            "stream": True,
            "system": flag("--system-prompt"),
            "messages": self._said,
            "tools": [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS],
        }
        request = urllib.request.Request(  # noqa: S310 - the gateway, on loopback
            env["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true",
            json.dumps(body).encode(),
            {
                "authorization": f"Bearer {token}",
                "content-type": "application/json",
                "x-claude-code-session-id": self.session,
            },
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as reply:
                return blocks_of(events_of(reply))
        except urllib.error.HTTPError as wrong:
            said = json.loads(wrong.read())["error"]["message"]
            raise Failed(f"API Error: {wrong.code} {said}", wrong.code) from wrong


def events_of(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The model's events, each passed on as it comes."""
    for line in lines:
        if line.startswith(b"data:"):
            event = json.loads(line[5:])
            tell(type="stream_event", event=event, parent_tool_use_id=None)
            yield event


def blocks_of(events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of one message, whole."""
    blocks: list[dict[str, Any]] = []
    typed = ""
    for event in events:
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
            typed = ""
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                blocks[-1]["text"] += delta["text"]
            elif delta["type"] == "input_json_delta":
                typed += delta["partial_json"]
        elif event["type"] == "content_block_stop" and typed:
            blocks[-1]["input"] = json.loads(typed)
            typed = ""
        elif event["type"] == "error":
            raise Failed(event["error"]["message"])
    return blocks


def result_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gives."""
    time.sleep(TOOL_TAKES)
    tool = TOOLS.get(block["name"])
    text = tool(block["input"]) if tool else f"there is no tool {block['name']}"
    return {"type": "tool_result", "tool_use_id": block["id"], "content": text}


def _glob(asked: Mapping[str, Any]) -> str:
    here = Path.cwd()
    found = sorted(str(path.relative_to(here)) for path in here.glob(asked["pattern"]))
    return "\n".join(found[:SHOWN]) or "No files found"


def _read(asked: Mapping[str, Any]) -> str:
    here = Path.cwd()
    path = (here / asked["file_path"]).resolve()
    if not path.is_relative_to(here) or not path.is_file():
        return "There is no such file here."
    return "\n".join(path.read_text(encoding="utf-8").splitlines()[:SHOWN])


TOOLS = {"Glob": _glob, "Read": _read}


def work(prompt: str) -> None:
    """One prompt from start to result."""
    settings = json.loads(Path(flag("--settings")).read_text(encoding="utf-8"))
    one = Conversation(settings)
    tell(type="system", subtype="init", session_id=one.session, claude_code_version=VERSION)
    try:
        done = {"result": one.turn(prompt), "is_error": False}
    except Failed as wrong:
        done = {"result": str(wrong), "is_error": True}
    tell(type="result", subtype="success", terminal_reason="completed", **done)


def main() -> None:
    """Prompts come on standard input; an interrupt ends the program."""
    if "--version" in sys.argv:
        sys.stdout.write(f"{VERSION} (a stand-in)\n")
        return
    at_work: list[threading.Thread] = []
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "user":
            prompt = message["message"]["content"]
            at_work.append(threading.Thread(target=work, args=(prompt,), daemon=True))
            at_work[-1].start()
        elif message["type"] == "control_request":
            tell(type="result", subtype="error_during_execution", is_error=True, result="")
            return
    for thread in at_work:  # no further prompt comes: what was asked is still answered
        thread.join()


if __name__ == "__main__":
    main()

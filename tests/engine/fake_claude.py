"""A stand-in for Claude Code that speaks its stream of events and asks through the gateway.

What it does is told by the prompt: `ask N` sends N requests, `tool NAME` pretends a
tool call, `hang` waits for an interrupt, `die` ends without a result, `retry` says
that it waits, `pause` takes a second before its result, `linger` stays after it,
`deny` lists a denial, `orphan N` leaves a sleeping child.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

VERSION = os.environ.get("FAKE_CLAUDE_VERSION", "2.1.197 (Claude Code)")


def flag(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""


def tell(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def ask(settings: dict[str, Any], prompt: str) -> tuple[int, str]:
    """One streamed request through the gateway; status and text."""
    helper = settings["apiKeyHelper"]
    token = subprocess.run(["sh", "-c", helper], capture_output=True, text=True, check=True)
    body = {
        "model": settings["env"]["ANTHROPIC_MODEL"],
        "max_tokens": 1000,
        "stream": True,
        "messages": [{"role": "user", "content": prompt}],
    }
    request = urllib.request.Request(  # noqa: S310 - loopback, given by the test
        settings["env"]["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true",
        json.dumps(body).encode(),
        {
            "authorization": f"Bearer {token.stdout.strip()}",
            "content-type": "application/json",
            "x-claude-code-session-id": flag("--session-id") or flag("--resume"),
        },
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as reply:
            return reply.status, text_of(reply.read().decode())
    except urllib.error.HTTPError as wrong:
        return wrong.code, json.loads(wrong.read())["error"]["message"]


def text_of(stream: str) -> str:
    events = [json.loads(line[5:]) for line in stream.splitlines() if line.startswith("data:")]
    return "".join(one["delta"].get("text", "") for one in events if "delta" in one)


def result(text: str, **more: Any) -> None:
    base = {"subtype": "success", "is_error": False, "terminal_reason": "completed"}
    tell(type="result", result=text, total_cost_usd=0.5, **{**base, **more})


def turn(prompt: str, settings: dict[str, Any]) -> None:
    session = flag("--session-id") or flag("--resume")
    tell(type="system", subtype="init", session_id=session, claude_code_version="2.1.197")
    words = prompt.split()
    if "retry" in words:
        tell(type="system", subtype="api_retry", attempt=1, retry_delay_ms=9000, error_status=529)
    if "hang" in words:
        return
    if "die" in words:
        sys.stderr.write("it went badly\n")
        sys.exit(3)
    if "orphan" in words:
        subprocess.Popen(["sleep", words[-1]], start_new_session=True)
    if "tool" in words:
        block = {
            "type": "tool_use",
            "id": "t1",
            "name": words[words.index("tool") + 1],
            "input": {},
        }
        tell(type="assistant", message={"id": "m1", "content": [block]}, parent_tool_use_id=None)
        done = {"type": "tool_result", "tool_use_id": "t1", "content": "fine"}
        tell(type="user", message={"content": [done]}, parent_tool_use_id=None)
    said = ""
    for number in range(int(words[words.index("ask") + 1]) if "ask" in words else 1):
        status, said = ask(settings, prompt)
        if status != 200:
            result(f"API Error: {status} {said}", is_error=True, api_error_status=status)
            return
        delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": said}}
        tell(type="stream_event", event=delta, parent_tool_use_id=None)
        block = {"type": "text", "text": said}
        tell(type="assistant", message={"id": f"a{number}", "content": [block]})
    if "pause" in words:
        time.sleep(1)
    denial = {"tool_name": "Write", "tool_input": {"file_path": "x"}}
    result(said, permission_denials=[denial] if "deny" in words else [])
    if "linger" in words:
        time.sleep(3600)


def main() -> None:
    if "--version" in sys.argv:
        print(VERSION)
        return
    settings = json.loads(Path(flag("--settings")).read_text())
    config = Path(os.environ["CLAUDE_CONFIG_DIR"])
    (config / "seen.json").write_text(json.dumps({"env": dict(os.environ), "argv": sys.argv}))
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "user":
            turn(message["message"]["content"], settings)
        elif message["request"]["subtype"] == "interrupt":
            result("", subtype="error_during_execution", terminal_reason="aborted_streaming")


main()

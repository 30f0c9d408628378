"""Row 8: CPU per streamed chunk, ours beside bare httpx + httpx-sse + json on the same stream.

    python benchmarks/chunk_cpu.py [--pairs 7] [--streams 8] [--chunks 2000] [--rate 100]

An upstream in a process of its own sends the chunks; each side reads them in a
fresh process and tells the CPU time it used for reading alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from typing import Any

CHUNK = {
    "id": "gen-1764031697-abcdefghijklmnop",
    "provider": "Acme",
    "model": "acme/model-1",
    "object": "chat.completion.chunk",
    "created": 1764031697,
    "choices": [
        {
            "index": 0,
            "delta": {"role": "assistant", "content": " token"},
            "finish_reason": None,
            "native_finish_reason": None,
            "logprobs": None,
        }
    ],
    "system_fingerprint": "fp_abc",
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 2000, "cost": 0.0001}


def main() -> None:
    """Print both medians and their ratio."""
    args = _arguments()
    if args.role:
        asyncio.run({"serve": serve, "bare": bare, "ours": ours}[args.role](args))
        return
    server = subprocess.Popen([*_again(args), "--role", "serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        pairs = [
            (_measure(args, "bare", port), _measure(args, "ours", port)) for _ in range(args.pairs)
        ]
    finally:
        server.kill()
    bare_us = statistics.median(one for one, _ in pairs)
    ours_us = statistics.median(two for _, two in pairs)
    ratio = statistics.median(two / one for one, two in pairs)
    print(f"bare {bare_us:.1f} us a chunk, ours {ours_us:.1f} us, ratio {ratio:.2f} (target 1.3)")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=400, help="chunks a second per stream")
    parser.add_argument("--role", choices=["serve", "bare", "ours"])
    parser.add_argument("--port", type=int, default=0)
    return parser.parse_args()


def _again(args: argparse.Namespace) -> list[str]:
    numbers = ["streams", "chunks", "rate"]
    given = [part for name in numbers for part in (f"--{name}", str(getattr(args, name)))]
    return [sys.executable, __file__, *given]


def _measure(args: argparse.Namespace, role: str, port: int) -> float:
    run = [*_again(args), "--role", role, "--port", str(port)]
    return float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


async def serve(args: argparse.Namespace) -> None:
    """Send the chunks at the wanted rate, each in a write of its own."""
    chunk = _event(CHUNK)
    end = _event({**CHUNK, "choices": [{**CHUNK["choices"][0], "finish_reason": "stop"}]})  # type: ignore[index]
    last = (
        end + _event({"id": "gen-1", "choices": [], "usage": USAGE}) + _framed(b"data: [DONE]\n\n")
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )
        start = time.monotonic()
        for number in range(args.chunks):
            writer.write(chunk)
            await writer.drain()
            ahead = start + number / args.rate - time.monotonic()
            if ahead > 0:
                await asyncio.sleep(ahead)
        writer.write(last + b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _event(value: Any) -> bytes:
    return _framed(b"data: " + json.dumps(value).encode() + b"\n\n")


def _framed(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def bare(args: argparse.Namespace) -> None:
    """What anybody would write first."""
    import httpx
    from httpx_sse import EventSource

    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:

        async def one() -> int:
            text = []
            async with client.stream("POST", _url(args), json={"stream": True}) as response:
                async for event in EventSource(response).aiter_sse():
                    if event.data == "[DONE]":
                        break
                    choices = json.loads(event.data)["choices"]
                    if choices:
                        text.append(choices[0]["delta"].get("content") or "")
            return len("".join(text))

        await _timed(args, one)


async def ours(args: argparse.Namespace) -> None:
    """The engine's way: clocks, parsing, text to disk and to the board."""
    import tempfile
    from pathlib import Path

    from workers_tui.engine.board import Board
    from workers_tui.engine.calls.answer import Reading
    from workers_tui.engine.calls.live_text import LiveText
    from workers_tui.engine.calls.running import Running
    from workers_tui.engine.calls.upstream import Upstream, UpstreamRequest
    from workers_tui.engine.clock import SystemClock
    from workers_tui.engine.jobs.job import CallRequest, Origin

    clock, board = SystemClock(), Board()
    upstream = Upstream(clock)
    request = UpstreamRequest("bench", _url(args), {}, {"stream": True})
    with tempfile.TemporaryDirectory() as folder:

        async def one() -> int:
            run = Running(str(id(object())), CallRequest(""), Origin(()))
            path = Path(folder) / f"{time.monotonic_ns()}.txt"
            text = LiveText.open(path, run, board, clock)
            await upstream.stream(request, Reading(), text.add)
            await text.close()
            return run.chars

        await _timed(args, one)
    await upstream.close()


def _url(args: argparse.Namespace) -> str:
    return f"http://127.0.0.1:{args.port}/v1/chat/completions"


async def _timed(args: argparse.Namespace, one: Any) -> None:
    await one()  # imports, certificates and the first connection are not the stream's
    start = time.process_time()
    counts = await asyncio.gather(*(one() for _ in range(args.streams)))
    used = time.process_time() - start
    assert counts == [len(" token") * (args.chunks + 1)] * args.streams
    print(used / (args.streams * args.chunks) * 1e6)


if __name__ == "__main__":
    main()

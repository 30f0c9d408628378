"""llama.cpp's own server with a very small model: MODEL PORT KEY; serves until SIGTERM."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Any

CONTEXT = 16_384


def main(model: str, port: int, key: str) -> None:
    """Serve chat completions and Anthropic messages."""
    llama: Any = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = CONTEXT
    params.cpuparams.n_threads = 2
    params.endpoint_metrics = True
    params.use_jinja = True
    params.ui = False
    params.api_keys = [key]
    server = llama.Server(params)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

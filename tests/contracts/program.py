"""The program as its user has it: a directory, an environment, commands and servers in it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.zones import noon

PATIENCE = 20.0
"""Seconds after which something that should have come is missing."""
KEY = "sk-or-v1-" + "0a" * 32


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """Its one line on standard error; fails when there is not exactly one."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


class Zygote:
    """The process that forks the others."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="zygote")
        self.path = f"{self._folder.name}/s"
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py")), self.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def stop(self) -> None:
        """End it; what it started has ended before."""
        self._process.communicate()
        self._folder.cleanup()


class Running:
    """A command that runs."""

    def __init__(
        self,
        zygote: Zygote,
        arguments: tuple[str, ...],
        environ: Mapping[str, str],
        cwd: Path,
        stdin: IO[bytes] | int,
    ) -> None:
        self._out_read, out = os.pipe()
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(zygote.path)
        self._line.settimeout(PATIENCE)
        asked = {"arguments": arguments, "environ": dict(environ), "cwd": str(cwd)}
        given = stdin if isinstance(stdin, int) else stdin.fileno()
        said = json.dumps(asked).encode() + b"\n"
        # The files go with the first byte: the rest may take several writes.
        socket.send_fds(self._line, [said[:1]], [given, out, self._err.fileno()])
        self._line.sendall(said[1:])
        os.close(out)
        self._answers = self._line.makefile("r")
        self.pid = int(self._answers.readline())
        self._seen = b""
        self._ended: Ran | None = None

    def line(self) -> str:
        """The next line of standard output, as soon as it is there."""
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._seen:
            assert self._more(until), f"no line came; stderr: {self._errors()}"
        line, _, self._seen = self._seen.partition(b"\n")
        return line.decode()

    def _more(self, until: float) -> bool:
        ready, _, _ = select.select([self._out_read], [], [], max(0, until - time.monotonic()))
        part = os.read(self._out_read, 65536) if ready else b""
        self._seen += part
        return bool(part)

    def _errors(self) -> str:
        self._err.seek(0)
        return self._err.read().decode("utf-8", "replace")

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self) -> Ran:
        """Its end, by itself."""
        if self._ended is None:
            until = time.monotonic() + PATIENCE
            while self._more(until):
                pass
            code = self._answers.readline()
            assert code, "it did not end"
            out = self._seen.decode("utf-8", "surrogateescape")
            self._ended = Ran(int(code), out, self._errors())
            os.close(self._out_read)
            self._err.close()
            self._answers.close()
            self._line.close()
        return self._ended

    def end(self) -> Ran:
        """Its end, asked for where it has not come."""
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        return self.wait()


@dataclass(slots=True)
class Program:
    """One user's home and shell."""

    zygote: Zygote
    root: Path
    """Everything of this user lies below."""
    upstream_url: str
    environ: dict[str, str] = field(default_factory=dict)
    running: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True)
        (self.root / "user").mkdir()
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.root / "user"),
            "LANG": "C.UTF-8",
            "TZ": noon(),
            "WORKERS_HOME": str(self.home),
            "OPENROUTER_API_KEY": KEY,
            "OPENROUTER_BASE_URL": self.upstream_url,
        }

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        """The directory its shell stands in."""
        return self.root / "project"

    @property
    def models_json(self) -> Path:
        return self.home / "models.json"

    def settings(self, **changes: Any) -> None:
        """Write models.json: two tiers with prices of their own, and what is given."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.models_json.write_text(json.dumps(settings(**changes), indent=2))

    def file(self, name: str, content: str | bytes) -> Path:
        """A file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def start(
        self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None, **environ: str | None
    ) -> Running:
        """Start a command; a variable given as None is taken away."""
        around = {**self.environ, **environ}
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            made = Running(
                self.zygote,
                arguments,
                {name: value for name, value in around.items() if value is not None},
                cwd or self.project,
                given,
            )
        self.running.append(made)
        return made

    def run(
        self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None, **environ: str | None
    ) -> Ran:
        """Run a command to its end."""
        return self.start(*arguments, stdin=stdin, cwd=cwd, **environ).wait()

    def good(self, *arguments: str, **more: Any) -> Ran:
        """Run a command that must succeed."""
        ran = self.run(*arguments, **more)
        assert ran.code == 0, ran
        assert "Traceback" not in ran.err
        return ran

    def stats(self) -> Any:
        """`stats --json`."""
        return self.good("stats", "--json").json

    def usage(self) -> list[dict[str, Any]]:
        """The lines of usage.jsonl."""
        text = (self.home / "usage.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def stop(self) -> None:
        """End what still runs."""
        for one in self.running:
            one.end()

    @contextlib.contextmanager
    def serving(self, *options: str, **environ: str | None) -> Iterator[Serving]:
        """A server of this user, gone at the end."""
        options = options or ("--project", str(self.project))
        process = self.start("serve", "--port", "0", *options, **environ)  # type: ignore[arg-type]
        said = process.line()
        assert said.startswith("listening on "), said
        try:
            yield Serving(process, said.removeprefix("listening on "), self.token)
        finally:
            process.end()

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers."""

    process: Running
    url: str
    token: str


def settings(**changes: Any) -> dict[str, Any]:
    """A models.json with tiers of known price."""
    return {
        "tiers": {
            "fast": {"model": "deepseek/deepseek-v4-flash", "use": "summaries, extraction"},
            "code": {"model": "qwen/qwen3-coder-next", "use": "code, tests, diffs"},
        },
        "daily_budget_usd": 3.0,
        "concurrency": 4,
        **changes,
    }

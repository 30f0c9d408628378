"""Contract 4.5: the tools as a client sees them, and replies to the letter."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ListRootsResult, Root
from pydantic import FileUrl
from tests.contracts.clients import call, client_of, fails, text_of
from tests.contracts.program import Program, Serving, Zygote
from tests.contracts.upstream import Provider

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
FIRST_LINE = re.compile(
    r"\[(?P<tier>\w+)/(?P<model>\S+) in=(?P<in>\d+) out=(?P<out>\d+)"
    r" \$(?P<cost>\d+\.\d+) \((?P<source>reported|estimated)\) (?P<ms>\d+)ms job=(?P<job>\w{5})\]"
)
ARGUMENTS = {
    "delegate": "task tier? files? write_to? max_tokens?",
    "delegate_batch": "jobs",
    "worker_stats": "",
    "delegate_start": "prompt? prompt_file? worker? model? small_model? cwd? add_dirs? max_turns?"
    " allowed_tools? disallowed_tools? permission_mode? append_system_prompt? wait_seconds?",
    "delegate_followup": "job_id? session_id? prompt? prompt_file? permission_mode? max_turns?"
    " wait_seconds?",
    "delegate_status": "job_id wait_seconds? progress_limit?",
    "delegate_result": "job_id wait_seconds? offset?",
    "delegate_cancel": "job_id",
    "delegate_list": "state? limit?",
    "worker_models": "",
}
READ_ONLY = {
    "delegate_status", "delegate_result", "delegate_list", "worker_stats", "worker_models",
}  # fmt: skip


class Served:
    """One server for the tests of this file that leave no traces in each other's way."""

    def __init__(self, program: Program, serving: Serving) -> None:
        self.program = program
        self.serving = serving

    def client(self, era: str = "legacy", **more: Any) -> Any:
        return client_of(self.serving, era, **more)


@pytest.fixture(scope="module")
def served(
    zygote: Zygote, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    program = Program(zygote, tmp_path_factory.mktemp("tools") / "user", provider.url)
    program.settings(max_return_chars=6000)
    with program.serving() as serving:
        yield Served(program, serving)


@ERAS
async def test_the_list_has_the_contracts_tools_and_arguments(served: Served, era: str) -> None:
    async with served.client(era) as client:
        tools = (await client.list_tools()).tools
    found = {}
    for tool in tools:
        schema = tool.input_schema
        required = set(schema.get("required", ()))
        found[tool.name] = {
            name if name in required else f"{name}?" for name in schema.get("properties", {})
        }
    assert found == {name: set(said.split()) for name, said in ARGUMENTS.items()}


async def test_only_what_reads_is_hinted_so(served: Served) -> None:
    async with served.client() as client:
        tools = (await client.list_tools()).tools
    hinted = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
    assert hinted == READ_ONLY
    for tool in tools:
        assert tool.name in READ_ONLY or tool.annotations is None


@ERAS
async def test_the_list_and_the_instructions_are_cheap(served: Served, era: str) -> None:
    async with served.client(era) as client:
        tools = (await client.list_tools()).tools
        instructions = client.instructions or ""
    said = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(said, separators=(",", ":"))) / 4 < 1500
    assert len(instructions) / 4 < 200


async def test_descriptions_point_to_the_batch_for_parallel_work(served: Served) -> None:
    async with served.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert "delegate_batch" in (tools["delegate"].description or "")
    jobs = tools["delegate_batch"].input_schema["properties"]["jobs"]
    assert (jobs["minItems"], jobs["maxItems"]) == (1, 100)


async def test_tiers_are_named_where_they_are_chosen(served: Served) -> None:
    async with served.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    said = json.dumps(tools["delegate"].input_schema)
    for word in ("auto", "fast", "code", "summaries"):
        assert word in said


async def test_the_server_is_called_workers(served: Served) -> None:
    async with served.client() as client:
        assert client.server_info is not None
        assert client.server_info.name == "workers"


@ERAS
async def test_a_reply_is_a_first_line_and_the_answer(
    served: Served, provider: Provider, era: str
) -> None:
    async with served.client(era) as client:
        result = await client.call_tool("delegate", {"task": "[[sim: text=line 1]]"})
    first, answer = text_of(result).split("\n", 1)
    said = FIRST_LINE.match(first)
    assert said is not None, first
    assert first[said.end() :] == " fast, because it is the cheapest"
    assert answer == "line 1"
    assert result.structured_content is None
    assert result.meta is not None
    ours = {key: value for key, value in result.meta.items() if key.startswith("workers-tui/")}
    assert ours == {
        "workers-tui/job": said["job"],
        "workers-tui/usage": {
            "input": int(said["in"]), "output": int(said["out"]), "cached": 0, "reasoning": 0,
        },
        "workers-tui/cost": pytest.approx(float(said["cost"]), abs=1e-6),
        "workers-tui/source": "reported",
    }  # fmt: skip


async def test_a_batch_is_blocks_in_order(served: Served) -> None:
    texts = ["one", "two", "three"]
    jobs = [{"task": f"[[sim: text={text}]]", "tier": "code"} for text in texts]
    jobs[1]["tier"] = "nonsense"
    async with served.client() as client:
        result = await client.call_tool("delegate_batch", {"jobs": jobs})
    blocks = text_of(result).split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == ["### 1/3", "### 2/3", "### 3/3"]
    assert FIRST_LINE.match(blocks[0].split("\n")[1])
    assert [blocks[0].split("\n")[2], blocks[2].split("\n")[2]] == ["one", "three"]
    assert "nonsense" in blocks[1]
    assert not result.is_error
    assert result.structured_content is None


async def test_a_batch_is_an_error_only_when_all_failed(served: Served) -> None:
    bad = {"task": "[[sim: fault=403]]"}
    async with served.client() as client:
        one = await client.call_tool("delegate_batch", {"jobs": [bad, {"task": "[[sim: text=x]]"}]})
        all_ = await client.call_tool("delegate_batch", {"jobs": [bad, bad]})
    assert (one.is_error, all_.is_error) == (False, True)


async def test_max_return_chars_is_shared_by_a_batch(served: Served) -> None:
    jobs = [{"task": f"[[sim: text={letter * 5000}]]"} for letter in "abc"]
    async with served.client() as client:
        said = await call(client, "delegate_batch", jobs=jobs)
    shown = [re.findall(rf"{letter}{{9,}}", said)[0] for letter in "abc"]
    assert [len(text) for text in shown] == [2000, 2000, 2000]
    assert said.count("delegate_result(job_id=") == 3


async def test_a_long_answer_is_cut_and_its_pages_join(served: Served) -> None:
    async with served.client() as client:
        task = f"[[sim: text={'0123456789' * 3000}]]"
        said = await call(client, "delegate", task=task, max_tokens=60_000)
        first = FIRST_LINE.match(said)
        assert first is not None
        assert len(said) < 6000 + 600
        assert f'delegate_result(job_id="{first["job"]}", offset=6000)' in said
        whole = await call(client, "delegate_result", job_id=first["job"])
        tail = await call(client, "delegate_result", job_id=first["job"], offset=6000)
    assert whole.split("\n", 1)[1] == "0123456789" * 3000
    assert tail.split("\n", 1)[1] == "0123456789" * 2400


async def test_a_file_may_be_a_path_lines_a_glob_or_a_directory(
    served: Served, provider: Provider
) -> None:
    program = served.program
    program.file("src/a.py", "".join(f"line {number}\n" for number in range(1, 301)))
    program.file("src/sub/b.py", "from file b\n")
    program.file("src/out.log", "ignored by git\n")
    program.file(".gitignore", "*.log\n")

    async def shown(mark: str, *files: str) -> str:
        async with served.client() as client:
            await call(client, "delegate", task=f"{mark} [[sim: text=x]]", files=list(files))
        (seen,) = provider.calls(mark)
        return json.dumps(seen.body)

    lines = await shown("files-by-lines", "src/a.py:10-200")
    assert "line 10\\n" in lines
    assert "line 200\\n" in lines
    assert "line 9\\n" not in lines
    assert "line 201\\n" not in lines
    glob = await shown("files-by-glob", "src/*")
    assert "line 300" in glob
    assert "from file b" not in glob
    assert "ignored by git" not in glob
    folder = await shown("files-by-directory", "src")
    assert "line 300" in folder
    assert "from file b" in folder
    assert "ignored by git" not in folder
    absolute = await shown("files-by-path", str(program.project / "src/sub/b.py"))
    assert "from file b" in absolute


async def test_more_than_200_files_are_refused_with_their_number(served: Served) -> None:
    for number in range(201):
        served.program.file(f"many/{number}.txt", "x")
    async with served.client() as client:
        said = await fails(client, "delegate", task="t", files=["many"])
        assert "201" in said
        (served.program.project / "many/0.txt").unlink()
        await call(client, "delegate", task="[[sim: text=x]]", files=["many"])


async def test_auto_is_the_default_and_gives_its_reason(served: Served) -> None:
    async with served.client() as client:
        for given in ({}, {"tier": "auto"}):
            said = await call(client, "delegate", task="Write tests [[sim: text=x]]", **given)
            assert said.startswith("[code/qwen/qwen3-coder-next ")
            assert "] code, because " in said.split("\n")[0]
        listed = served.program.good("jobs", "--json", "--limit", "1").json["jobs"][0]
    assert listed["tier"] == "code"
    assert listed["tier_reason"].startswith("code, because ")


async def test_write_to_saves_the_answer_and_shows_its_beginning(served: Served) -> None:
    body = "".join(f"x = {number}\n" for number in range(30))
    program = served.program
    program.file("made/old.py", "old content\n")
    async with served.client() as client:
        said = await call(
            client, "delegate", task=f"[[sim: text=```python\n{body}```]]", write_to="made/old.py"
        )
    assert (program.project / "made/old.py").read_text() == body
    lines = said.split("\n")
    assert lines[1].startswith("wrote ")
    assert "made/old.py" in lines[1]
    assert "(30 lines)" in lines[1]
    assert lines[2:22] == [f"x = {number}" for number in range(20)]
    kept = [path.read_bytes() for path in (program.home / "results").rglob("*") if path.is_file()]
    assert b"old content\n" in kept


@pytest.mark.parametrize("fault", ["cut", "length", "error-midstream", "content-filter", "403"])
async def test_an_answer_that_is_not_whole_never_touches_the_target(
    served: Served, fault: str
) -> None:
    target = served.program.file("made/target.txt", "precious\n")
    async with served.client() as client:
        await client.call_tool(
            "delegate",
            {
                "task": f"[[sim: fault={fault}, text=abcdefghijklmnopqrstuvwxyz]]",
                "write_to": "made/target.txt",
            },
        )
    assert target.read_text() == "precious\n"


async def test_a_failure_is_one_line_with_the_job_where_money_was_spent(served: Served) -> None:
    async with served.client() as client:
        said = await fails(
            client, "delegate", task="[[sim: fault=cut, text=abcdefghijklmnopqrstuvwxyz]]"
        )
        job = re.search(r'delegate_result\(job_id="(\w+)"\)', said)
        assert job is not None, said
        assert re.search(r"\$\d+\.\d+ \(estimated\) spent", said)
        partial = await call(client, "delegate_result", job_id=job[1])
    assert "abcdef" in partial


@ERAS
async def test_cancel_from_the_client_closes_the_upstream(
    served: Served, provider: Provider, era: str
) -> None:
    mark = f"client-cancels-{era}"
    task = f"{mark} [[sim: tokens_per_second=5, text={'word ' * 200}]]"
    async with served.client(era) as client:
        waiting = asyncio.create_task(client.call_tool("delegate", {"task": task}))
        await asyncio.to_thread(provider.wait_for_call, mark)
        listed = await call(client, "delegate_list", limit=1)
        job = listed.split()[0].removeprefix("job=")
        waiting.cancel()
        ended = await call(client, "delegate_status", job_id=job, wait_seconds=5)
    assert " cancelled " in ended


async def test_delegate_cancel_ends_the_job_and_its_caller_hears_it(
    served: Served, provider: Provider
) -> None:
    task = f"tool-cancels [[sim: tokens_per_second=5, text={'word ' * 200}]]"
    async with served.client() as client:
        waiting = asyncio.create_task(client.call_tool("delegate", {"task": task}))
        await asyncio.to_thread(provider.wait_for_call, "tool-cancels")
        job = (await call(client, "delegate_list", limit=1)).split()[0].removeprefix("job=")
        async with asyncio.timeout(2):
            assert job in await call(client, "delegate_cancel", job_id=job)
            result = await waiting
    assert result.is_error
    assert "cancelled" in text_of(result)


async def test_progress_names_the_job_within_ten_seconds(served: Served) -> None:
    heard: list[str] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with served.client() as client:
        task = "[[sim: first_delay=3, text=x]]"
        await client.call_tool("delegate", {"task": task}, progress_callback=hear)
    assert heard
    assert re.search(r"job \w{5} running", heard[0])


def roots_of(*folders: Path) -> Any:
    async def listed(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(path.as_uri())) for path in folders])

    return listed


class TestRoots:
    """Which directories a client's files may come from; a server without --project."""

    @pytest.fixture(scope="class")
    def rootless(
        self, zygote: Zygote, provider: Provider, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Served]:
        program = Program(zygote, tmp_path_factory.mktemp("roots") / "user", provider.url)
        program.settings()
        program.file("a.txt", "text\n")
        (program.root / "user/b.txt").write_text("in the home directory\n")
        with program.serving("--host", "127.0.0.1") as serving:
            yield Served(program, serving)

    async def test_without_any_root_files_are_refused(self, rootless: Served) -> None:
        async with rootless.client() as client:
            said = await fails(client, "delegate", task="t", files=["a.txt"])
            assert "--project" in said
            await call(client, "delegate", task="[[sim: text=x]]")

    @ERAS
    async def test_the_clients_roots_count(self, rootless: Served, era: str) -> None:
        listed = roots_of(rootless.program.project)
        async with rootless.client(era, list_roots_callback=listed) as client:
            await call(client, "delegate", task="[[sim: text=x]]", files=["a.txt"])

    @pytest.mark.parametrize("which", ["/", "home"])
    async def test_root_and_home_are_never_implicit(self, rootless: Served, which: str) -> None:
        user = rootless.program.root / "user"
        folder = Path("/") if which == "/" else user
        listed = roots_of(folder)
        async with rootless.client(list_roots_callback=listed) as client:
            await fails(client, "delegate", task="t", files=[str(user / "b.txt")])

    async def test_a_client_that_answers_no_roots_in_time_gets_none(self, rootless: Served) -> None:
        asked = asyncio.Event()

        async def never(_context: Any) -> ListRootsResult:
            asked.set()
            await asyncio.sleep(3600)
            raise AssertionError

        async with rootless.client(list_roots_callback=never) as client:
            async with asyncio.timeout(4):
                said = await fails(client, "delegate", task="t", files=["a.txt"])
        assert asked.is_set()
        assert "--project" in said

    async def test_an_error_for_roots_widens_nothing(self, rootless: Served) -> None:
        async def broken(_context: Any) -> ListRootsResult:
            raise ValueError("no idea")

        async with rootless.client(list_roots_callback=broken) as client:
            await fails(client, "delegate", task="t", files=["a.txt"])

    async def test_the_first_root_is_where_relative_paths_start(self, rootless: Served) -> None:
        other = rootless.program.root / "other"
        other.mkdir(exist_ok=True)
        listed = roots_of(other, rootless.program.project)
        async with rootless.client(list_roots_callback=listed) as client:
            await fails(client, "delegate", task="t", files=["a.txt"])
            inside = str(rootless.program.project / "a.txt")
            await call(client, "delegate", task="[[sim: text=x]]", files=[inside])


async def test_no_tool_changes_settings(served: Served) -> None:
    before = served.program.models_json.read_bytes()
    async with served.client("auto") as client:
        await call(client, "worker_stats")
        await call(client, "worker_models")
    assert served.program.models_json.read_bytes() == before

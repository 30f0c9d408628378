"""Reading one file: every case from the field, and files that nobody should have written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.engine.transcript_kit import Tree, dump, line, sums_of, usage

from workers_tui.engine.transcripts import transcripts
from workers_tui.engine.transcripts.cells import Sums
from workers_tui.engine.transcripts.transcripts import Reader

ONE = Sums(messages=1, input=10, output=5, creation=100, read=1000)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "claude")


def test_a_message_in_a_progress_line_is_not_counted_again(tree: Tree) -> None:
    nested = {"type": "progress", "data": {"type": "agent_progress", "message": line()}}
    tree.write(line(), nested, nested)
    assert tree.sums() == ONE


@pytest.mark.parametrize("more", [{"requestId": None}, {"error": None}, {"gitBranch": None}])
def test_null_anywhere_on_the_line_does_not_lose_it(tree: Tree, more: dict[str, Any]) -> None:
    tree.write({**line(), **more})
    assert tree.sums() == ONE


def test_missing_and_null_counts_are_0(tree: Tree) -> None:
    counts = usage(cache_read_input_tokens=None)
    del counts["input_tokens"]
    tree.write(line(counts=counts))
    assert tree.sums() == ONE._replace(input=0, read=0)


def test_byte_order_mark_and_crlf_are_no_part_of_a_line(tree: Tree) -> None:
    first, second = dump(line()).strip(), dump(line("msg_2", "req_2")).strip()
    tree.write(b"\xef\xbb\xbf" + first + b"\r\n" + second + b"\r\n")
    assert tree.sums().messages == 2
    assert tree.scan().files.bad_lines == 0


def test_a_line_that_is_not_utf_8_is_lost_alone_and_told(tree: Tree) -> None:
    broken = dump(line("msg_2", "req_2")).replace(b"hello", b"he\xff\xfello")
    tree.write(line(), broken, line("msg_3", "req_3"))
    assert tree.sums().messages == 2
    assert tree.scan().files.bad_lines == 1


@pytest.mark.parametrize("more", [{"model": "<synthetic>"}, {"isApiErrorMessage": True}])
def test_synthetic_and_error_messages_cost_nothing(tree: Tree, more: dict[str, Any]) -> None:
    tree.write(line(**more))
    scanned = tree.scan()
    assert scanned.rows == []
    assert scanned.files.api_errors == int("isApiErrorMessage" in more)


@pytest.mark.parametrize("count", [-1, 1.5, "3", 10**30, True, [1]])
def test_impossible_counts_make_a_bad_line(tree: Tree, count: object) -> None:
    tree.write(line("msg_2", "req_2", counts=usage(input_tokens=count)), line())
    assert tree.sums() == ONE
    assert tree.scan().files.bad_lines == 1


@pytest.mark.parametrize("kind", ["user", "progress", "anything new"])
def test_other_lines_may_have_any_shape(tree: Tree, kind: str) -> None:
    odd = line(counts={"input_tokens": -5}, type=kind)
    tree.write(odd, {"message": {"usage": 3}, "type": kind}, line())
    assert tree.sums() == ONE
    assert tree.scan().files.bad_lines == 0


def test_a_cache_write_without_a_split_is_a_5_minute_one(tree: Tree) -> None:
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    tree.write(line(counts=usage(cache_creation=split)))
    assert tree.sums() == ONE
    split = {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40}
    tree.write(line(counts=usage(cache_creation=split)))
    assert tree.sums() == ONE._replace(creation_1h=40)


def test_fast_mode_and_unknown_speeds_are_flagged(tree: Tree) -> None:
    speeds = ["standard", "fast", "ludicrous"]
    tree.write(*(line(f"m{n}", counts=usage(speed=s)) for n, s in enumerate(speeds)))
    sums = tree.sums()
    assert (sums.messages, sums.fast, sums.odd) == (3, 1, 1)


def test_web_searches_are_kept_apart(tree: Tree) -> None:
    tree.write(line(counts=usage(server_tool_use={"web_search_requests": 3})))
    assert tree.sums().web == 3


def test_usage_in_tool_results_and_quoted_lines_is_not_counted(tree: Tree) -> None:
    quoted = dump(line("msg_2", "req_2")).decode()
    tree.write(
        {"type": "user", "message": {"content": quoted}, "toolUseResult": {"usage": usage()}},
        line(content=[{"type": "text", "text": quoted}]),
    )
    assert tree.sums() == ONE


@pytest.mark.parametrize(
    "junk",
    [
        b"garbage\n",
        b"\0\0\0\0\n",
        b'{"type":"assistant","mess\n',
        b'{"usage":' + b"[" * 10**5 + b"}\n",
    ],
)
def test_junk_is_one_bad_line(tree: Tree, junk: bytes) -> None:
    tree.write(line(), junk, line("msg_2", "req_2"))
    assert tree.sums().messages == 2
    assert tree.scan().files.bad_lines == 1


def test_blank_lines_are_nothing(tree: Tree) -> None:
    tree.write(b"\n  \n\r\n", line(), b"\n")
    assert tree.sums() == ONE
    assert tree.scan().files.bad_lines == 0


def test_a_whole_last_line_counts_and_a_torn_one_waits(tree: Tree) -> None:
    tree.write(line(), dump(line("msg_2", "req_2")).rstrip())
    assert tree.sums().messages == 2
    tree.write(line(), dump(line("msg_2", "req_2"))[:-40])
    scanned = tree.scan()
    assert (tree.sums().messages, scanned.files.torn, scanned.files.bad_lines) == (1, 1, 0)


def test_keys_may_stand_in_any_order_with_any_spaces(tree: Tree) -> None:
    whole = line()
    path = tree.path()
    import json

    backwards = dict(reversed(list(whole.items())))
    path.write_text(json.dumps(backwards, indent=None, separators=(" , ", " : ")) + "\n")
    assert tree.sums() == ONE


def placed(whole: dict[str, Any], kind: str, place: int) -> dict[str, Any]:
    """The line with its type at this place among its fields."""
    fields = [(name, value) for name, value in whole.items() if name != "type"]
    return dict([*fields[:place], ("type", kind), *fields[place:]])


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("first", ["id", "model", "role", "usage"])
def test_wherever_the_type_stands_it_decides(tree: Tree, place: int, first: str) -> None:
    whole = line(cwd="/home/{dev}/[project]", gitBranch='"type":"user","message":{"model":"')
    inner = whole["message"]
    whole["message"] = {first: inner[first], **inner}
    tree.write(*(placed(whole, kind, place) for kind in ("user", "assistant", "progress", "new")))
    scanned = tree.scan()
    assert sums_of(scanned.rows) == ONE
    assert scanned.files.bad_lines == 0


@pytest.mark.parametrize("piece", [64, 1000, 1 << 20])
def test_lines_longer_than_the_buffer_are_read(
    tree: Tree, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 1 << 22)
    big = "x" * 300_000
    tree.write(
        {"type": "file-history-snapshot", "snapshot": big},
        line(content=[{"type": "text", "text": big}]),
        {"type": "user", "message": {"content": big}},
        line("msg_2", "req_2"),
    )
    news = Reader(piece).read(str(tree.path()), "s1")
    assert len(news.messages) == 2
    assert news.place.offset == tree.path().stat().st_size


def test_a_line_too_long_for_memory_is_bad_and_the_rest_counts(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 1 << 16)
    tree.write(line(), line("m2", content=[{"type": "text", "text": "x" * 200_000}]), line("m3"))
    news = Reader(1000).read(str(tree.path()), "s1")
    assert [message.key.split()[0] for message in news.messages] == ["msg_1", "m3"]
    assert news.bad == 1


def test_a_line_too_long_for_memory_is_bad_once_it_is_whole(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "LONGEST_LINE", 1 << 16)
    reader = Reader(1000)
    path = tree.write(line(), b'{"message":{"model":"' + b"x" * 200_000)
    news = reader.read(str(path), "s1")
    assert (news.bad, news.place.torn, len(news.messages)) == (0, True, 1)
    tree.add(b"x" * 100_000)
    news = reader.read(str(path), "s1", news.place)
    assert (news.bad, news.place.torn) == (0, True)
    tree.add(b"\n", line("m2"))
    news = reader.read(str(path), "s1", news.place)
    assert (news.bad, news.place.torn, len(news.messages)) == (1, False, 1)


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tree: Tree) -> None:
    os.mkfifo(tree.path())
    with pytest.raises(OSError, match="no file, though"):
        Reader().read(str(tree.path()), "s1")


def test_snapshots_of_any_size_need_no_memory(tree: Tree) -> None:
    reader = Reader(1 << 16)
    path = tree.path()
    with path.open("wb") as file:
        file.write(b'{"type":"file-history-snapshot","snapshot":"')
        file.seek(200 << 20, os.SEEK_CUR)  # a hole: nothing is really on the disk
        file.write(b'"}\n' + dump(line()))
    news = reader.read(str(path), "s1")
    assert [message.input for message in news.messages] == [10]
    assert len(reader._buffer) == 1 << 16


def test_reading_goes_on_where_it_ended(tree: Tree) -> None:
    reader, path = Reader(), tree.write(line())
    first = reader.read(str(path), "s1")
    tree.add(line("msg_2", "req_2"))
    second = reader.read(str(path), "s1", first.place)
    assert [message.key for message in second.messages] == ["msg_2 req_2"]
    assert not second.afresh


def test_a_file_cut_short_replaced_or_rewritten_is_read_from_its_start(tree: Tree) -> None:
    reader, path = Reader(), tree.write(line(), line("msg_2", "req_2"))
    place = reader.read(str(path), "s1").place
    tree.write(line("msg_3", "req_3"))
    assert reader.read(str(path), "s1", place).afresh
    tree.write(line("msg_4", "req_4"), line("msg_5", "req_5"), line("msg_6", "req_6"))
    assert len(reader.read(str(path), "s1", place).messages) == 3
    path.rename(path.with_suffix(".old"))
    tree.write(line(), line("msg_2", "req_2"))
    assert reader.read(str(path), "s1", place).afresh


def test_a_line_without_a_time_has_the_time_of_the_one_before(tree: Tree) -> None:
    tree.write(line(), line("msg_2", "req_2", timestamp=None), line("m3", timestamp="soon"))
    news = Reader().read(str(tree.path()), "s1")
    assert news.messages[1].at == news.messages[0].at


def test_a_clock_in_the_future_counts(tree: Tree) -> None:
    tree.write(line(timestamp="2999-01-01T00:00:00.000Z"), line("m2", timestamp="9999-12-31"))
    assert tree.sums().messages == 2


def test_delegations_answers_and_own_reads_are_found(tree: Tree) -> None:
    ask = {"type": "tool_use", "id": "t1", "name": "mcp__workers__delegate"}
    ask["input"] = {"task": "sum up", "files": ["src/a.py"]}  # type: ignore[assignment]
    read = {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/p/src/a.py"}}
    answer = {
        "type": "user",
        "message": {
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "12345678"}]
        },
        "mcpMeta": {"_meta": {"workers-tui/job": "abcde"}},
    }
    tree.write(line("m0", content=[read]), line(content=[ask], stop="tool_use"), answer)
    tree.add(line("m2", content=[read]))
    news = Reader().read(str(tree.path()), "s1")
    assert [(one.tool_use, one.files, one.cwd) for one in news.delegations] == [
        ("t1", ["src/a.py"], "/home/dev/project")
    ]
    assert [(one.tool_use, one.jobs, one.chars) for one in news.returns] == [("t1", ["abcde"], 8)]
    assert [one.path for one in news.reads] == ["/p/src/a.py"]


def test_the_jobs_of_a_batch_are_all_found(tree: Tree) -> None:
    ask = {"type": "tool_use", "id": "t1", "name": "mcp__plugin_workers_workers__delegate_batch",
           "input": {"jobs": [{"files": ["a"]}, {"files": ["b"]}]}}  # fmt: skip
    metas = [{"workers-tui/job": "one"}, {}, {"workers-tui/job": "two"}]
    answer = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t1",
                                 "content": [{"type": "text", "text": "1234"}]}]},
        "mcpMeta": {"_meta": {"workers-tui/jobs": metas}},
    }  # fmt: skip
    tree.write(line(content=[ask]), answer)
    news = Reader().read(str(tree.path()), "s1")
    assert news.delegations[0].files == ["a", "b"]
    assert news.returns[0].jobs == ["one", "two"]

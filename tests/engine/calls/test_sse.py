"""Events from bytes, checked against a reader that nobody here wrote."""

from __future__ import annotations

import httpx
import pytest
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.calls.sse import EventReader


def read(*pieces: bytes) -> list[str]:
    reader = EventReader()
    events = [data for piece in pieces for data in reader.feed(piece)]
    return [data.decode() for data in [*events, *reader.end()]]


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data:a\n\n", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b": note\n\n:\n\ndata: a\n\n", ["a"]),
        (b": note\ndata: a\nid: 5\nevent: x\n\n", ["a"]),
        (b"\n\n\n\ndata: a\n\n\n\n\n", ["a"]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", ["a", "b", "c"]),
        (b"data: a\n\ndata: [DONE]", ["a", "[DONE]"]),
        (b"data: a\n\ndata: [DONE]\n", ["a", "[DONE]"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\xe2\x80\xa8b\xc2\x85c\x0bd\x0ce\n\n", ["a\u2028b\x85c\x0bd\x0ce"]),
        (b"data\n\nretry: 5\n\n", []),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_events_come_out_whole(body: bytes, events: list[str], size: int) -> None:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert read(*pieces) == events


lines = st.one_of(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=6).map(
        lambda text: f"data: {text}"
    ),
    st.sampled_from(["", "", ": note", "id: 1", "event: x", "data", "data:x", "data: é\u2028"]),
)


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - an iterator
        for piece in self._pieces:
            yield piece


@given(
    st.lists(st.tuples(lines, st.sampled_from(["\n", "\r\n", "\r"])), max_size=12),
    st.integers(1, 9),
)
async def test_any_stream_is_read_as_another_reader_does(
    parts: list[tuple[str, str]], size: int
) -> None:
    body = "".join(line + end for line, end in [*parts, ("", "\n"), ("", "\n")]).encode()
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces)
    )
    theirs = [event.data async for event in EventSource(response).aiter_sse() if event.data]
    assert read(*pieces) == theirs

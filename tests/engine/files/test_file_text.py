"""Bytes of a file as text: cuts, encodings, what is no text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.sandbox_kit import read, wrong

from workers_tui.engine.files.sandbox import Sandbox


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "share"
    path.mkdir()
    return path


@pytest.fixture
def sandbox(root: Path) -> Sandbox:
    return Sandbox([root])


def test_a_large_file_is_cut_at_a_line_end_and_says_so(sandbox: Sandbox, root: Path) -> None:
    (root / "a").write_text("ä" * 6 + "\n" + "b" * 10 + "\n" + "c" * 10 + "\n")
    (piece,) = read(sandbox, "a", limit=30)
    assert piece.text == "ä" * 6 + "\n" + "b" * 10 + "\n"
    assert piece.cut
    assert "cut after line 2" in piece.note


@given(st.text(alphabet="aä€😀\n", min_size=1, max_size=60), st.integers(1, 100))
def test_a_cut_never_splits_a_character(text: str, limit: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "f").write_bytes(text.encode())
        (piece,) = Sandbox([Path(directory)]).read_now(["f"], limit)
    assert "\ufffd" not in piece.text
    assert text.startswith(piece.text)
    assert piece.cut == (len(text.encode()) > limit)


def test_byte_order_marks_are_decoded_and_said(sandbox: Sandbox, root: Path) -> None:
    (root / "16").write_bytes("hé\n".encode("utf-16"))
    (root / "8").write_bytes("hé\n".encode("utf-8-sig"))
    wide, plain = read(sandbox, "16", "8")
    assert (wide.text, wide.note) == ("hé\n", "decoded from UTF-16")
    assert (plain.text, plain.note) == ("hé\n", "byte order mark removed")
    assert "UTF-16" in wrong(sandbox, "16:1")


@pytest.mark.parametrize(
    ("raw", "said"),
    [(b"\x7fELF\0\0\1", "binary"), ("hello world".encode("utf-16-le"), "UTF-16 without")],
)
def test_what_is_no_text_is_refused_by_name(
    sandbox: Sandbox, root: Path, raw: bytes, said: str
) -> None:
    (root / "blob").write_bytes(raw)
    message = wrong(sandbox, "blob")
    assert said in message
    assert "blob" in message


def test_other_bytes_are_read_without_loss_and_said(sandbox: Sandbox, root: Path) -> None:
    (root / "latin").write_bytes(b"caf\xe9\n")
    (root / "mixed").write_bytes("é ".encode() + b"\xff\n")
    latin, mixed = read(sandbox, "latin", "mixed")
    assert latin.text == "café\n"
    assert "Windows-1252" in latin.note
    assert mixed.text == "é \\xff\n"
    assert "not UTF-8" in mixed.note


def test_an_empty_file_is_a_piece_without_lines(sandbox: Sandbox, root: Path) -> None:
    (root / "empty").touch()
    (piece,) = read(sandbox, "empty")
    assert (piece.start, piece.end, piece.text, piece.bytes) == (0, 0, "", 0)


def test_a_huge_sparse_file_costs_only_its_limit(sandbox: Sandbox, root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.write(b"line\n" * 100)
        file.truncate(50_000_000_000)
    assert read(sandbox, "huge", limit=200)[0].end == 40

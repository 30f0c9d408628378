"""The sandbox: what may be read and written, and how refusals are worded."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.errors import (
    ConfigError,
    SandboxRefused,
    WorkersError,
    WorkFailed,
    WrongUse,
)
from workers_tui.engine.sandbox import FILES_LIMIT, Piece, Sandbox

LIMIT = 1000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "share"
    path.mkdir()
    return path


@pytest.fixture
def sandbox(root: Path) -> Sandbox:
    return Sandbox([root])


def read(sandbox: Sandbox, *specs: str, limit: int = LIMIT) -> list[Piece]:
    return sandbox.read_now(specs, limit)


def refusal(sandbox: Sandbox, spec: str) -> str:
    with pytest.raises(SandboxRefused) as caught:
        read(sandbox, spec)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def wrong(sandbox: Sandbox, spec: str) -> str:
    with pytest.raises(WrongUse) as caught:
        read(sandbox, spec)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


# ---- where ------------------------------------------------------------------------------------


async def test_a_file_is_read_with_its_lines_size_and_hash(sandbox: Sandbox, root: Path) -> None:
    (root / "a.py").write_text("one\ntwo\n")
    (piece,) = await sandbox.read(["a.py"], max_file_bytes=LIMIT)
    assert (piece.path, piece.start, piece.end, piece.text) == ("a.py", 1, 2, "one\ntwo\n")
    assert piece.bytes == 8
    assert piece.sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert not piece.cut
    assert piece.note == ""


def test_a_sibling_whose_name_begins_like_the_root_is_outside(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "share-secret"
    secret.mkdir()
    (secret / "x").write_text("no")
    assert "outside" in refusal(sandbox, str(secret / "x"))
    assert "outside" in refusal(sandbox, "../share-secret/x")


def test_the_refusal_is_the_same_whether_the_file_outside_exists_or_not(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("x")
    there, absent = refusal(sandbox, "../there"), refusal(sandbox, "../gone!")
    assert there.replace("there", "") == absent.replace("gone!", "")


@pytest.mark.skipif(sys.platform == "darwin", reason="the disk ignores case")
def test_a_path_that_differs_in_case_is_another_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "SHARE").mkdir()
    (tmp_path / "SHARE" / "x").write_text("no")
    assert "outside" in refusal(Sandbox([root]), str(tmp_path / "SHARE" / "x"))


def test_a_link_inside_may_point_inside_but_not_out(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("no")
    (root / "real").write_text("yes")
    (root / "good").symlink_to("real")
    (root / "bad").symlink_to(tmp_path / "outside")
    (root / "up").symlink_to(tmp_path)
    assert read(sandbox, "good")[0].text == "yes"
    assert "outside" in refusal(sandbox, "bad")
    assert "outside" in refusal(sandbox, "up/outside")


def test_a_file_swapped_for_a_link_after_the_check_is_not_read(
    sandbox: Sandbox, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").write_text("no")
    (root / "d").mkdir()
    (root / "d" / "f").write_text("yes")
    (tmp_path / "d2").mkdir()
    (tmp_path / "d2" / "f").write_text("no")
    check = Sandbox._check_read

    def swap(self: Sandbox, place: object) -> None:
        check(self, place)  # type: ignore[arg-type]
        (root / "d").rename(tmp_path / "gone")
        (root / "d").symlink_to(tmp_path / "d2")

    monkeypatch.setattr(Sandbox, "_check_read", swap)
    with pytest.raises(WorkersError):
        read(sandbox, "d/f")


def test_a_read_never_leaves_the_root_while_a_link_flickers(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("no")
    (root / "inside").write_text("yes")
    stop = threading.Event()

    def flicker() -> None:
        while not stop.is_set():
            for target in ("inside", str(tmp_path / "outside")):
                (root / "new").symlink_to(target)
                (root / "new").rename(root / "flick")

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        texts = set()
        for _ in range(300):
            try:
                texts.add(read(sandbox, "flick")[0].text)
            except WorkersError:
                continue
    finally:
        stop.set()
        thread.join()
    assert texts <= {"yes"}


def test_devices_pipes_and_sockets_are_not_opened(sandbox: Sandbox, root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "not a regular file" in refusal(sandbox, "pipe")
    assert "not a regular file" in refusal(Sandbox([Path("/dev")]), "zero")


def test_without_roots_nothing_can_be_read() -> None:
    assert "WORKERS_ALLOWED_ROOTS" in refusal(Sandbox([]), "a")


def test_our_own_files_are_not_opened_even_inside_a_root(root: Path) -> None:
    (root / "state").mkdir()
    (root / "state" / "token").write_text("x")
    sandbox = Sandbox([root], private=[root / "state"])
    assert "workers-tui itself" in refusal(sandbox, "state/token")
    inner = Sandbox([root / "state"], private=[root])
    assert read(inner, "token")[0].text == "x", "a project that lies inside our home is one"


@pytest.mark.parametrize("spec", ["", "a\0b", "\ud800", "x" * 5000])
def test_what_names_no_file_is_wrong_use(sandbox: Sandbox, spec: str) -> None:
    wrong(sandbox, spec)


@given(st.text(max_size=40))
def test_no_text_reaches_outside_the_roots(spec: str) -> None:
    sandbox = Sandbox([Path("/nonexistent-root")])
    with pytest.raises(WorkersError):
        sandbox.read_now([spec], LIMIT)


def test_files_of_a_second_root_carry_its_name(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "lib"
    other.mkdir()
    (other / "b").write_text("b")
    assert read(Sandbox([root, other]), str(other / "b"))[0].path == "lib/b"


def test_a_name_that_is_no_utf8_can_be_found_and_shown(sandbox: Sandbox, root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert read(sandbox, "caf*.txt")[0].path == "caf\\xe9.txt"


# ---- what -------------------------------------------------------------------------------------


def test_a_range_gives_those_lines(sandbox: Sandbox, root: Path) -> None:
    (root / "a").write_text("".join(f"{n}\n" for n in range(1, 21)))
    (piece,) = read(sandbox, "a:10-12")
    assert (piece.start, piece.end, piece.text) == (10, 12, "10\n11\n12\n")
    assert read(sandbox, "a:20")[0].text == "20\n"
    assert read(sandbox, "a:19-")[0].text == "19\n20\n"
    assert read(sandbox, "a:19-900")[0].end == 20
    assert "before line 21" in wrong(sandbox, "a:21")
    assert "upwards" in wrong(sandbox, "a:5-4")
    assert "from 1" in wrong(sandbox, "a:0")


def test_a_name_with_a_colon_wins_over_a_range(sandbox: Sandbox, root: Path) -> None:
    (root / "a").write_text("1\n2\n")
    (root / "a:1-2").write_text("colon")
    assert read(sandbox, "a:1-2")[0].text == "colon"
    assert read(sandbox, "a:1-2:1")[0].text == "colon"


def test_the_same_file_goes_once(sandbox: Sandbox, root: Path) -> None:
    (root / "a").write_text("1\n2\n")
    assert len(read(sandbox, "a", "./a", "*", "a:1")) == 2


def test_globs_cross_directories_only_with_two_stars(sandbox: Sandbox, root: Path) -> None:
    (root / "s" / "deep").mkdir(parents=True)
    for name in ("a.py", "s/b.py", "s/deep/c.py", "s/d.ts"):
        (root / name).write_text("x")
    assert [p.path for p in read(sandbox, "*.py")] == ["a.py"]
    assert {p.path for p in read(sandbox, "**/*.py")} == {"a.py", "s/b.py", "s/deep/c.py"}
    assert {p.path for p in read(sandbox, "s/*.{py,ts}")} == {"s/b.py", "s/d.ts"}
    assert "no file matches" in wrong(sandbox, "*.nothing")


@pytest.mark.parametrize("spec", ["[z-a]*", "*a*b*c*d*e*f*g*h*i*j*k*l*m*", "[[]*", "[&&]*", "{a,b"])
@pytest.mark.filterwarnings("error")
def test_a_glob_that_means_nothing_is_wrong_use(sandbox: Sandbox, root: Path, spec: str) -> None:
    (root / "other").touch()
    wrong(sandbox, spec)


def test_repeated_stars_are_one(sandbox: Sandbox, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "x.py").write_text("x")
    assert read(sandbox, "**/" * 30 + "*.py")[0].path == "d/x.py"


def test_a_pipe_or_a_link_as_gitignore_holds_nothing_up(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (root / "a").mkdir()
    (root / "b").mkdir()
    os.mkfifo(root / "a" / ".gitignore")
    (tmp_path / "rules").write_text("*\n")
    (root / "b" / ".gitignore").symlink_to(tmp_path / "rules")
    (root / "a" / "x.txt").write_text("x")
    (root / "b" / "y.txt").write_text("y")
    assert {piece.path for piece in read(sandbox, "**/*.txt")} == {"a/x.txt", "b/y.txt"}


def test_directories_without_end_are_refused(sandbox: Sandbox, root: Path) -> None:
    deep = root
    for _ in range(150):
        deep = deep / "d"
        deep.mkdir()
    assert "too many" in wrong(sandbox, ".")


def test_a_name_with_glob_signs_is_taken_plainly_when_it_exists(
    sandbox: Sandbox, root: Path
) -> None:
    (root / "[id]").mkdir()
    (root / "[id]" / "p.tsx").write_text("x")
    assert read(sandbox, "[id]/p.tsx")[0].text == "x"
    assert read(sandbox, "[id]/*.tsx")[0].path == "[id]/p.tsx"


def test_a_directory_honours_every_gitignore_on_the_way(sandbox: Sandbox, root: Path) -> None:
    (root / ".git").mkdir()
    (root / "src" / "gen").mkdir(parents=True)
    (root / "node_modules").mkdir()
    (root / ".gitignore").write_text("node_modules/\n*.log\n/src/gen\n")
    (root / "src" / ".gitignore").write_text("!keep.log\n")
    names = ["src/a.py", "src/b.log", "src/keep.log", "src/gen/x.py", "node_modules/y.js", ".git/z"]
    for name in names:
        (root / name).write_text("x")
    assert {p.path for p in read(sandbox, "src")} == {"src/.gitignore", "src/a.py", "src/keep.log"}
    assert "no file matches" in wrong(sandbox, "**/*.js")
    assert read(sandbox, "src/b.log")[0].text == "x", "a file named in full is what was meant"


def test_too_many_files_are_refused_with_their_number(sandbox: Sandbox, root: Path) -> None:
    for number in range(FILES_LIMIT + 1):
        (root / f"{number}.txt").write_text("x")
    assert f"{FILES_LIMIT + 1} files" in wrong(sandbox, ".")
    (root / "0.txt").unlink()
    assert len(read(sandbox, ".")) == FILES_LIMIT


def test_what_cannot_go_from_a_directory_is_left_out_and_said(sandbox: Sandbox, root: Path) -> None:
    (root / "a.txt").write_text("x")
    (root / "b.x").write_bytes(b"\0\1\2" * 50)
    (root / ".env").write_text("A=1")
    (piece,) = read(sandbox, ".")
    assert piece.path == "a.txt"
    assert "2 of the files" in piece.note
    assert ".env" in piece.note


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "prod.env", "id_rsa", "server.pem", ".netrc", ".npmrc", "credentials",
     ".aws/config", ".ssh/config", ".ENV", "terraform.tfstate", ".claude.json"],
)  # fmt: skip
def test_key_files_are_never_sent(sandbox: Sandbox, root: Path, name: str) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("x")
    assert "never sent" in refusal(sandbox, name)
    allowed = Sandbox([root], allow=[name])
    assert read(allowed, name)[0].text == "x"


@pytest.mark.parametrize("name", [".env.example", "env.py", "id_rsa.pub", "keys.md", "a.key.md"])
def test_files_that_only_sound_like_keys_are_sent(sandbox: Sandbox, root: Path, name: str) -> None:
    (root / name).write_text("x")
    assert read(sandbox, name)[0].text == "x"


def test_the_users_deny_list_is_kept(root: Path) -> None:
    (root / "private").mkdir()
    (root / "private" / "a").write_text("x")
    sandbox = Sandbox([root], deny_read=["private/", "*.secret"])
    (root / "b.secret").write_text("x")
    assert "deny_read" in refusal(sandbox, "private/a")
    assert "deny_read" in refusal(sandbox, "b.secret")


# ---- encodings --------------------------------------------------------------------------------


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


# ---- writing ----------------------------------------------------------------------------------


async def test_an_answer_becomes_a_file_and_the_old_one_is_kept(
    sandbox: Sandbox, root: Path
) -> None:
    kept: list[str] = []
    target = root / "out" / "a.py"
    first = await sandbox.write("out/a.py", "one\n")
    target.chmod(0o755)
    written = await sandbox.write(
        "out/a.py", "one\ntwo", lambda path: kept.append(path.read_text())
    )
    assert first.path == target
    assert written.lines == 2
    assert target.read_text() == "one\ntwo"
    assert target.stat().st_mode & 0o777 == 0o755
    assert kept == ["one\n"]
    assert names(target.parent) == ["a.py"], "nothing stays beside it"


async def test_checking_a_target_leaves_the_disk_alone(sandbox: Sandbox, root: Path) -> None:
    assert await sandbox.check_write("new/dir/f.txt") == root / "new" / "dir" / "f.txt"
    assert not (root / "new").exists()


@pytest.mark.parametrize(
    "target",
    [".git/hooks/x", ".claude/settings.json", ".mcp.json", ".env", "sub/.git/config", ".GIT/x",
     ".g\u200cit/hooks/x", ".git./x", "CLAUDE.md", "claude.local.md", ".vscode/tasks.json",
     ".bashrc", ".github/workflows/ci.yml", "bare.git/hooks/pre-commit", "id_rsa", "x.pth"],
)  # fmt: skip
async def test_files_that_somebody_obeys_are_not_written(
    sandbox: Sandbox, root: Path, target: str
) -> None:
    with pytest.raises(SandboxRefused):
        await sandbox.check_write(target)
    with pytest.raises(SandboxRefused):
        await sandbox.write(target, "x")
    assert names(root) == []


async def test_a_working_copy_under_claudes_worktrees_is_a_project(tmp_path: Path) -> None:
    root = tmp_path / "p" / ".claude" / "worktrees" / "fix"
    root.mkdir(parents=True)
    await Sandbox([root]).write("a.py", "x")
    with pytest.raises(SandboxRefused):
        await Sandbox([root]).write(".claude/settings.json", "x")
    with pytest.raises(SandboxRefused):
        await Sandbox([tmp_path / "p"]).write(".claude/settings.json", "x")


async def test_writing_through_a_link_stays_inside(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("old")
    (root / "bad").symlink_to(tmp_path / "outside")
    (root / "real").write_text("old")
    (root / "good").symlink_to("real")
    with pytest.raises(SandboxRefused):
        await sandbox.write("bad", "new")
    await sandbox.write("good", "new")
    assert (tmp_path / "outside").read_text() == "old"
    assert (root / "real").read_text() == "new"
    assert (root / "good").is_symlink()


async def test_a_directory_or_a_device_is_no_target(sandbox: Sandbox, root: Path) -> None:
    (root / "d").mkdir()
    os.mkfifo(root / "pipe")
    for target in ("d", ".", "d/", "new/"):
        with pytest.raises(WrongUse):
            await sandbox.check_write(target)
    with pytest.raises(SandboxRefused):
        await sandbox.check_write("pipe")


async def test_a_target_that_cannot_be_written_is_refused_before_money_is_spent(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").touch()
    for target in ("file/x", "file/new/x"):
        with pytest.raises(WrongUse, match="not a directory"):
            await sandbox.check_write(target)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WrongUse, match="cannot be written"):
        await sandbox.check_write("new/x")


def test_a_pattern_that_is_none_names_its_setting() -> None:
    with pytest.raises(ConfigError, match="deny_read"):
        Sandbox([], deny_read=["!"])


async def test_a_failed_save_leaves_the_old_file(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkFailed, match="No space left"):
        await sandbox.write("a", "new")
    assert (root / "a").read_text() == "old"
    assert names(root) == ["a"]


async def test_the_users_deny_write_list_is_kept(root: Path) -> None:
    with pytest.raises(SandboxRefused, match="deny_write"):
        await Sandbox([root], deny_write=["docs/**"]).write("docs/a.md", "x")


async def test_reading_does_not_block_the_loop(sandbox: Sandbox, root: Path) -> None:
    (root / "a").write_text("x")
    main = threading.get_ident()
    seen: list[int] = []
    original = sandbox.read_now

    def noting(specs: list[str], limit: int) -> list[Piece]:
        seen.append(threading.get_ident())
        return original(specs, limit)

    sandbox.read_now = noting  # type: ignore[method-assign,assignment]
    await asyncio.wait_for(sandbox.read(["a"], max_file_bytes=10), 5)
    assert seen != [main]

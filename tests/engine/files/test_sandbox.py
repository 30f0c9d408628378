"""What a spec stands for: ranges, globs, directories, key files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.engine.sandbox_kit import close_directory, read, refusal, wrong

from workers_tui.engine.files.listing import GAPS, GLOB_TOKENS, glob_regex
from workers_tui.engine.files.sandbox import FILES_LIMIT, Sandbox


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "share"
    path.mkdir()
    return path


@pytest.fixture
def sandbox(root: Path) -> Sandbox:
    return Sandbox([root])


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


@pytest.mark.timeout(20)
def test_a_glob_needs_no_time_whatever_the_names_are(sandbox: Sandbox, root: Path) -> None:
    (root / ("a" * 255)).touch()
    (root / "/".join("a" * 60)).mkdir(parents=True)
    (root / "/".join("a" * 60) / "x").touch()
    for spec in ("*a" * 11 + "*b", "**/a/" * 6 + "b", "**a" * 6 + "b", "{a,b}" * 30):
        wrong(sandbox, spec)
    assert "more than 256 patterns" in wrong(sandbox, "{a,b}" * 9)


@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "[ab]"]), max_size=7),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4),
)
@example(["**", "a", "*", "b"], ["a", "ab"])
def test_a_glob_fits_what_its_parts_fit(signs: list[str], names: list[str]) -> None:
    pattern, path = "".join(signs), "/".join(names)
    if "***" not in pattern:
        assert bool(glob_regex(pattern).match(path)) == fits(GLOB_TOKENS.findall(pattern), path)


def fits(signs: list[str], path: str) -> bool:
    """What a glob means, by trying everything."""
    if not signs:
        return path == ""
    sign, rest = signs[0], signs[1:]
    if sign in GAPS:
        ends = [at for at in range(len(path) + 1) if re.fullmatch(GAPS[sign], path[:at])]
        return any(fits(rest, path[at:]) for at in ends)
    one = "[^/]" if sign == "?" else sign
    return re.fullmatch(one, path[:1]) is not None and fits(rest, path[1:])


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


def test_outside_a_repository_the_gitignore_of_the_root_counts_below_it(
    sandbox: Sandbox, root: Path
) -> None:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("a")
    (root / "src" / "b.log").write_text("b")
    (root / ".gitignore").write_text("*.log\n")
    assert {p.path for p in read(sandbox, "src")} == {"src/a.py"}


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


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("closed/deep/*.py", "no file matches closed/deep/*.py"),
        ("closed/*", "no file matches closed/*"),
        ("closed", "closed holds no text files"),
    ],
)
def test_a_closed_directory_is_as_an_empty_one(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch, spec: str, said: str
) -> None:
    (root / "closed" / "deep").mkdir(parents=True)
    (root / "closed" / "deep" / "a.py").write_text("x")
    close_directory(root / "closed", monkeypatch)
    assert said in wrong(sandbox, spec)

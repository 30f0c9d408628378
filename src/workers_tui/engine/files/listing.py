"""Which files a directory or a glob stands for: .gitignore honoured, links not followed.

It lists names only; opening is the sandbox's. Version-control directories are
never entered and files whose name says they are no text are passed over.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

from workers_tui.home.files import is_there

NEVER_ENTERED = frozenset({".git", ".hg", ".svn", ".jj", "__pycache__"})
NO_TEXT = frozenset(
    ".png .jpg .jpeg .gif .webp .bmp .ico .icns .tif .tiff "  # noqa: SIM905 - so long: as words
    ".psd .pdf .zip .gz .bz2 .xz .zst .7z .tar .tgz .rar "
    ".jar .war .class .pyc .pyo .so .dylib .dll .exe .o .a .obj .lib .wasm "
    ".db .sqlite .sqlite3 .woff .woff2 .ttf .otf .eot .mp3 .mp4 .m4a .mov .avi .mkv .webm "
    ".wav .flac .ogg .parquet .arrow .npy .npz .pt .onnx .gguf .safetensors .docx .xlsx .pptx "
    ".node .dmg .iso".split()
)
SEEN_LIMIT = 200_000
"""Directory entries looked at before a listing gives up."""


DEEPEST = 100
"""Directories inside each other before a listing gives up."""
IGNORE_BYTES = 1_000_000
"""Read of one .gitignore."""
WILDCARDS = 12
"""Asterisks in one glob: many more of them make matching slow."""
ALTERNATIVES = 256
"""Patterns that the braces of one glob may stand for."""


class TooMuchToList(Exception):
    """The directory holds more entries than a listing may look at."""


class BadGlob(ValueError):
    """The pattern means nothing."""


def files_below(top: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """Parts, relative to `root`, of the text files below `top`, sorted within a directory.

    A .gitignore above `top` counts too, up to the repository's own top; outside
    a repository up to `root`.
    """
    ignores = _ignores_above(top, root)
    seen = [0]
    yield from _walk(top, top.relative_to(root).parts, ignores, seen)


def _walk(
    directory: Path, parts: tuple[str, ...], ignores: list[Ignore], seen: list[int]
) -> Iterator[tuple[str, ...]]:
    ignores = [*ignores, *_ignores_in(directory)]
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return  # not ours to read: as if it were empty
    seen[0] += len(entries)
    if seen[0] > SEEN_LIMIT or len(parts) > DEEPEST:
        raise TooMuchToList
    for entry in entries:
        is_dir = entry.is_dir(follow_symlinks=False)
        if _ignored(ignores, Path(entry.path), is_dir=is_dir):
            continue
        if is_dir:
            if entry.name not in NEVER_ENTERED:
                yield from _walk(Path(entry.path), (*parts, entry.name), ignores, seen)
        elif entry.is_file(follow_symlinks=False) and not _no_text(entry.name):
            yield (*parts, entry.name)


def _no_text(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in NO_TEXT  # noqa: PTH122 - a name, not a path


class Ignore:
    """One .gitignore: its directory and its rules."""

    __slots__ = ("_base", "_spec")

    def __init__(self, base: Path, spec: GitIgnoreSpec) -> None:
        self._base = str(base)
        self._spec = spec

    def says(self, path: Path, *, is_dir: bool) -> bool | None:
        """True: ignored; False: taken back by a `!` rule; None: not mentioned."""
        relative = os.path.relpath(path, self._base) + ("/" if is_dir else "")
        return self._spec.check_file(relative).include


def _ignored(ignores: list[Ignore], path: Path, *, is_dir: bool) -> bool:
    for ignore in reversed(ignores):  # the nearest file decides
        said = ignore.says(path, is_dir=is_dir)
        if said is not None:
            return said
    return False


def _ignores_in(directory: Path) -> list[Ignore]:
    names = (".git/info/exclude", ".gitignore")
    return [Ignore(directory, spec) for name in names if (spec := _spec(directory / name))]


def _ignores_above(top: Path, root: Path) -> list[Ignore]:
    """Rules of the directories above `top`, outermost first."""
    lineage = (top, *top.parents)
    last = next((d for d in lineage if is_there(d / ".git")), root)
    above = lineage[1 : lineage.index(last) + 1]
    return [ignore for directory in reversed(above) for ignore in _ignores_in(directory)]


def _spec(path: Path) -> GitIgnoreSpec | None:
    lines = _ignore_lines(path)
    try:
        return GitIgnoreSpec.from_lines(lines) if lines else None
    except ValueError:
        return GitIgnoreSpec.from_lines(line for line in lines if _parses(line))


def _ignore_lines(path: Path) -> list[str]:
    """Lines of a .gitignore. No link is followed, as in git; a pipe holds nothing up."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        raw = file.read(IGNORE_BYTES)
    return raw.decode("utf-8-sig", "surrogateescape").splitlines()


def _parses(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


GLOB_SIGNS = re.compile(r"[*?\[{]")


def glob_base(pattern: str, is_dir: Callable[[str], bool]) -> str:
    """The leading part of a glob that names a directory plainly.

    Directories such as `[id]` exist: a part with glob signs is plain where it does.
    """
    parts = pattern.split("/")
    plain = next(i for i, part in enumerate(parts) if GLOB_SIGNS.search(part))
    while plain < len(parts) - 1 and is_dir("/".join(parts[: plain + 1])):
        plain += 1
    return "/".join(parts[:plain])


def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob over `/`-separated paths: `**` crosses directories, `{a,b}` are alternatives.

    Raises BadGlob.
    """
    pattern = re.sub(r"(?:\*\*/)+", "**/", re.sub(r"\*{3,}", "**", pattern))
    if pattern.count("*") > WILDCARDS:
        raise BadGlob("it has too many wildcards")
    try:
        return re.compile("|".join(_one_glob(one) for one in _braces(pattern)), re.DOTALL)
    except re.error as error:
        raise BadGlob(str(error)) from None


BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def _braces(pattern: str) -> list[str]:
    """The patterns that one with `{a,b}` stands for. Raises BadGlob."""
    plain: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        match = BRACES.search(one)
        if match is None:
            plain.append(one)
        else:
            head, tail = one[: match.start()], one[match.end() :]
            waiting += [head + word + tail for word in match[1].split(",")]
        if len(plain) + len(waiting) > ALTERNATIVES:
            raise BadGlob(f"it stands for more than {ALTERNATIVES} patterns")
    return plain


GLOB_TOKENS = re.compile(r"(?:^|(?<=/))\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)
GAPS = {"": "", "*": "[^/]*", "**": ".*", "**/": "(?:[^/]+/)*"}


def _one_glob(pattern: str) -> str:
    """The pattern as a regular expression that needs no time, whatever the name.

    Where the next gap can take all that a gap takes, the first fit of the text between
    them is as good as any: it is never tried again (`(?>…)`).
    """
    gaps, texts = [""], [""]
    for sign in GLOB_TOKENS.findall(pattern):
        if sign in GAPS:
            gaps.append(sign)
            texts.append("")
        else:
            texts[-1] += _glob_token(sign)
    parts = []
    for gap, text, following in zip(gaps, texts, [*gaps[1:], ""], strict=True):
        once = gap and following and (gap == "*" or following != "*")
        parts.append(f"(?>{GAPS[gap]}?{text})" if once else GAPS[gap] + text)
    return "(?:" + "".join(parts) + r")\Z"


def _glob_token(sign: str) -> str:
    if sign == "?":
        return "[^/]"
    if len(sign) > 2:
        inside = re.sub(r"([\\\[&|~])", r"\\\1", sign[1:-1])
        return "[^/" + inside[1:] + "]" if inside[0] in "!^" else f"[{inside}]"
    return re.escape(sign)

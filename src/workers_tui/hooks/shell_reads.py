"""Which files a shell command prints whole: `cat big.log`, `Get-Content -Path x`, `cd d && cat f`.

It errs on the side of silence: whatever it does not understand reads nothing.
"""

from __future__ import annotations

import os

PRINTERS = frozenset({"cat", "type", "get-content", "gc", "more", "less"})
PARTIAL = ("-totalcount", "-head", "-first", "-tail", "-last", "-total", "-readcount", "-wait")
VALUE_FLAGS = frozenset({"-encoding", "-delimiter", "-filter", "-include", "-exclude", "-stream"})
NEXT = "\0"
"""Between two commands; no word of a command line can hold it."""
LONGEST = 20_000
"""Characters of a command; beyond it is a script, and reading it would keep the user waiting."""
MOST_FILES = 1000
INPUT = "\0<"
"""Before the file that a command's input comes from."""
PREFIXES = frozenset({"sudo", "env", "command", "exec", "time", "nohup"})
"""Run what follows them."""
MOVERS = frozenset({"cd", "chdir", "pushd", "popd", "sl", "set-location", "push-location"})
STRANGE = frozenset("|<>`(){};&'\"$")
"""Not in a bare word: pipes, redirections, substitutions and scripts print no plain whole file."""


def printed_files(command: str, cwd: str, *, powershell: bool) -> list[str]:
    """Absolute paths of the files that the command prints from beginning to end."""
    low = command.lower()
    if len(command) > LONGEST or not any(word in low for word in PRINTERS):
        return []
    words = _words(command.strip(), powershell=powershell)
    if words is None:
        return []
    found: list[str] = []
    for step in _steps(words):
        program = os.path.basename(step[0]).lower()
        if program in MOVERS:
            if len(step) != 2 or step[1].startswith("-"):
                return []  # who knows where it is now
            cwd = os.path.join(cwd, os.path.expanduser(step[1]))
        elif program in PRINTERS:
            found += _arguments(step, cwd)
    return found


def _steps(words: list[str]) -> list[list[str]]:
    """The simple commands of a line, without what only runs them."""
    steps: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            steps.append([])
        elif steps[-1] or not _is_prefix(word):
            steps[-1].append(word)
    return [step for step in steps if step]


def _is_prefix(word: str) -> bool:
    """`sudo`, or a setting such as `LC_ALL=C`."""
    return word in PREFIXES or (word.partition("=")[0].isidentifier() and "=" in word)


def _words(line: str, *, powershell: bool) -> list[str] | None:
    """The words of a command line, quotes removed; None for what is not a plain line."""
    words: list[str] = []
    glued = False
    at = 0
    while at < len(line):
        if line[at] in " \t" or line.startswith("\\\n", at):
            glued = glued and line[at] == "\\"
            at += 1 if line[at] in " \t" else 2
        elif line[at] in "&;\r\n" or line.startswith("||", at):
            words.append(NEXT)
            glued = False
            at += 2 if line.startswith(("&&", "||"), at) else 1
        elif line[at] in "<>" and not powershell:
            aside = _aside(line, at, words.pop() if glued else "")
            if not aside:
                return None
            if line[at] == "<":
                words.append(INPUT)
            glued = False
            at += aside
        else:
            piece, at = _piece(line, at, powershell=powershell)
            if piece is None:
                return None
            words.append(words.pop() + piece if glued else piece)
            glued = True
    return words


def _aside(line: str, at: int, before: str) -> int:
    """How long a redirection is that leaves the output alone; 0 for any other.

    Errors may go elsewhere (`2>/dev/null`, `2>&1`), the input may come from a file.
    """
    if line[at] == "<":
        return 1 if not before and line[at + 1 : at + 2] not in {"<", "(", "&", ">", ""} else 0
    for aside in (">&1", ">/dev/null", "> /dev/null", ">>/dev/null"):
        end = at + len(aside)
        if before == "2" and line.startswith(aside, at) and line[end : end + 1] in " \t\n;&|":
            return len(aside)
    return 0


def _piece(line: str, at: int, *, powershell: bool) -> tuple[str | None, int]:
    """One quoted or bare part of a word and where it ends; None when there is no such thing."""
    sign = line[at]
    if sign == "'":
        end = line.find("'", at + 1)
        return (line[at + 1 : end], end + 1) if end > 0 else (None, at)
    if sign == '"':
        return _double(line, at + 1, powershell=powershell)
    if sign == "\\" and not powershell:
        return line[at + 1 : at + 2] or None, at + 2
    end = at
    while end < len(line) and _is_bare(line[end], powershell=powershell):
        end += 1
    return line[at:end] or None, end


def _is_bare(sign: str, *, powershell: bool) -> bool:
    return sign not in STRANGE and not sign.isspace() and (powershell or sign != "\\")


def _double(line: str, at: int, *, powershell: bool) -> tuple[str | None, int]:
    """What stands between double quotes, and where it ends."""
    signs: list[str] = []
    while at < len(line) and line[at] not in '"`$':
        if line[at] == "\\" and not powershell:
            at += 1
        signs.append(line[at : at + 1])
        at += 1
    return ("".join(signs), at + 1) if line[at : at + 1] == '"' else (None, at)


def _arguments(step: list[str], cwd: str) -> list[str]:
    """The files of one printing command; none when it prints a part."""
    files: list[str] = []
    words = iter(step[1:])
    for word in words:
        low = word.lower()
        if word == INPUT:
            source = next(words, "")
            files += _expanded(source, cwd) if not files else []
            continue
        if word.startswith("#"):
            break  # a comment
        if low.startswith("+") or any(low.startswith(flag) for flag in PARTIAL):
            return []
        if low in VALUE_FLAGS:
            next(words, None)
        elif not word.startswith("-"):
            files += _expanded(word, cwd)
    return files


def _expanded(word: str, cwd: str) -> list[str]:
    path = os.path.join(cwd, os.path.expanduser(word))
    if os.path.exists(path) or not any(sign in word for sign in "*?["):
        return [path]
    import glob  # late: only a pattern needs it

    found: list[str] = []
    for name in glob.iglob(path):
        found.append(name)
        if len(found) == MOST_FILES:
            break
    return sorted(found)

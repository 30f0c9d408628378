"""Which files a shell command prints whole: `cat big.log`, `Get-Content -Path x`, `cd d && cat f`.

It errs on the side of silence: whatever it does not understand reads nothing.
"""

from __future__ import annotations

import os
import re

PRINTERS = frozenset({"cat", "type", "get-content", "gc", "more", "less"})
PARTIAL = ("-totalcount", "-head", "-first", "-tail", "-last", "-total", "-readcount", "-wait")
VALUE_FLAGS = frozenset({"-encoding", "-delimiter", "-filter", "-include", "-exclude", "-stream"})
NEXT = "\0"
"""Between two commands; no word of a command line can hold it."""
COMMON = r"(?P<space>[ \t]+)|(?P<next>&&|\|\||[;&])|'(?P<single>[^']*)'|"
# `other`: a pipe, a redirection, a substitution, a script: no plain print of a whole file.
POSIX = re.compile(
    COMMON + r'"(?P<double>(?:\\.|[^"\\`$])*)"|(?P<escaped>\\.)|(?P<plain>[^\s|<>`(){};&\'"\\$]+)'
    "|(?P<other>.)",
    re.DOTALL,
)
POWERSHELL = re.compile(
    COMMON + r'"(?P<double>[^"`$]*)"|(?P<plain>[^\s|<>`(){};&\'"$]+)|(?P<other>.)', re.DOTALL
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def printed_files(command: str, cwd: str, *, powershell: bool) -> list[str]:
    """Absolute paths of the files that the command prints from beginning to end."""
    low = command.lower()
    if not any(word in low for word in PRINTERS):
        return []
    words = _words(command, POWERSHELL if powershell else POSIX)
    if words is None:
        return []
    found: list[str] = []
    for step in _steps(words):
        if step[0] == "cd" and len(step) == 2:
            cwd = os.path.join(cwd, os.path.expanduser(step[1]))
        elif step[0].lower() in PRINTERS:
            found += _arguments(step, cwd)
    return found


def _steps(words: list[str]) -> list[list[str]]:
    """The simple commands of a line."""
    steps: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            steps.append([])
        else:
            steps[-1].append(word)
    return [step for step in steps if step]


def _words(command: str, pattern: re.Pattern[str]) -> list[str] | None:
    """The words of a command line, quotes removed; None for what is not a plain line."""
    words: list[str] = []
    glued = False
    for match in pattern.finditer(command.strip()):
        kind = match.lastgroup or "other"
        if kind == "other":
            return None
        if kind in {"space", "next"}:
            glued = False
            words += [NEXT] if kind == "next" else []
            continue
        text = (
            ESCAPED.sub(r"\1", match[kind])
            if kind in {"escaped", "double"} and pattern is POSIX
            else match[kind]
        )
        words.append(words.pop() + text if glued else text)
        glued = True
    return words


def _arguments(step: list[str], cwd: str) -> list[str]:
    """The files of one printing command; none when it prints a part."""
    files: list[str] = []
    words = iter(step[1:])
    for word in words:
        low = word.lower()
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

    return sorted(glob.glob(path))[:1000]

"""Names of files that are never sent, and of files that no worker may write.

Only names are looked at, in any case and without the invisible characters that
make two names look alike. What a file contains is the business of `secrets`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")

WORKTREE = re.compile(r"^.*/\.claude/worktrees/[^/]+(?=/)")
"""Claude Code keeps working copies there: they are projects, not its settings."""

KEY_FILES: tuple[tuple[str, str], ...] = (
    (".env", "environment file"),
    (".env.*", "environment file"),
    ("*.env", "environment file"),
    (".envrc", "environment file"),
    ("*.pem", "key or certificate"),
    ("*.key", "private key"),
    ("*.p12", "key store"),
    ("*.pfx", "key store"),
    ("*.jks", "key store"),
    ("*.keystore", "key store"),
    ("*.kdbx", "password store"),
    ("*.ppk", "private key"),
    ("*.ovpn", "VPN profile with keys"),
    ("id_rsa*", "SSH key"),
    ("id_dsa*", "SSH key"),
    ("id_ecdsa*", "SSH key"),
    ("id_ed25519*", "SSH key"),
    (".netrc", "login file"),
    ("_netrc", "login file"),
    (".npmrc", "registry token file"),
    (".yarnrc.yml", "registry token file"),
    (".pypirc", "registry token file"),
    (".pgpass", "database password file"),
    (".my.cnf", "database password file"),
    (".mylogin.cnf", "database password file"),
    (".git-credentials", "stored git logins"),
    (".htpasswd", "password file"),
    (".dockercfg", "registry logins"),
    (".docker/config.json", "registry logins"),
    (".kube/config", "cluster credentials"),
    ("kubeconfig", "cluster credentials"),
    ("*.kubeconfig", "cluster credentials"),
    (".aws/config", "cloud credentials"),
    ("credentials", "credentials file"),
    ("credentials.json", "credentials file"),
    ("credentials.toml", "credentials file"),
    (".credentials.json", "credentials file"),
    ("application_default_credentials.json", "cloud credentials"),
    ("service-account*.json", "cloud credentials"),
    ("service_account*.json", "cloud credentials"),
    ("*.tfstate", "Terraform state, which holds secrets in clear"),
    ("*.tfstate.*", "Terraform state, which holds secrets in clear"),
    (".terraformrc", "cloud credentials"),
    (".vault-token", "access token"),
    (".vault_pass", "vault password"),
    (".vault_pass.*", "vault password"),
    ("secrets.yml", "secrets file"),
    ("secrets.yaml", "secrets file"),
    ("secrets.json", "secrets file"),
    ("secrets.toml", "secrets file"),
    (".s3cfg", "cloud credentials"),
    (".boto", "cloud credentials"),
    ("gh/hosts.yml", "login file"),
    (".claude.json", "Claude Code's own state"),
    (".claude-workers/**", "agent worker keys"),
    (".ssh/**", "SSH directory"),
    (".gnupg/**", "GnuPG directory"),
    (".password-store/**", "password store"),
    ("wallet.dat", "wallet"),
    (".bash_history", "shell history"),
    (".zsh_history", "shell history"),
    (".psql_history", "shell history"),
    (".mysql_history", "shell history"),
    (".python_history", "shell history"),
)
"""Name or path tail, and what it is."""

HARMLESS = re.compile(
    r"(?:^|[._-])(?:example|examples|sample|template|tmpl|dist|defaults|schema)(?:$|[._-])|\.pub$"
)
"""Beside a key file's name: a file made to be shown."""

OBEYED: tuple[tuple[str, str], ...] = (
    (".git/**", "git runs and obeys it"),
    ("*.git/hooks/**", "git runs it"),
    ("*.git/config", "git obeys it"),
    (".git", "git obeys it"),
    (".gitmodules", "git obeys it"),
    (".gitconfig", "git obeys it"),
    (".hg/**", "Mercurial runs and obeys it"),
    (".svn/**", "Subversion obeys it"),
    (".husky/**", "git runs it"),
    (".githooks/**", "git runs it"),
    (".pre-commit-config.yaml", "git runs it"),
    ("lefthook.y*ml", "git runs it"),
    (".claude/**", "Claude Code obeys it"),
    (".claude-plugin/**", "Claude Code obeys it"),
    (".mcp.json", "Claude Code starts programs from it"),
    ("claude.md", "Claude Code takes it as the user's instructions"),
    ("claude.*.md", "Claude Code takes it as the user's instructions"),
    ("agents.md", "coding agents take it as the user's instructions"),
    ("gemini.md", "coding agents take it as the user's instructions"),
    (".cursorrules", "coding agents take it as the user's instructions"),
    (".cursor/**", "an editor obeys it"),
    (".codex/**", "coding agents obey it"),
    (".gemini/**", "coding agents obey it"),
    (".vscode/**", "an editor runs tasks from it"),
    (".idea/**", "an editor runs tasks from it"),
    (".zed/**", "an editor runs tasks from it"),
    ("*.code-workspace", "an editor runs tasks from it"),
    (".devcontainer/**", "an editor runs it"),
    (".exrc", "an editor runs it"),
    (".vimrc", "an editor runs it"),
    (".nvimrc", "an editor runs it"),
    (".nvim.lua", "an editor runs it"),
    (".gdbinit", "a debugger runs it"),
    (".lldbinit", "a debugger runs it"),
    (".github/workflows/**", "CI runs it with the repository's secrets"),
    (".gitlab-ci.yml", "CI runs it with the repository's secrets"),
    (".bashrc", "the shell runs it"),
    (".bash_profile", "the shell runs it"),
    (".bash_login", "the shell runs it"),
    (".bash_logout", "the shell runs it"),
    (".bash_aliases", "the shell runs it"),
    (".profile", "the shell runs it"),
    (".zshrc", "the shell runs it"),
    (".zshenv", "the shell runs it"),
    (".zprofile", "the shell runs it"),
    (".zlogin", "the shell runs it"),
    (".config/fish/**", "the shell runs it"),
    (".inputrc", "the shell obeys it"),
    (".pythonrc", "Python runs it"),
    ("sitecustomize.py", "Python runs it at every start"),
    ("usercustomize.py", "Python runs it at every start"),
    ("*.pth", "Python runs it at every start"),
    (".yarnrc", "the package manager obeys it"),
)
"""Written by a worker these would take effect without anyone reading them first."""


def key_file(path: str) -> str | None:
    """What kind of key file this path names (posix separators), or None."""
    name = plain(path)
    if HARMLESS.search(name.rpartition("/")[2]):
        return None
    return _first(KEY_FILES, name)


def obeyed_file(path: str) -> str | None:
    """Why no worker may write this path, or None."""
    name = WORKTREE.sub("", plain(path))
    return _first(OBEYED, name) or key_file(path)


def plain(path: str) -> str:
    """The path as a forgiving file system would read it: case, lookalikes, trailing dots."""
    text = INVISIBLE.sub("", unicodedata.normalize("NFKC", path)).casefold()
    return "/".join(part.rstrip(" .") or part for part in text.split("/"))


def _first(table: Sequence[tuple[str, str]], path: str) -> str | None:
    parts = PurePosixPath(path).parts
    return next((why for pattern, why in table if _tail_matches(pattern, parts)), None)


def _tail_matches(pattern: str, parts: Sequence[str]) -> bool:
    """A bare name matches the last part, `dir/**` anything inside such a directory."""
    if "/" not in pattern:
        return bool(parts) and fnmatchcase(parts[-1], pattern)
    if pattern.endswith("/**"):
        wanted = pattern[:-3].split("/")
        spans = range(len(parts) - len(wanted))
        return any(_parts_match(wanted, parts[i : i + len(wanted)]) for i in spans)
    wanted = pattern.split("/")
    return _parts_match(wanted, parts[-len(wanted) :])


def _parts_match(patterns: Sequence[str], parts: Sequence[str]) -> bool:
    return len(patterns) == len(parts) and all(map(fnmatchcase, parts, patterns))

"""Which file system a directory lies on, as far as the platform tells."""

from __future__ import annotations

import re
import sys
from pathlib import Path

NETWORK = frozenset(
    {
        "9p-drvfs", "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph",
        "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs",
        "lustre", "ncpfs", "nfs", "nfs3", "nfs4", "orangefs", "smb3", "smbfs", "sshfs", "webdav",
    }
)  # fmt: skip
"""Kinds on which SQLite's WAL mode cannot share memory or trust locks."""


def network_file_system(directory: Path, table: str | None = None) -> str | None:
    """The kind of network file system that `directory` lies on, or None for a local one.

    `table` is the mount table's text; by default it is the machine's own.
    """
    mounts = _parse(_mount_table() if table is None else table)
    place = directory.absolute()
    existing = next((p for p in (place, *place.parents) if p.exists()), place)
    target = existing.resolve()
    for point in (target, *target.parents):
        kind = mounts.get(str(point))
        if kind is not None:
            return kind if kind in NETWORK else None
    return None


def _parse(table: str) -> dict[str, str]:
    """Mount points and their kinds; a later line covers an earlier one."""
    mounts: dict[str, str] = {}
    for line in table.splitlines():
        left, dash, right = line.partition(" - ")
        if dash and len(left.split()) >= 5:  # /proc/self/mountinfo
            mounts[_unescape(left.split()[4])] = _kind(right)
        elif match := re.match(r".+ on (/.*) \((\w+)", line):  # the BSD and macOS `mount`
            mounts[match[1]] = match[2]
    return mounts


def _kind(right: str) -> str:
    """The file system's kind; Windows' drives under Linux are told from other 9p mounts."""
    kind = right.split(maxsplit=1)[0]
    return "9p-drvfs" if kind == "9p" and "drvfs" in right else kind


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _mount_table() -> str:
    try:
        if sys.platform == "darwin":
            return _told_by_program()
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""  # a platform that does not tell: SQLite's own checks remain


def _told_by_program() -> str:
    import subprocess  # late: only macOS needs it, and every command comes by here

    try:
        done = subprocess.run(
            ["/sbin/mount"], capture_output=True, text=True, timeout=5, check=False
        )
    except subprocess.SubprocessError:
        return ""
    return done.stdout

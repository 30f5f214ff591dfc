"""Whether the locks of a file system hold between all hosts that see it."""

from __future__ import annotations

import re
from pathlib import Path

from metacog_pipeline.errors import StudyError

MOUNTS = Path("/proc/self/mounts")
_LOCAL_ONLY = re.compile(r"(?:^|,)(?:nolock|local_lock=(?:all|flock)|nobrl)(?:,|$)")
# File systems of networks and of user space that keep locks on the host that takes them.
_NO_LOCKS = re.compile(r"fuse\.(?:s3fs|goofys|rclone|sshfs|gcsfuse|mount-s3|blobfuse2?)|afs|davfs")


def refuse_unlocked(path: Path, key: str, mounts: Path = MOUNTS) -> None:
    """Raise ``StudyError`` where ``path`` (of the key ``key``) lies on a file system without locks between hosts."""
    kind, options, point = _mount_of(path.resolve(), mounts)
    if _NO_LOCKS.fullmatch(kind) or (kind.startswith(("nfs", "cifs", "smb")) and _LOCAL_ONLY.search(options)):
        raise StudyError(
            f"{key}: {path} lies on {point} ({kind}), whose locks do not hold between hosts, so two writers could lose "
            "answers; choose a local disk, a file system with locks, or an object store"
        )


def _mount_of(path: Path, mounts: Path) -> tuple[str, str, str]:
    """Return file system, options and mount point of the mount that ``path`` lies on; empty where it cannot be told."""
    found, best = ("", "", ""), -1
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return found
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1])
        if path.is_relative_to(point) and len(point) >= best:
            found, best = (fields[2], fields[3], point), len(point)
    return found

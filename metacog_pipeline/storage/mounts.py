"""Whether the locks of a file system hold between all hosts that see it."""

from __future__ import annotations

import re
from pathlib import Path

from metacog_pipeline.errors import StudyError

MOUNTS = Path("/proc/self/mounts")
# Options that keep the locks of a network's file system on one host, and file systems of user space that always do.
_LOCAL_ONLY = re.compile(r"(?:nfs|cifs|smb)\S* (?:\S*,)?(?:nolock|local_lock=(?:all|flock)|nobrl)(?:,|$)")
_NO_LOCKS = re.compile(r"(?:fuse\.(?:s3fs|goofys|rclone|sshfs|gcsfuse|mount-s3|blobfuse2?)|afs|davfs) ")


def refuse_unlocked(path: Path, key: str, mounts: Path = MOUNTS) -> None:
    """Raise ``StudyError`` where ``path`` (of the key ``key``) lies on a file system without locks between hosts."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return  # no such list on this system
    found, place = Path(), ""
    for _, point, kind, options, *_ in (fields for line in lines if len(fields := line.split(" ")) > 3):
        folder = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point))
        if path.resolve().is_relative_to(folder) and len(folder.parts) >= len(found.parts):
            found, place = folder, f"{kind} {options}"
    if _LOCAL_ONLY.match(place) or _NO_LOCKS.match(place):
        raise StudyError(
            f"{key}: {path} lies on {found} ({place.partition(' ')[0]}), whose locks do not hold between hosts, so two "
            "writers could lose answers; choose a local disk, a file system with locks, or an object store"
        )

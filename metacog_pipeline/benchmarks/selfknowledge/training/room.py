"""How much memory a run takes and how much there is: of the machine, of a container, of a graphics card."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError

_BYTES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2}
_OF_TYPE = {"float32": 4, "bfloat16": 2, "float16": 2}
_CGROUP = Path("/sys/fs/cgroup")


def weights_of(folder: Path, dtype: str = "auto") -> tuple[int, int]:
    """Return how many numbers the safetensors of a folder hold, and their bytes once opened as ``dtype``.

    Only the headers are read.
    """
    count = size = 0
    for path in sorted(folder.glob("*.safetensors")):
        if path.name == "master.safetensors":
            continue
        for name, tensor in _header(path).items():
            if name != "__metadata__":
                numbers = 1
                for side in tensor["shape"]:
                    numbers *= side
                count += numbers
                size += numbers * _BYTES.get(tensor["dtype"], 4)
    if not count:
        raise StudyError(f"{folder}: no weights here (*.safetensors); give the folder of a model")
    return count, size if dtype == "auto" else count * _OF_TYPE[dtype]


def host_free() -> int | None:
    """Return the bytes this process may still take; None where the system does not say."""
    found = []
    with contextlib.suppress(OSError, ValueError):  # a machine without limits of its own has no such files
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        most, taken = (int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        found.append(most - taken)
    return min(found, default=None)


def peak() -> int | None:
    """Return the most memory this process has had resident, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return None


def shown(size: float | None) -> str | None:
    """Return bytes as text."""
    return None if size is None else f"{size / 1e9:.2f} GB"


def _header(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            found = json.loads(file.read(min(length, 100 << 20)))
    except (OSError, ValueError, struct.error):
        found = None
    if not isinstance(found, dict):
        raise StudyError(f"{path}: no readable safetensors file; copy the model again")
    return found

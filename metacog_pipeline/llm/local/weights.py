"""Which model a folder holds, by content: moving it changes nothing, training it on does."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

SMALL_FILE = 16 << 20  # bytes; larger ones are sampled
BLOCK = 1 << 16
BLOCKS = 256
_TOLD_BY = (".json", ".jinja", ".model", ".txt", ".safetensors")


def weights_digest(folder: str) -> str | None:
    """Return the SHA-256 of a model folder's configuration, tokenizer and weights; None where there is no model."""
    path = Path(folder)
    try:
        files = sorted(each for each in path.iterdir() if each.suffix in _TOLD_BY and each.is_file())
        state = tuple((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files)
    except (OSError, ValueError):
        return None
    if not any(name == "config.json" for name, _, _ in state):
        return None
    # Large files are sampled: training changes nearly every weight, so 256 blocks spread evenly distinguish
    # two checkpoints in a fraction of the time that reading them takes.
    return _digest(path, state)


@functools.lru_cache(maxsize=64)
def _digest(folder: Path, state: tuple[tuple[str, int, int], ...]) -> str | None:
    digest = hashlib.sha256()
    try:
        for name, size, _ in state:
            digest.update(f"{name}\0{size}\0".encode("utf-8", "surrogateescape"))
            with (folder / name).open("rb") as file:
                if size <= SMALL_FILE:
                    digest.update(file.read())
                    continue
                for place in range(BLOCKS):
                    file.seek((size - BLOCK) * place // (BLOCKS - 1))
                    digest.update(file.read(BLOCK))
    except OSError:
        return None
    return digest.hexdigest()

"""Safetensors files: written in pieces, so that no second copy of a model is needed, and read one tensor at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import replacing

MASTER = "master.safetensors"
_ALIGN = 8


def write_single(path: Path, shapes: Mapping[str, tuple[int, ...]], parts: Iterable[Tensor]) -> None:
    """Write float32 tensors, whose elements ``parts`` give one after another in the order of ``shapes``."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, shape in shapes.items():
        size = 4
        for side in shape:
            size *= side
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGN)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in parts:
            file.write(part.detach().contiguous().numpy().data)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors of any type; the file is whole or absent."""
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        save_file({name: t.detach().contiguous().cpu() for name, t in tensors.items()}, temporary)


class Lazy(Mapping[str, Tensor]):
    """The tensors of a file, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        from safetensors import safe_open

        opener: Any = safe_open  # it has no annotations
        try:
            self._file = opener(path, framework="pt", device="cpu")
            self._names: list[str] = list(self._file.offset_keys())
        except Exception as error:  # the library raises its own kind for a torn file
            raise StoreError(f"{path}: no readable safetensors file: {one_line(str(error))}") from None

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise KeyError(name)
        tensor: Tensor = self._file.get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_tensors(path: Path) -> Lazy:
    """Open the tensors of a file."""
    return Lazy(path)

"""Packages with a benchmark that is broken in one way: each a module and what an installer leaves beside it."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metacog_pipeline import registry

#: A module whose class is the toy's but for the lines that break it.
MODULE = """
import dataclasses, sys
from typing import Annotated
import polars as pl
import sometrivia as toy
from sometrivia import *
from metacog_pipeline.benchmark import contract as c

class {name}(toy.SomeTrivia):
    name = "{name}"
{lines}
"""


def install(
    folder: Path, name: str, lines: str = "    pass", *, module: str | None = None, entry: str = ""
) -> None:
    """Write a package with one benchmark of its name; ``lines`` stand in its class, or ``module`` instead of all."""
    said = module if module is not None else MODULE.format(name=name, lines=lines)
    (folder / f"{name}.py").write_text(said)
    beside = folder / f"{name}-1.0.dist-info"
    beside.mkdir()
    (beside / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    listed = entry or f"{name} = {name}:{name}"
    (beside / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{listed}\n")


@contextmanager
def found(*folders: Path) -> Iterator[None]:
    """Have the packages in ``folders`` be installed for this process."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(folder)
        importlib.invalidate_caches()
        _forget()
        try:
            yield
        finally:
            own = {path.stem for folder in folders for path in folder.iterdir()}
            for name in set(sys.modules) - before:
                if name.partition(".")[0] in own:
                    del sys.modules[name]
    _forget()


def _forget() -> None:
    registry.entries.cache_clear()
    registry.load.cache_clear()
    registry._broken.clear()

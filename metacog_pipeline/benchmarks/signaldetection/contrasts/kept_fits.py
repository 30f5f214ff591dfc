"""Refits of meta-d′, kept: the same counts and resamples are never fitted twice.

A study's models of one task stand in one file ``<folder>/<digest>.parquet``: a row per model, named by the digest of what
was fitted, with meta-d′ and M-ratio of the sample first and of every resample behind. So a model that is added is fitted
alone. Whoever deletes the folder loses time, nothing else; a file that is damaged or changed is left unread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.study.kept import KEY, read_kept, write_kept

Floats = NDArray[np.float64]
#: Of one model: by measure, the value of the sample and of every resample.
Fits = Mapping[str, tuple[float, Floats]]

VERSION = "1"  # raised when the same counts would give other fits
FITTED = ("meta_d", "m_ratio")
_SCHEMA = pl.Schema({KEY: pl.String(), **dict.fromkeys(FITTED, pl.List(pl.Float64()))})


def digest(*arrays: Floats) -> str:
    """Return the name of what is fitted."""
    found = hashlib.sha256(VERSION.encode())
    for each in arrays:
        found.update(repr(each.shape).encode())
        found.update(np.ascontiguousarray(each).tobytes())
    return found.hexdigest()


class KeptFits:
    """The refits of one set of models; those asked for are kept by `write`, others are dropped."""

    def __init__(self, folder: Path, *names: object) -> None:
        self._path = folder / f"{sha256_hex(canonical_json([str(name) for name in names]))}.parquet"
        self._there = _fits(read_kept(self._path, _SCHEMA))
        self._asked: dict[str, Fits] = {}

    def get(self, key: str) -> Fits | None:
        """Return what is kept under ``key``."""
        found = self._there.get(key)
        if found is not None:
            self._asked[key] = found
        return found

    def put(self, key: str, fits: Fits) -> None:
        """Keep what was fitted."""
        self._asked[key] = fits

    def write(self) -> None:
        """Write what was asked for, where anything is new or left over."""
        if self._asked.keys() == self._there.keys():
            return
        rows = {
            KEY: list(self._asked),
            **{
                name: [np.concatenate([[fits[name][0]], fits[name][1]]) for fits in self._asked.values()]
                for name in FITTED
            },
        }
        write_kept(pl.DataFrame(rows, schema=_SCHEMA), self._path)


def _fits(rows: pl.DataFrame) -> dict[str, Fits]:
    values = {name: [each.to_numpy() for each in rows[name]] for name in FITTED}
    return {
        key: {name: (float(values[name][place][0]), values[name][place][1:]) for name in FITTED}
        for place, key in enumerate(rows[KEY])
    }

"""Refits of meta-d′ to resamples, one file per model and condition, named by the digest of what was fitted.

A thousand fits per model take seconds, and every pair of models needs them. Whoever deletes the folder loses time only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.errors import SourceError
from metacog_pipeline.study.frames import mark_of, read_frame, write_frame

Floats = NDArray[np.float64]
#: Of one model: by measure, the value of the sample and of every resample.
Fits = Mapping[str, tuple[float, Floats]]

VERSION = "1"  # raised when the same counts would give other fits
FITTED = ("meta_d", "m_ratio")


def digest(*arrays: Floats) -> str:
    """Return the digest of what is fitted: the shape and the bytes of each array."""
    found = hashlib.sha256(VERSION.encode())
    for each in arrays:
        found.update(repr(each.shape).encode())
        found.update(np.ascontiguousarray(each).tobytes())
    return found.hexdigest()


def read(folder: Path, key: str) -> Fits | None:
    """Return the fits kept under ``key``; None where there are none, or the file cannot be read."""
    path = folder / f"{key}.parquet"
    if mark_of(path) != key:
        return None
    try:
        values = {name: column.to_numpy() for name, column in read_frame(path).to_dict().items()}
    except SourceError:  # damaged: fitted again
        return None
    return {name: (float(values[name][0]), values[name][1:]) for name in FITTED}


def write(folder: Path, key: str, fits: Fits) -> None:
    """Keep fits under ``key``: a column per measure, the sample first."""
    columns = {name: np.concatenate([[value], drawn]) for name, (value, drawn) in fits.items()}
    write_frame(pl.DataFrame(columns), folder / f"{key}.parquet", key)

"""``arviz``: posterior draws as netCDF, a file for each model and task; ``arviz.from_netcdf`` opens them."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from metacog_pipeline.errors import StudyError
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.fitting.netcdf import write_parts
from metacog_pipeline.scoring.estimates import groups_of
from metacog_pipeline.scoring.files import scored_frames


def write(facts: Facts, folder: Path) -> list[str]:
    """Write the draws that the study keeps.

    Raises ``StudyError`` if no benchmark of the study keeps draws, or none converged.
    """
    about = facts.write_about(folder, {"format": "arviz"})
    files = 0
    for benchmark in facts.benchmarks():
        frames = scored_frames(benchmark)
        if not frames:
            continue
        groups = groups_of(benchmark, pl.concat(frames, how="diagonal_relaxed"), by_run=False)
        for label, draws in benchmark.draws(groups).items():
            path = folder / benchmark.name / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', label)}.nc"
            path.parent.mkdir(exist_ok=True)
            attributes = {"benchmark": benchmark.name, "label": label, "snapshot": about["snapshot"]}
            write_parts({"posterior": draws, "dims": {}, "coords": {}, "attrs": attributes}, path)
            files += 1
    if not files:
        raise StudyError(
            f"{facts.study.path.name}: no posterior draws are kept that converged; nothing was written"
        )
    return [f"{files} posteriors"]

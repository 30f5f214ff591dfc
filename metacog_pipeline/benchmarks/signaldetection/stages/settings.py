"""What the study file says about signal detection."""

from __future__ import annotations

import functools
from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.signaldetection.prompts import Wording, load_wording
from metacog_pipeline.study import SignalDetectionSection, Study

BENCHMARK = "signaldetection"


def settings(study: Study) -> SignalDetectionSection:
    """Return the study's ``[benchmarks.signaldetection]``."""
    return study.benchmarks.signaldetection


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions."""
    return settings(study).conditions


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError where a task or condition of the study has none."""
    section = settings(study)
    path = None if section.wording is None else beside(study, section.wording)
    found = _wording(path, () if path is None else _state_of(path))
    found.check(section.tasks, section.conditions, found.ratings)
    return found


def posteriors(study: Study) -> Path:
    """Return the folder Bayesian fits are kept in."""
    return study.home.estimates / BENCHMARK / "posteriors"


@functools.lru_cache(maxsize=4)  # a study of a hundred models looks here hundreds of times
def _wording(path: Path | None, changed: tuple[object, ...]) -> Wording:
    return load_wording(path)


def _state_of(path: Path) -> tuple[object, ...]:
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    found = [(file.name, file.stat()) for file in files if file.is_file()]
    return tuple((name, state.st_mtime_ns, state.st_size) for name, state in found)

"""What the study file says about MetaMedQA."""

from __future__ import annotations

import functools
from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, load_wording
from metacog_pipeline.study import MetaMedQASection, Study

BENCHMARK = "metamedqa"


def settings(study: Study) -> MetaMedQASection:
    """Return the study's ``[benchmarks.metamedqa]``."""
    return study.benchmarks.metamedqa


def folder(study: Study) -> Path | None:
    """Return the folder of a custom data set."""
    given = settings(study).folder
    return None if given is None else beside(study, given)


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for an unreadable file or an unknown condition."""
    chosen = settings(study).wording
    if chosen is None:
        return _wording(None, ())
    path = beside(study, chosen)
    found = path.stat() if path.is_file() else None
    return _wording(path, () if found is None else (found.st_mtime_ns, found.st_size, found.st_ino))


@functools.lru_cache(maxsize=4)  # a study of a hundred models looks here hundreds of times
def _wording(path: Path | None, changed: tuple[int, ...]) -> Wording:
    return load_wording(path)


def conditions(study: Study) -> tuple[str, ...]:
    """Return the canonical names of the study's conditions; raises StudyError for one without words."""
    words = wording(study)
    return tuple(dict.fromkeys(words.condition(name) for name in settings(study).conditions))

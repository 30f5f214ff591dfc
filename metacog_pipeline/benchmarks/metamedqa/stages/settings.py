"""What the study file says about MetaMedQA."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.common.wording import words_of
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.metamedqa.settings import Settings
from metacog_pipeline.study import Study

BENCHMARK = "metamedqa"


def settings(study: Study) -> Settings:
    """Return the study's ``[benchmarks.metamedqa]``."""
    found = study.benchmarks.get(BENCHMARK) or Settings()
    assert isinstance(found, Settings)
    return found


def folder(study: Study) -> Path | None:
    """Return the folder of a custom data set."""
    given = settings(study).folder
    return None if given is None else beside(study, given)


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for an unreadable file or an unknown condition."""
    return words_of(study, settings(study).wording, load_wording)


def conditions(study: Study) -> tuple[str, ...]:
    """Return the canonical names of the study's conditions; raises StudyError for one without words."""
    words = wording(study)
    return tuple(dict.fromkeys(words.condition(name) for name in settings(study).conditions))

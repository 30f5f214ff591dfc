"""What the study file says about signal detection."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.benchmarks.common.wording import words_of
from metacog_pipeline.benchmarks.signaldetection.observe import BENCHMARK
from metacog_pipeline.benchmarks.signaldetection.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.signaldetection.settings import Settings
from metacog_pipeline.study import Study

__all__ = ["BENCHMARK", "conditions", "posteriors", "settings", "wording"]


def settings(study: Study) -> Settings:
    """Return the study's ``[benchmarks.signaldetection]``."""
    found = study.benchmarks.get(BENCHMARK) or Settings()
    assert isinstance(found, Settings)
    return found


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions."""
    return settings(study).conditions


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError where a task or condition of the study has none."""
    section = settings(study)
    found = words_of(study, section.wording, load_wording)
    found.check(section.tasks, section.conditions, found.ratings)
    return found


def posteriors(study: Study) -> Path:
    """Return the folder Bayesian fits are kept in."""
    return study.home.estimates / BENCHMARK / "posteriors"

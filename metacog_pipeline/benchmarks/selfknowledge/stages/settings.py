"""What the study file says about self-knowledge."""

from __future__ import annotations

from metacog_pipeline.benchmarks.common.wording import words_of
from metacog_pipeline.benchmarks.selfknowledge.items import BENCHMARK, CONDITIONS, LANGUAGE_OF
from metacog_pipeline.benchmarks.selfknowledge.prompts import IDK, Wording, load_wording
from metacog_pipeline.benchmarks.selfknowledge.settings import Settings
from metacog_pipeline.study import Study

__all__ = ["BENCHMARK", "conditions", "settings", "wording"]


def settings(study: Study) -> Settings:
    """Return the study's ``[benchmarks.selfknowledge]``."""
    found = study.benchmarks.get(BENCHMARK) or Settings()
    assert isinstance(found, Settings)
    return found


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions: one per language, and the question with leave to abstain."""
    section = settings(study)
    duals = {LANGUAGE_OF[name]: name for name in CONDITIONS if name != IDK}
    return (*(duals[language] for language in section.languages), *((IDK,) if section.asks_idk else ()))


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for a file that cannot be used."""
    return words_of(study, settings(study).wording, load_wording)

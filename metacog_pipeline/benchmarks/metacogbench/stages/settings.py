"""What the study file says about MetaCog-Bench."""

from __future__ import annotations

from metacog_pipeline.benchmarks.common.files import beside
from metacog_pipeline.benchmarks.common.wording import words_of
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon, load_lexicon, shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.prompts import Wording, load_wording
from metacog_pipeline.benchmarks.metacogbench.settings import Settings
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study

__all__ = ["BENCHMARK", "conditions", "lexicon", "settings", "wording"]


def settings(study: Study) -> Settings:
    """Return the study's ``[benchmarks.metacogbench]``."""
    found = study.benchmarks.get(BENCHMARK) or Settings()
    assert isinstance(found, Settings)
    return found


def conditions(study: Study) -> tuple[str, ...]:
    """Return the study's conditions."""
    return settings(study).conditions


def wording(study: Study) -> Wording:
    """Return the words of the prompts; raises StudyError for a file that cannot be used."""
    return words_of(study, settings(study).wording, load_wording)


def lexicon(study: Study) -> Lexicon:
    """Return the cues replies are read with; raises StudyError for a file that cannot be used."""
    given = settings(study).lexicon
    if given is None:
        return shipped_lexicon()
    path = beside(study, given)
    if path.is_dir() and not any(path.glob("*.toml")) and not any(path.glob("*.json")):
        raise StudyError(
            f"lexicon {path}: a folder without a list of cues; give a TOML or JSON file, or a folder of them"
        )
    return words_of(study, given, load_lexicon)

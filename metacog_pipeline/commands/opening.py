"""Open a study file and, where the study has a store, bring what other hosts kept into its home."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.study import Study, load_study


def opened(study_file: Path) -> Study:
    """Return the study, its home with all that is in its store. Raises as `load_study` and `catch_up`."""
    study = load_study(study_file)
    if study.deploy.store is not None:
        from metacog_pipeline.leaderboard.shared import catch_up

        catch_up(study)
    return study

"""All assets of the study. Another study file shows others after "Reload definitions"."""

from __future__ import annotations

import sys
import warnings

import dagster as dg

from metacog_assets.benchmark_assets import benchmark_assets
from metacog_assets.boards import board_assets
from metacog_assets.study_file import bound, current_study
from metacog_assets.training import training_assets
from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, reason_of

LEFT_OUT: dict[str, str] = {}  # benchmarks of the study that are no part of the graph, and why


def _made(name: str, taken: set[str]) -> list[dg.AssetsDefinition]:
    """Return the assets of a benchmark; none, and why in `LEFT_OUT`, where a stranger's declares what gives none."""
    try:
        made = benchmark_assets(bound(name))
        keys = [each.key.to_user_string() for each in made]
        if twice := sorted({key for key in keys if key in taken or keys.count(key) > 1}):
            raise StudyError(f"it makes the asset {', '.join(twice)} twice; rename a step or a condition")
    except Exception as error:  # a stranger's benchmark may fail in any way
        if registry.is_ours(name):
            raise
        LEFT_OUT[name] = (
            f"benchmark {name} makes no assets: {reason_of(error)}; mend or uninstall its package"
        )
        print(f"metacog: {LEFT_OUT[name]}; the others go on without it", file=sys.stderr)
        return []
    taken |= set(keys)
    return made


def _of_benchmarks() -> dict[str, list[dg.AssetsDefinition]]:
    taken: set[str] = set()
    return {name: made for name in current_study().enabled if (made := _made(name, taken))}


with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", dg.BetaWarning
    )  # backfill policies: in use since 1.5, and still marked so
    BENCHMARKS = _of_benchmarks()
    TRAINING = training_assets()
    ASSETS = [
        *(each for made in BENCHMARKS.values() for each in made),
        *board_assets(list(BENCHMARKS)),
        *TRAINING,
    ]

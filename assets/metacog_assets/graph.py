"""All assets of the study. Another study file shows others after "Reload definitions"."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from itertools import chain

import dagster as dg

from metacog_assets.benchmark_assets import benchmark_assets
from metacog_assets.boards import board_assets
from metacog_assets.study_file import bound, current_study
from metacog_assets.training import training_assets
from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, reason_of

LEFT_OUT: dict[str, str] = {}  # benchmarks of the study that are no part of the graph, and why


def _of_benchmarks() -> dict[str, list[dg.AssetsDefinition]]:
    """Return the assets of each benchmark; why a stranger's has none, which declares what gives none, is in `LEFT_OUT`."""
    made: dict[str, list[dg.AssetsDefinition]] = {}
    taken: set[str] = set()
    for name in current_study().enabled:
        try:
            own = benchmark_assets(bound(name))
            keys = [each.key.to_user_string() for each in own]
            if twice := sorted({key for key in keys if key in taken or keys.count(key) > 1}):
                raise StudyError(f"it makes the asset {', '.join(twice)} twice; rename a step or a condition")
        except Exception as error:  # a stranger's benchmark may fail in any way
            if registry.is_ours(name):
                raise
            why = reason_of(error)
            LEFT_OUT[name] = f"benchmark {name} makes no assets: {why}; correct or uninstall its package"
            print(f"metacog: {LEFT_OUT[name]}; the others go on without it", file=sys.stderr)
            continue
        taken |= set(keys)
        made[name] = own
    return made


def boards_of(benchmarks: Iterable[str]) -> list[str]:
    """Return the assets that read all models of benchmarks at once: comparisons, leaderboard, report."""
    return [*(f"{name}/comparisons" for name in benchmarks), "leaderboard", "report"]


with warnings.catch_warnings():  # backfill policies are in use since Dagster 1.5, and still marked as beta
    warnings.simplefilter("ignore", dg.BetaWarning)
    BENCHMARKS = _of_benchmarks()
    TRAINING = training_assets()
    ASSETS = [*chain(*BENCHMARKS.values()), *board_assets(list(BENCHMARKS)), *TRAINING]
BOARDS = boards_of(BENCHMARKS)

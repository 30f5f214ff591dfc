"""All assets of the study. Another study file shows others after "Reload definitions"."""

import sys
import warnings
from collections.abc import Iterable
from itertools import chain
from typing import Any

import dagster as dg

from metacog_assets.benchmark_assets import benchmark_assets
from metacog_assets.boards import board_assets
from metacog_assets.steps import one_line
from metacog_assets.study_file import StudyResource, bound, current_study
from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, reason_of
from metacog_pipeline.progress import ProgressLine, style_from_environment

# benchmarks of the study that are no part of the graph, and why
LEFT_OUT: dict[str, str] = {}


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


def _of_training() -> list[dg.AssetsDefinition]:
    """Return the training steps of all benchmarks; none where the study file has no ``[training]``."""
    study = current_study()
    if study.training is None:
        return []
    owners = list(study.study.owners)
    return [_trained(step, owners) for name in registry.names() for step in registry.load(name).training]


def _trained(step: Any, owners: list[str]) -> dg.AssetsDefinition:
    @dg.asset(
        name=step.name, group_name="training", deps=list(step.needs), description=step.says, owners=owners
    )
    def trained(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        facts: dict[str, Any] = {}
        with one_line(context, study):
            own = study.load()
            total = step.total(own) if step.total is not None else 0
            with ProgressLine(step.name, total, style_from_environment(), priced=False) as line:

                def report(figures: Any) -> None:
                    facts.update({name: each for name, each in figures.numbers().items() if each is not None})
                    line.note = figures.line()

                made = step.run(own, line.update, report) if total else step.run(own, None, None)
        version = dg.DataVersion(made.digest)
        return dg.MaterializeResult(metadata={**facts, **made.facts}, data_version=version)

    return trained


def boards_of(benchmarks: Iterable[str]) -> list[str]:
    """Return the assets that read all models of benchmarks at once: comparisons, leaderboard, report."""
    return [*(f"{name}/comparisons" for name in benchmarks), "leaderboard", "report"]


# backfill policies are in use since Dagster 1.5, and still marked as beta
with warnings.catch_warnings():
    warnings.simplefilter("ignore", dg.BetaWarning)
    BENCHMARKS = _of_benchmarks()
    TRAINING = _of_training()
    ASSETS = [*chain(*BENCHMARKS.values()), *board_assets(list(BENCHMARKS)), *TRAINING]
BOARDS = boards_of(BENCHMARKS)

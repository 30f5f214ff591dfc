"""Training steps as assets, one per step that a benchmark declares; in the graph where the study has ``[training]``."""

from typing import Any

import dagster as dg

from metacog_assets.steps import one_line
from metacog_assets.study_file import StudyResource, current_study
from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import TrainingStep
from metacog_pipeline.progress import ProgressLine, style_from_environment


def training_assets() -> list[dg.AssetsDefinition]:
    """Return the training steps of all benchmarks; none where the study file has no ``[training]``."""
    study = current_study()
    if study.training is None:
        return []
    owners = list(study.study.owners)
    return [_asset(step, owners) for name in registry.names() for step in registry.load(name).training]


def _asset(step: TrainingStep, owners: list[str]) -> dg.AssetsDefinition:
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

"""A benchmark's training steps as assets."""

from collections.abc import Iterator, Sequence

from dagster import AssetExecutionContext, AssetsDefinition, DataVersion, MaterializeResult, asset

from metacog_assets.marking import owners, tags
from metacog_assets.reporting import ROWS, Fact, one_line_failure, progress_lines
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_assets.training.curves import curves_plot
from metacog_pipeline.benchmark.contract import TrainingStep
from metacog_pipeline.progress import ProgressLine, style_from_environment

GROUP = "training"
VERSION = "1"


def training_assets(steps: Sequence[TrainingStep]) -> Iterator[AssetsDefinition]:
    """Yield one asset per step, each after those it needs."""
    for step in steps:
        yield _asset(step)


def _asset(step: TrainingStep) -> AssetsDefinition:
    @asset(
        name=step.name,
        group_name=GROUP,
        kinds={"pytorch"},
        owners=owners(),
        tags=tags("training"),
        code_version=VERSION,
        deps=list(step.needs),
        description=step.says,
    )
    def trained(context: AssetExecutionContext) -> MaterializeResult:
        study, style = current_study(), style_from_environment()
        with one_line_failure():
            if step.total is None:
                made = step.run(study, None)
            else:
                say = progress_lines(context, style)
                with ProgressLine(step.name, step.total(study), style, say, priced=False) as line:
                    made = step.run(study, line.update)
        facts: dict[str, Fact] = dict(made.facts)
        if made.table is not None:
            facts[ROWS] = made.table.height
            shown = curves_plot(made.table) if step.learning_curves else preview(made.table)
            facts["curves" if step.learning_curves else "numbers"] = shown
        return MaterializeResult(metadata=facts, data_version=DataVersion(made.digest))

    return trained

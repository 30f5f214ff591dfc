"""A benchmark's training steps as assets."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from metacog_assets.figures import ROWS, Fact
from metacog_assets.marking import owners, tags
from metacog_assets.reporting import one_line_failure, progress_lines
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_assets.training.curves import curves_plot
from metacog_pipeline.benchmark.contract import TrainingStep
from metacog_pipeline.progress import ProgressLine, style_from_environment

GROUP = "training"
VERSION = "1"
OBSERVE_EVERY_S = 10.0


def training_assets(steps: Sequence[TrainingStep]) -> Iterator[dg.AssetsDefinition]:
    """Yield one asset per step, each after those it needs."""
    for step in steps:
        yield _asset(step)


def _asset(step: TrainingStep) -> dg.AssetsDefinition:
    @dg.asset(
        name=step.name,
        group_name=GROUP,
        kinds={"pytorch"},
        owners=owners(),
        tags=tags("training"),
        code_version=VERSION,
        deps=list(step.needs),
        description=step.says,
    )
    def trained(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        study, style = current_study(), style_from_environment()
        live = _Live(context)
        with one_line_failure():
            if step.total is None:
                made = step.run(study, None, None)
            else:
                say = progress_lines(context)
                with ProgressLine(step.name, step.total(study), style, say, priced=False) as live.line:
                    made = step.run(study, live.line.update, live.tell)
        facts: dict[str, Fact] = {**live.facts, **made.facts}
        if made.table is not None:
            facts[ROWS] = made.table.height
            shown = curves_plot(made.table) if step.learning_curves else preview(made.table)
            facts["curves" if step.learning_curves else "numbers"] = shown
        return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(made.digest))

    return trained


class _Live:
    """Figures of a step that is under way: in its progress line, and now and then as an observation of the asset."""

    def __init__(self, context: dg.AssetExecutionContext) -> None:
        self._context, self._observed = context, 0.0
        self.line: ProgressLine | None = None
        self.facts: dict[str, Fact] = {}

    def tell(self, figures: Any) -> None:
        """Take the figures of a unit; undefined ones are left out."""
        self.facts = {name: value for name, value in figures.numbers().items() if value is not None}
        if self.line is not None:
            self.line.note = figures.line()
        if time.monotonic() - self._observed >= OBSERVE_EVERY_S:
            self._observed = time.monotonic()
            key = self._context.asset_key
            self._context.log_event(dg.AssetObservation(asset_key=key, metadata=self.facts))

"""The three assets. The extra ``train`` is needed to run them, not to see them."""

from collections.abc import Callable

from dagster import AssetExecutionContext, DataVersion, MaterializeResult, asset

from metacog_assets.automation import FREE
from metacog_assets.reporting import ROWS, one_line_failure, progress_lines
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_assets.training.curves import curves_plot
from metacog_pipeline.errors import StudyError
from metacog_pipeline.progress import ProgressLine, style_from_environment

GROUP = "training"
_VERSION = "1"


def _ready() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None or find_spec("transformers") is None:
        raise StudyError("training needs torch and transformers: install metacog-pipeline[train]")


def _shown(
    context: AssetExecutionContext, label: str, total: int
) -> tuple[ProgressLine, Callable[[int], None]]:
    style = style_from_environment()
    line = ProgressLine(label, total, style, progress_lines(context, style), priced=False)
    return line, line.update


@asset(group_name=GROUP, kinds={"pytorch"}, tags=FREE, code_version=_VERSION)
def esma_base(context: AssetExecutionContext) -> MaterializeResult:
    """The model before training: the toy's base, trained here, or the folder the study names."""
    with one_line_failure():
        _ready()
        from metacog_pipeline.training import stage
        from metacog_pipeline.training.toy.base import STEPS

        line, told = _shown(context, "base model", STEPS)
        with line:
            made = stage.make_base(current_study(), told)
    return MaterializeResult(metadata=dict(made.facts), data_version=DataVersion(made.digest))


@asset(group_name=GROUP, kinds={"pytorch"}, tags=FREE, code_version=_VERSION, deps=[esma_base])
def esma_checkpoint(context: AssetExecutionContext) -> MaterializeResult:
    """The model after the evolution strategy, and how it got there, generation by generation."""
    with one_line_failure():
        _ready()
        from metacog_pipeline.training import stage

        study = current_study()
        line, told = _shown(context, "evolution", stage.settings(study).generations)
        with line:
            made = stage.make_checkpoint(study, told)
    assert made.table is not None
    return MaterializeResult(
        metadata={**made.facts, ROWS: made.table.height, "curves": curves_plot(made.table)},
        data_version=DataVersion(made.digest),
    )


@asset(group_name=GROUP, kinds={"parquet"}, tags=FREE, code_version=_VERSION, deps=[esma_checkpoint])
def esma_evaluation() -> MaterializeResult:
    """Base and trained model on questions held out, with intervals."""
    with one_line_failure():
        _ready()
        from metacog_pipeline.training import stage

        made = stage.make_evaluation(current_study())
    assert made.table is not None
    return MaterializeResult(
        metadata={**made.facts, ROWS: made.table.height, "numbers": preview(made.table)},
        data_version=DataVersion(made.digest),
    )

"""The SQL models as assets: each file with its own edges, one process writes, readers are never blocked."""

from collections.abc import Iterator

from dagster import AssetExecutionContext, AssetKey, AssetSpec, Failure, MaterializeResult, asset, multi_asset

from assets.automation import FOLLOW_WHAT_THERE_IS, WHEN_COMPLETE
from assets.metamedqa import (
    metamedqa_comparisons,
    metamedqa_estimates,
    metamedqa_items,
    metamedqa_observations,
    metamedqa_transcripts,
)
from assets.study_file import current_study
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.warehouse.models import SqlModel, load_project
from metacog_pipeline.warehouse.official import publish_official
from metacog_pipeline.warehouse.runner import BuildReport, build
from metacog_pipeline.warehouse.status import note_board, write_status

GROUP = "warehouse"
# Which asset writes the Parquet files a staging model reads; the longest prefix counts.
DATASETS = {
    "items/metamedqa": metamedqa_items.key,
    "transcripts/": metamedqa_transcripts.key,
    "observations/metamedqa": metamedqa_observations.key,
    "estimates/metamedqa/runs": metamedqa_estimates.key,
    "estimates/metamedqa/": metamedqa_comparisons.key,
}

MODELS = load_project().models


def key_of(table: str) -> AssetKey:
    """Return the asset key of a table of the DuckDB file."""
    return AssetKey(["leaderboard", table])


def _spec(model: SqlModel) -> AssetSpec:
    dependencies = [key_of(name) for name in model.depends_on]
    for dataset in model.datasets:
        prefixes = [prefix for prefix in DATASETS if dataset.startswith(prefix)]
        if prefixes:
            dependencies.append(DATASETS[max(prefixes, key=len)])
    return AssetSpec(
        key_of(model.name),
        deps=dependencies,
        description=model.description,
        group_name=GROUP,
        kinds={"duckdb", model.layer},
        automation_condition=FOLLOW_WHAT_THERE_IS,
    )


@multi_asset(specs=[_spec(model) for model in MODELS], can_subset=True, name="warehouse")
def sql_models(context: AssetExecutionContext) -> Iterator[MaterializeResult]:
    """Build, test, then swap the DuckDB file; a failed test leaves the old one in place."""
    study = current_study()
    wanted = {key.path[-1] for key in context.selected_asset_keys}
    try:
        write_status(study)
        everything = wanted == {model.name for model in MODELS}
        report = build(study.home.path, only=None if everything else sorted(wanted))
    except MetacogError as error:
        raise Failure(str(error), allow_retries=False) from None
    if everything:
        note_board(study)
    for model in MODELS:
        if model.name in wanted:
            yield MaterializeResult(asset_key=key_of(model.name), metadata=_facts(report, model.name))


@asset(
    key=key_of("board_official"),
    group_name=GROUP,
    deps=[key_of("board"), metamedqa_estimates],
    kinds={"duckdb"},
    automation_condition=WHEN_COMPLETE,
)
def board_official() -> MaterializeResult:
    """The board at a moment when every partition of every model was complete."""
    try:
        rows = publish_official(current_study().home.path)
    except MetacogError as error:
        raise Failure(str(error), allow_retries=False) from None
    return MaterializeResult(metadata={"rows": rows})


def _facts(report: BuildReport, name: str) -> dict[str, int | float]:
    found = next((model for model in report.models if model.name == name), None)
    if found is None:
        return {}
    return {"seconds": round(found.seconds, 4)} | ({"rows": found.rows} if found.rows is not None else {})


ASSETS = [sql_models, board_official]

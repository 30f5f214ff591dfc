"""The SQL models as assets: each file with its own edges, one process writes, readers are never blocked."""

from collections.abc import Iterator, Sequence

from dagster import (
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetSpec,
    MaterializeResult,
    asset,
    multi_asset,
)

from metacog_assets import across
from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE, WHEN_COMPLETE
from metacog_assets.benchmarks import ENABLED
from metacog_assets.reporting import ROWS, one_line_failure
from metacog_assets.study_file import current_study
from metacog_pipeline.errors import PartError
from metacog_pipeline.leaderboard.build import BuildReport, build
from metacog_pipeline.leaderboard.models import GIVEN as GIVEN_TABLES
from metacog_pipeline.leaderboard.models import SqlModel, load_project, tables_behind
from metacog_pipeline.leaderboard.official import publish_official
from metacog_pipeline.leaderboard.status import note_board, write_status

GROUP = "leaderboard"
TESTED = "sql_tests"
ANSWERED = tuple(each.measured.transcripts.key for each in ENABLED)
SCORED = tuple(each.measured.estimates.key for each in ENABLED)
# Which assets write the Parquet files a staging model reads; the longest prefix counts.
DATASETS: dict[str, tuple[AssetKey, ...]] = {
    "transcripts/": ANSWERED,
    "study/": ANSWERED,  # how far each partition is
    **across.DATASETS,
    **{prefix: (key,) for each in ENABLED for prefix, key in each.datasets().items()},
}

PROJECT = load_project()
MODELS = PROJECT.models
# What says which models, items and data sets the study asks.
GIVEN = ("study/", "items/*.parquet")


def key_of(table: str) -> AssetKey:
    """Return the asset key of a table of the DuckDB file."""
    return AssetKey(["leaderboard", table])


def tests_of(model: SqlModel) -> list[str]:
    """Return what is tested about a table before the board is swapped in: its assertions, then its queries."""
    queries = [test.name for test in PROJECT.tests if model.name in test.reads]
    return [*map(str, model.header.assertions), *queries]


def _spec(model: SqlModel) -> AssetSpec:
    return AssetSpec(
        key_of(model.name),
        deps=_dependencies(model),
        description=model.header.description,
        group_name=GROUP,
        kinds={"duckdb", model.schema},
        code_version=model.digest[:12],
        automation_condition=FOLLOW_WHAT_THERE_IS,
        tags=FREE,
    )


def _dependencies(model: SqlModel) -> list[AssetKey]:
    """Return what a table is made from: other tables, and the assets that write the files it reads."""
    names = dict.fromkeys(tables_behind(model.reads, PROJECT.parts))
    tables = {key_of(each.name) for each in MODELS if each.name in names}
    views = {view for name in names for view in PROJECT.sources(name)}
    patterns = [pattern for view in views for pattern in PROJECT.datasets[view].patterns]
    if names.keys() & set(GIVEN_TABLES):
        patterns += GIVEN
    wrote: set[AssetKey] = set()
    for pattern in patterns:
        for name in (each.benchmark.name for each in ENABLED):
            path = pattern.replace("*", name, 1) if "**" not in pattern.split("*")[0] else pattern
            if prefixes := [prefix for prefix in DATASETS if path.startswith(prefix)]:
                wrote |= set(DATASETS[max(prefixes, key=len)])
    return sorted((tables | wrote) - {key_of(model.name)})


@multi_asset(
    specs=[_spec(model) for model in MODELS],
    check_specs=[
        AssetCheckSpec(
            TESTED, asset=key_of(model.name), description="Tested before the new board replaces the old."
        )
        for model in MODELS
        if tests_of(model)
    ],
    can_subset=True,
    name="leaderboard",
    pool="board",  # one process writes; a second board waits for its turn
)
def sql_models(context: AssetExecutionContext) -> Iterator[MaterializeResult | AssetCheckResult]:
    """Build, test, then swap the DuckDB file; a failed test leaves the old one in place."""
    study = current_study()
    wanted = {key.path[-1] for key in context.selected_asset_keys}
    with one_line_failure():
        write_status(study)
        report = build(study.home.path)
        note_board(study)
    for model in MODELS:
        if model.name in wanted:
            yield MaterializeResult(
                asset_key=key_of(model.name),
                metadata=_facts(report, model.name),
                check_results=_checked(model, context.selected_asset_check_keys),
            )
    with one_line_failure():
        if report.failures:
            raise PartError(", ".join(f"{each.name} is empty: {each.reason}" for each in report.failures))


@asset(
    key=key_of("leaderboard_official"),
    group_name=GROUP,
    deps=[key_of("leaderboard"), *ANSWERED, *SCORED],
    kinds={"duckdb"},
    pool="board",
    automation_condition=WHEN_COMPLETE,
    tags=FREE,
)
def leaderboard_official() -> MaterializeResult:
    """The board at a moment when every partition of every model was complete."""
    with one_line_failure():
        return MaterializeResult(metadata={ROWS: publish_official(current_study().home.path)})


def _checked(model: SqlModel, selected: set[AssetCheckKey]) -> Sequence[AssetCheckResult]:
    """Return that the tests of a table held: a build with a failed one has raised and replaced nothing."""
    if AssetCheckKey(key_of(model.name), TESTED) not in selected:
        return []
    held = AssetCheckResult(
        asset_key=key_of(model.name), check_name=TESTED, passed=True, metadata={"tests": tests_of(model)}
    )
    return [held]


def _facts(report: BuildReport, name: str) -> dict[str, int | float | str]:
    facts = report.facts(name)
    return facts | ({ROWS: facts["rows"]} if "rows" in facts else {})


ASSETS = (sql_models, leaderboard_official)

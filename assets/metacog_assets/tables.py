"""The leaderboard file as assets: each table with its own edges, columns and tests; one process writes, readers are never
blocked."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from metacog_assets import apart, parts
from metacog_assets.automation import FOLLOW_WHAT_THERE_IS
from metacog_assets.figures import ROWS, URI, Fact
from metacog_assets.marking import LINEAGE, SCHEMA, lineage, owners, table_schema, tags
from metacog_assets.reporting import LEFT_EMPTY, one_line_failure
from metacog_pipeline import registry
from metacog_pipeline.leaderboard.build import BuildResult
from metacog_pipeline.leaderboard.glossary import meaning
from metacog_pipeline.leaderboard.models import Project, SqlModel, tables_behind

TESTED, BOARD = "tests", "leaderboard"
POOL = "board"  # one process writes; a second board waits for its turn
_VIEWS = {"kept_items": "stg_items"}  # made before the tables, from a dataset of its own
Produced = Sequence[tuple[str, dg.AssetKey]]


def key_of(table: str) -> dg.AssetKey:
    """Return the asset key of a table of the leaderboard file.

    The graph shows the last part of a key: the name of the benchmark, which its group has already, stands before it.
    """
    for benchmark in registry.names():
        if table.startswith(f"{benchmark}_"):
            return dg.AssetKey(["leaderboard", benchmark, table.removeprefix(f"{benchmark}_")])
    return dg.AssetKey(["leaderboard", table])


def table_assets(project: Project, produced: Produced, asked: Sequence[str]) -> list[dg.AssetsDefinition]:
    """Return the tables of the leaderboard file, and the report.

    Parameters
    ----------
    produced
        Which file is written by which asset: one example of each sort.
    asked
        Benchmarks of the study; tables of others are left out.
    """
    models = [model for model in project.models if model.benchmark is None or model.benchmark in asked]
    return [_tables(project, models, produced), _report()]


def _tables(project: Project, models: Sequence[SqlModel], produced: Produced) -> dg.AssetsDefinition:
    by_key = {key_of(model.name): model for model in models}

    @dg.multi_asset(
        name="leaderboard",
        specs=[_spec(project, model, produced, list(by_key)) for model in models],
        check_specs=[
            dg.AssetCheckSpec(
                TESTED,
                asset=key_of(BOARD),
                description="Keys, allowed values and zero-row queries of every table hold: a failed one replaces nothing. "
                "No table is empty because its SQL failed.",
            )
        ],
        can_subset=True,
        pool=POOL,
    )
    def leaderboard(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        wanted = [model for key, model in by_key.items() if key in context.selected_asset_keys]
        tables = {model.name: model.schema for model in wanted}
        with one_line_failure():
            report, columns, shown = apart.call(apart.BOARDS, None, parts.board, tables)
        for model in wanted:
            yield _result(report, project, model, columns, shown[model.name])
        if dg.AssetCheckKey(key_of(BOARD), TESTED) in context.selected_asset_check_keys:
            yield _tested(report)

    return leaderboard


def _spec(
    project: Project, model: SqlModel, produced: Produced, known: Sequence[dg.AssetKey]
) -> dg.AssetSpec:
    group = model.benchmark or ("leaderboard" if model.schema == "main" else "details")
    return dg.AssetSpec(
        key_of(model.name),
        deps=_reads(project, model, produced, known),
        description=model.header.description,
        group_name=group,
        kinds={"duckdb", "sql"},
        code_version=model.digest[:12],
        automation_condition=FOLLOW_WHAT_THERE_IS,
        metadata={"key": ", ".join(model.header.key)},
        owners=owners(),
        tags=tags("tables", benchmark=model.benchmark),
    )


def _reads(
    project: Project, model: SqlModel, produced: Produced, known: Sequence[dg.AssetKey]
) -> list[dg.AssetKey]:
    """Return what a table is made from: other tables, and the assets that write the files it reads."""
    names = {_VIEWS.get(name, name) for name in tables_behind(model.reads, project.parts)}
    found = {key_of(name) for name in names if key_of(name) in known}
    for name in names:
        for view in project.sources(name):
            dataset = project.datasets[view]
            found |= {key for path, key in produced if dataset.matches(path)}
    return sorted(found - {key_of(model.name)})


def _result(
    report: BuildResult,
    project: Project,
    model: SqlModel,
    columns: Mapping[str, Mapping[str, str]],
    shown: Mapping[str, Fact],
) -> dg.MaterializeResult:
    made = next(each for each in report.tables if each.name == model.name)
    facts: dict[str, Fact] = {"rows": made.rows, "seconds": round(made.seconds, 4), "file": str(report.path)}
    if made.reason is not None:
        facts["reason"] = made.reason
    own = columns.get(model.name, {})
    read = {
        key_of(name): columns[name] for name in tables_behind(model.reads, project.parts) if name in columns
    }
    return dg.MaterializeResult(
        asset_key=key_of(model.name),
        metadata={
            **facts,
            ROWS: made.rows,
            URI: f"{report.path.as_uri()}#{model.schema}.{model.name}",
            SCHEMA: table_schema(own, {name: meaning(model.header, name) or "" for name in own}),
            LINEAGE: lineage(own, read),
            "tests": _tests(project, model),
            **shown,
        },
    )


def _tested(report: BuildResult) -> dg.AssetCheckResult:
    """Return that the tests held (a failed one has raised), and which tables are empty because they could not be built."""
    failed = {"/".join(key_of(name).path): reason for name, reason in report.failures.items()}
    return dg.AssetCheckResult(
        asset_key=key_of(BOARD),
        check_name=TESTED,
        passed=not failed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"tests": report.tests, **({LEFT_EMPTY: dg.MetadataValue.json(failed)} if failed else {})},
    )


def _tests(project: Project, model: SqlModel) -> list[str]:
    queries = [test.name for test in project.tests if model.name in test.reads]
    return [f"key: {', '.join(model.header.key)}", *map(str, model.header.assertions), *queries]


def _report() -> dg.AssetsDefinition:
    @dg.asset(
        group_name="leaderboard",
        deps=[key_of(name) for name in ("leaderboard", "comparisons", "progress")],
        kinds={"html"},
        automation_condition=FOLLOW_WHAT_THERE_IS,
        owners=owners(),
        tags=tags("tables"),
    )
    def report() -> dg.MaterializeResult:
        """The page people read: boards, figures, what each benchmark says; opens from disk, loads nothing."""
        with one_line_failure():
            page = apart.call(apart.REPORT, None, parts.report)
        return dg.MaterializeResult(metadata={URI: page.as_uri(), "bytes": page.stat().st_size})

    return report

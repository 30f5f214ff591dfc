"""The leaderboard file as assets: each table with its own edges, columns and tests; one process writes, readers are never
blocked."""

from collections.abc import Iterator, Mapping, Sequence

from dagster import (
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    MaterializeResult,
    MetadataValue,
    asset,
    multi_asset,
)

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, WHEN_COMPLETE
from metacog_assets.marking import LINEAGE, ROWS, SCHEMA, URI, lineage, owners, table_schema, tags
from metacog_assets.reporting import LEFT_EMPTY, one_line_failure
from metacog_assets.study_file import current_study
from metacog_assets.table_previews import shown
from metacog_pipeline import registry
from metacog_pipeline.leaderboard.build import BuildReport, build
from metacog_pipeline.leaderboard.glossary import meaning
from metacog_pipeline.leaderboard.models import Project, SqlModel, tables_behind
from metacog_pipeline.leaderboard.official import publish_official
from metacog_pipeline.leaderboard.read import columns_of, one_connection
from metacog_pipeline.leaderboard.shared import publish
from metacog_pipeline.leaderboard.status import note_board, write_status
from metacog_pipeline.leaderboard.texts import grow_texts
from metacog_pipeline.study import digests

TESTED, BOARD = "tests", "leaderboard"
POOL = "board"  # one process writes; a second board waits for its turn
_COMPLETE = ("_transcripts", "_run_estimates")  # what the official board waits for
_VIEWS = {"kept_items": "stg_items"}  # made before the tables, from a dataset of its own
Produced = Sequence[tuple[str, AssetKey]]


def key_of(table: str) -> AssetKey:
    """Return the asset key of a table of the leaderboard file.

    The graph shows the last part of a key: the name of the benchmark, which its group has already, stands before it.
    """
    for benchmark in registry.names():
        if table.startswith(f"{benchmark}_"):
            return AssetKey(["leaderboard", benchmark, table.removeprefix(f"{benchmark}_")])
    return AssetKey(["leaderboard", table])


OFFICIAL = key_of("leaderboard_official")


def table_assets(project: Project, produced: Produced, asked: Sequence[str]) -> list[AssetsDefinition]:
    """Return the tables of the leaderboard file, the official board, and the report.

    Parameters
    ----------
    produced
        Which file is written by which asset: one example of each sort.
    asked
        Benchmarks of the study; tables of others are left out.
    """
    models = [model for model in project.models if model.benchmark is None or model.benchmark in asked]
    return [_tables(project, models, produced), _official(produced), _report()]


def _tables(project: Project, models: Sequence[SqlModel], produced: Produced) -> AssetsDefinition:
    by_key = {key_of(model.name): model for model in models}

    @multi_asset(
        name="leaderboard",
        specs=[_spec(project, model, produced, list(by_key)) for model in models],
        check_specs=[
            AssetCheckSpec(
                TESTED,
                asset=key_of(BOARD),
                description="Keys, allowed values and zero-row queries of every table hold: a failed one replaces nothing. "
                "No table is empty because its SQL failed.",
            )
        ],
        can_subset=True,
        pool=POOL,
    )
    def leaderboard(context: AssetExecutionContext) -> Iterator[MaterializeResult | AssetCheckResult]:
        study = current_study()
        with one_line_failure():
            write_status(study)
            report = build(study.home.path)
            grow_texts(study.home.path)
            note_board(study)
            publish(study.home.path)
            digests.note(study.home)  # a run of the UI has no command that notes them at its end
            columns = columns_of(study.home.path)
            with one_connection(study.home.path):
                results = [
                    _result(report, project, model, columns)
                    for key, model in by_key.items()
                    if key in context.selected_asset_keys
                ]
        yield from results
        if AssetCheckKey(key_of(BOARD), TESTED) in context.selected_asset_check_keys:
            yield _tested(report)

    return leaderboard


def _spec(project: Project, model: SqlModel, produced: Produced, known: Sequence[AssetKey]) -> AssetSpec:
    group = model.benchmark or ("leaderboard" if model.schema == "main" else "details")
    return AssetSpec(
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
    project: Project, model: SqlModel, produced: Produced, known: Sequence[AssetKey]
) -> list[AssetKey]:
    """Return what a table is made from: other tables, and the assets that write the files it reads."""
    names = {_VIEWS.get(name, name) for name in tables_behind(model.reads, project.parts)}
    found = {key_of(name) for name in names if key_of(name) in known}
    for name in names:
        for view in project.sources(name):
            dataset = project.datasets[view]
            found |= {key for path, key in produced if dataset.matches(path)}
    return sorted(found - {key_of(model.name)})


def _result(
    report: BuildReport, project: Project, model: SqlModel, columns: Mapping[str, Mapping[str, str]]
) -> MaterializeResult:
    facts = report.facts(model.name)
    own = columns.get(model.name, {})
    read = {
        key_of(name): columns[name] for name in tables_behind(model.reads, project.parts) if name in columns
    }
    return MaterializeResult(
        asset_key=key_of(model.name),
        metadata={
            **facts,
            ROWS: int(facts.get("rows", 0)),
            URI: f"{report.path.as_uri()}#{model.schema}.{model.name}",
            SCHEMA: table_schema(own, {name: meaning(model.header, name) or "" for name in own}),
            LINEAGE: lineage(own, read),
            "tests": _tests(project, model),
            **shown(report.path.parent, model, list(own)),
        },
    )


def _tested(report: BuildReport) -> AssetCheckResult:
    """Return that the tests held (a failed one has raised), and which tables are empty because they could not be built."""
    failed = {"/".join(key_of(table.name).path): table.reason or "" for table in report.failures}
    return AssetCheckResult(
        asset_key=key_of(BOARD),
        check_name=TESTED,
        passed=not failed,
        severity=AssetCheckSeverity.WARN,
        metadata={"tests": report.tests, **({LEFT_EMPTY: MetadataValue.json(failed)} if failed else {})},
    )


def _tests(project: Project, model: SqlModel) -> list[str]:
    queries = [test.name for test in project.tests if model.name in test.reads]
    return [f"key: {', '.join(model.header.key)}", *map(str, model.header.assertions), *queries]


def _official(produced: Produced) -> AssetsDefinition:
    scored = {key for _, key in produced if key.path[-1].endswith(_COMPLETE)}

    @asset(
        key=OFFICIAL,
        group_name="details",
        deps=[key_of("leaderboard"), *sorted(scored)],
        kinds={"duckdb"},
        pool=POOL,
        automation_condition=WHEN_COMPLETE,
        owners=owners(),
        tags=tags("tables"),
    )
    def leaderboard_official() -> MaterializeResult:
        """The board at a moment when every partition of every model was complete."""
        home = current_study().home
        with one_line_failure():
            rows = publish_official(home.path)
            publish(home.path)
        digests.note(home)
        return MaterializeResult(metadata={ROWS: rows})

    return leaderboard_official


def _report() -> AssetsDefinition:
    @asset(
        group_name="leaderboard",
        deps=[key_of(name) for name in ("leaderboard", "comparisons", "progress")],
        kinds={"html"},
        automation_condition=FOLLOW_WHAT_THERE_IS,
        owners=owners(),
        tags=tags("tables"),
    )
    def report() -> MaterializeResult:
        """The page people read: boards, figures, what each benchmark says; opens from disk, loads nothing."""
        from metacog_pipeline.report.page import build_report

        study = current_study()
        with one_line_failure():
            page = build_report(study.home.path, study.study.name)
        digests.note(study.home)
        return MaterializeResult(metadata={URI: page.as_uri(), "bytes": page.stat().st_size})

    return report

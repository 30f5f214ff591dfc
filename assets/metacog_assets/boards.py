"""The boards of all benchmarks: the leaderboard file with all its tables, and the report."""

import base64
from collections.abc import Sequence
from typing import Any

import dagster as dg

from metacog_assets.stages import ROWS, URI
from metacog_assets.steps import checked, one_line
from metacog_assets.study_file import StudyResource, current_study
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import BuildResult
from metacog_pipeline.leaderboard.publishing import build_boards
from metacog_pipeline.leaderboard.read import verdicts
from metacog_pipeline.leaderboard.verdict import WORLDS, verdict_table
from metacog_pipeline.report.page import build_report
from metacog_pipeline.report.verdict import picture
from metacog_pipeline.scoring import staleness

HOLDS = "Keys, allowed values and zero-row queries hold; no table is empty because its SQL failed."


def board_assets(benchmarks: Sequence[str]) -> list[dg.AssetsDefinition]:
    """Return the leaderboard and the report of ``benchmarks``."""
    owners = list(current_study().study.owners)

    @dg.asset(
        group_name="boards",
        deps=[dg.AssetKey([name, "comparisons"]) for name in benchmarks],
        pool="board",  # one process writes the file
        check_specs=[dg.AssetCheckSpec("computed", asset="leaderboard", description=HOLDS)],
        owners=owners,
    )
    def leaderboard(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        """Who knows what it knows: the verdict of the study, and the DuckDB file with every table.

        Readers keep the old file until the new one is whole and tested.
        """
        with one_line(context, study):
            own = study.load()
            result, faults = build_boards(own)
            facts = {**_verdict(own.home), **_facts(result)}
        return dg.MaterializeResult(metadata=facts, check_results=[checked("computed", faults)])

    @dg.asset(group_name="boards", deps=[leaderboard], owners=owners)
    def report(context: dg.AssetExecutionContext, study: StudyResource) -> dg.MaterializeResult:
        """The report: boards, figures, transcripts; they open from disk and load nothing."""
        with one_line(context, study):
            own = study.load()
            with staleness.noted_report(own):
                page = build_report(own.home, own.study.name)
        return dg.MaterializeResult(metadata={URI: page.as_uri(), "bytes": page.stat().st_size})

    return [leaderboard, report]


def _verdict(home: Home) -> dict[str, Any]:
    """Return the verdict as the UI shows it: a sentence per question, a table, the figure of the report's first screen."""
    shown: dict[str, Any] = {}
    found = verdicts(home)
    for verdict in found.values():
        for said in verdict.sentences():
            question, _, answer = said.partition(": ")
            shown[f"{question} ({WORLDS[verdict.source]})"] = dg.MetadataValue.text(answer)
        table = verdict_table(verdict)
        records = [dg.TableRecord(dict(zip(table.columns, map(str, row), strict=True))) for row in table.rows]
        if records:
            shown[f"verdict ({WORLDS[verdict.source]})"] = dg.MetadataValue.table(records)
    if drawn := picture(found):
        # An image of its own page has no ink of the page around it.
        data = base64.b64encode(drawn.replace("currentColor", "#57606a").encode()).decode()
        shown["figure"] = dg.MetadataValue.md(f"![verdict](data:image/svg+xml;base64,{data})")
    return shown


def _facts(result: BuildResult) -> dict[str, Any]:
    """Return all tables as one table; no column schema, which the UI would show above the verdict."""
    counts = {each.name: each.rows for each in result.tables}
    heads = ("table", "rows", "made from", "empty because")
    cells = (
        (f"{each.schema}.{each.name}", each.rows, ", ".join(each.reads), each.reason or "")
        for each in result.tables
    )
    tables = [dg.TableRecord(dict(zip(heads, row, strict=True))) for row in cells]
    facts = {ROWS: counts["leaderboard"], URI: result.path.as_uri(), "tests": result.tests}
    return {**facts, "tables": dg.MetadataValue.table(tables)}

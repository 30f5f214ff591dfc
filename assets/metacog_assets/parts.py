"""What stands over all models, as work without Dagster (see `apart`): pooled numbers, comparisons, board, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from metacog_assets.figures import ROWS, URI, Fact
from metacog_assets.showing import PREVIEW_ROWS, preview
from metacog_assets.study_file import Bound, bound, current_study
from metacog_pipeline.benchmark.contract import Comparison, Table
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import reason_of
from metacog_pipeline.scoring import cross_benchmark, files, printed
from metacog_pipeline.scoring.schemas import COMPARISON, ESTIMATE
from metacog_pipeline.study import digests
from metacog_pipeline.study.frames import read_frame

_OF_MODELS = "_of_models"


@dataclass(frozen=True, slots=True)
class Part:
    """One table over all models: its asset, where it is kept, what it holds."""

    name: str
    path: Callable[[Bound], Path]
    says: str
    columns: Mapping[str, Any]
    needs: tuple[str, ...]
    row: type | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """What a paper prints: figures, how many claims there are and do not follow, and why they could not be computed."""

    facts: Mapping[str, Fact]
    claims: int
    differ: int
    which: Fact
    failed: Sequence[str]


def parts(benchmark: Bound) -> list[Part]:
    """Return the tables over all models, pooled estimates first."""
    name = benchmark.name
    pooled = Part(
        f"{name}_estimates",
        lambda bench: files.model_estimates_path(bench, "*").parent,
        "Every measure of each model over all its runs, with its interval or the reason it has none.",
        ESTIMATE,
        (f"{name}_run_estimates",),
    )
    compared = Part(
        f"{name}_comparisons",
        lambda bench: files.table_path(bench, "comparisons"),
        "Tests between models and between conditions, corrected in families.",
        COMPARISON,
        (f"{name}_run_estimates",),
        Comparison,
    )
    steps = {step.name for step in benchmark.construction()}
    return [pooled, compared, *(_own(name, each, each.name in steps) for each in benchmark.tables)]


def _own(name: str, table: Table, taken: bool) -> Part:
    """Return a table of the benchmark's own; where a step of construction has its name, it is that of the models."""
    return Part(
        f"{name}_{table.name}{_OF_MODELS if taken else ''}",
        lambda bench: files.table_path(bench, table.name),
        table.says,
        schema_of(table.row),
        (f"{name}_run_estimates", f"{name}_estimates"),
        table.row,
    )


def scores(owner: str) -> tuple[dict[str, dict[str, Fact]], dict[str, list[str]]]:
    """Pool and compare; return the figures of each table, and why tables are empty that failed."""
    benchmark = bound(owner)
    digests.begin(benchmark.context.home)
    made, failures = parts(benchmark), dict[str, list[str]]()
    facts = _made(benchmark, [part.name for part in made], failures)
    return {part.name: {**facts[part.name], **_shown(part.path(benchmark))} for part in made}, failures


def _made(
    benchmark: Bound, names: Sequence[str], failures: dict[str, list[str]]
) -> dict[str, dict[str, Fact]]:
    """Pool and compare. What fails is noted under its name, and does not keep the others from being published."""
    facts: dict[str, dict[str, Fact]] = {name: {} for name in names}
    for name, work in ((names[0], files.pool), (names[1], files.compare)):
        try:
            found = work(benchmark)
        except Exception as error:  # one benchmark that fails must not keep the boards of the others back
            failures[name] = [reason_of(error)]
            continue
        if isinstance(found, files.Compared):
            for failure in found.failures:
                owner, _, reason = failure.partition(": ")
                known = next((each for each in (owner, f"{owner}{_OF_MODELS}") if each in names), name)
                failures.setdefault(known, []).append(reason)
        else:
            facts[name] = dict(found)
    return facts


def _shown(path: Path) -> dict[str, Fact]:
    paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path] if path.exists() else []
    heights = [_height(each) for each in paths]
    # A file per model: as many are read as the preview shows rows of.
    first = sum(total <= PREVIEW_ROWS for total in accumulate(heights)) + 1
    frames = [read_frame(each) for each in paths[:first]]
    rows = sum(heights)
    shown: dict[str, Fact] = (
        {"preview": preview(pl.concat(frames, how="diagonal_relaxed"), total=rows)} if rows else {}
    )
    return {ROWS: rows, URI: path.as_uri(), **shown}


def _height(path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return read_frame(path).height  # says what is wrong with it


def published(owner: str) -> Printed:
    """Write what the paper of a benchmark prints, and whether each number follows from others."""
    benchmark, failed = bound(owner), list[str]()
    digests.begin(benchmark.context.home)
    values = claims = pl.DataFrame(schema={"verdict": pl.String, "place": pl.String})
    try:
        values, claims = printed.write(benchmark)
    except Exception as error:  # what is printed must not keep back what was measured
        failed.append(reason_of(error))
    differs = claims.filter(pl.col("verdict") == "differs")
    verdicts = dict(claims["verdict"].value_counts(sort=True).drop_nulls().iter_rows())
    facts = {**verdicts, ROWS: values.height + claims.height, "preview": preview(claims)}
    return Printed(facts, claims.height, differs.height, preview(differs), failed)


def all_benchmarks() -> dict[str, int]:
    """Write what all benchmarks have in common; return rows by table."""
    study = current_study()
    digests.begin(study.home)
    return cross_benchmark.publish(study)


def board(tables: Mapping[str, str]) -> tuple[Any, dict[str, dict[str, str]], dict[str, dict[str, Fact]]]:
    """Build the leaderboard file; return its report, the columns of tables, and what ``tables`` (name → schema) hold."""
    from metacog_assets.table_previews import shown
    from metacog_pipeline.leaderboard import build, read, shared, status

    study = current_study()
    home = study.home
    with digests.publishing(home):
        inputs = status.write_status(study)
        report = build.build(home)
        status.note_board(study, inputs)
        shared.publish(home)
    with read.one_connection(home):
        columns = read.columns_of(home)
        facts = {
            name: shown(home, schema, name, list(columns.get(name, {}))) for name, schema in tables.items()
        }
    return report, {name: dict(each) for name, each in columns.items()}, facts


def report() -> Path:
    """Build the report; return its first page."""
    from metacog_pipeline.leaderboard.status import noted_report
    from metacog_pipeline.report.page import build_report

    study = current_study()
    with digests.publishing(study.home, study.home.report), noted_report(study):
        return build_report(study.home, study.study.name)

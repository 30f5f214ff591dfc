"""What stands over all models of a benchmark: pooled estimates, comparisons, its own tables, and what its paper prints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
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

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS
from metacog_assets.marking import ROWS, URI, owners, schema_of_rows, tags
from metacog_assets.reporting import LEFT_EMPTY, Fact, one_line_failure
from metacog_assets.showing import preview
from metacog_assets.study_file import Bound, bound
from metacog_pipeline.benchmark.contract import Comparison, Stage, Table
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import reason_of
from metacog_pipeline.scoring import files, printed
from metacog_pipeline.scoring.schemas import COMPARISON, ESTIMATE, PUBLISHED_CLAIM, PUBLISHED_VALUE
from metacog_pipeline.study.frames import read_frame

COMPUTED = "computed"  # the check whose failure the launcher names: a part is empty, with its reason
MOST_NAMED = 20
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


def score_assets(benchmark: Bound) -> list[AssetsDefinition]:
    """Return the assets that stand over all models of a benchmark."""
    return [_scores(benchmark), *([_published(benchmark)] if benchmark.published is not None else [])]


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


def _scores(benchmark: Bound) -> AssetsDefinition:
    owner, made = benchmark.name, parts(benchmark)

    @multi_asset(
        name=f"{owner}_scores",
        specs=[
            AssetSpec(
                part.name,
                deps=list(part.needs),
                group_name=owner,
                kinds={"parquet", "polars"},
                code_version=benchmark.versions[Stage.SCORING],
                automation_condition=FOLLOW_WHAT_THERE_IS,
                description=part.says,
                metadata=schema_of_rows(part.columns, *([part.row] if part.row is not None else [])),
                owners=owners(),
                tags=tags("tables", benchmark=owner),
            )
            for part in made
        ],
        check_specs=[
            AssetCheckSpec(
                COMPUTED,
                asset=made[0].name,
                description="Nothing over all models is empty because it failed.",
            )
        ],
        can_subset=True,
    )
    def scores(context: AssetExecutionContext) -> Iterator[MaterializeResult | AssetCheckResult]:
        failures: dict[str, list[str]] = {}
        with one_line_failure():
            bench = bound(owner)
            facts = _made(bench, made, failures)
        for part in made:
            if AssetKey(part.name) in context.selected_asset_keys:
                yield _result(bench, part, facts.get(part.name, {}))
        if AssetCheckKey(AssetKey(made[0].name), COMPUTED) in context.selected_asset_check_keys:
            yield computed(made[0].name, failures)

    return scores


def _made(
    benchmark: Bound, made: Sequence[Part], failures: dict[str, list[str]]
) -> dict[str, dict[str, Fact]]:
    """Pool and compare. What fails is noted under its name, and does not keep the others from being published."""
    names = [part.name for part in made]
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


def _result(benchmark: Bound, part: Part, facts: Mapping[str, Fact]) -> MaterializeResult:
    path = part.path(benchmark)
    paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path] if path.exists() else []
    frames = [read_frame(each) for each in paths]
    frame = pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()
    shown: dict[str, Fact] = {"preview": preview(frame)} if frame.height else {}
    return MaterializeResult(
        asset_key=part.name,
        metadata={**facts, ROWS: frame.height, URI: path.as_uri(), **shown},
    )


def computed(asset: str, failed: Mapping[str, Sequence[str]]) -> AssetCheckResult:
    """Return the check that nothing is empty because it failed; ``failed`` are the reasons by asset."""
    reasons = {name: "; ".join(each[:MOST_NAMED]) for name, each in failed.items()}
    return AssetCheckResult(
        asset_key=asset,
        check_name=COMPUTED,
        passed=not failed,
        severity=AssetCheckSeverity.WARN,
        metadata={LEFT_EMPTY: MetadataValue.json(reasons)} if failed else {},
    )


def _published(benchmark: Bound) -> AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_published"

    @asset(
        name=name,
        group_name="published",
        kinds={"parquet", "polars"},
        code_version=benchmark.versions[Stage.SCORING],
        automation_condition=FOLLOW_WHAT_THERE_IS,
        description="What the paper prints, and each number that can be computed again from others: whether it follows.",
        metadata=schema_of_rows({**PUBLISHED_VALUE, **PUBLISHED_CLAIM}),
        check_specs=[
            AssetCheckSpec(
                COMPUTED,
                asset=name,
                description="Every number could be computed again, and follows from the others.",
            )
        ],
        owners=owners(),
        tags=tags("tables", benchmark=owner),
    )
    def published() -> MaterializeResult:
        failed: list[str] = []
        values = claims = pl.DataFrame(schema={"verdict": pl.String, "place": pl.String})
        with one_line_failure():
            bench = bound(owner)
        try:
            values, claims = printed.write(bench)
        except Exception as error:  # what is printed must not keep back what was measured
            failed.append(reason_of(error))
        differs = claims.filter(pl.col("verdict") == "differs")
        verdicts = dict(claims["verdict"].value_counts(sort=True).drop_nulls().iter_rows())
        return MaterializeResult(
            metadata={**verdicts, ROWS: values.height + claims.height, "preview": preview(claims)},
            check_results=[_claims_hold(name, differs, claims.height, failed)],
        )

    return published


def _claims_hold(name: str, differs: pl.DataFrame, claims: int, failed: Sequence[str]) -> AssetCheckResult:
    """Return whether what the paper prints follows from its parts; what could not be computed is an error of ours."""
    if failed:
        return computed(name, {name: failed})
    return AssetCheckResult(
        asset_key=name,
        check_name=COMPUTED,
        passed=differs.is_empty(),
        severity=AssetCheckSeverity.WARN,
        metadata={"differ": differs.height, "of": claims, "which": preview(differs)},
    )

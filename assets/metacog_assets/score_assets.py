"""What stands over all models of a benchmark: pooled estimates, comparisons, its own tables, and what its paper prints."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from metacog_assets import apart
from metacog_assets import parts as scoring
from metacog_assets.automation import FOLLOW_WHAT_THERE_IS
from metacog_assets.marking import owners, schema_of_rows, tags
from metacog_assets.reporting import LEFT_EMPTY, one_line_failure
from metacog_assets.study_file import Bound
from metacog_pipeline.benchmark.contract import Stage
from metacog_pipeline.scoring.schemas import PUBLISHED_CLAIM, PUBLISHED_VALUE

COMPUTED = "computed"  # the check whose failure the launcher names: a part is empty, with its reason
MOST_NAMED = 20


def score_assets(benchmark: Bound) -> list[dg.AssetsDefinition]:
    """Return the assets that stand over all models of a benchmark."""
    return [_scores(benchmark), *([_published(benchmark)] if benchmark.published is not None else [])]


def _scores(benchmark: Bound) -> dg.AssetsDefinition:
    owner, made = benchmark.name, scoring.parts(benchmark)

    @dg.multi_asset(
        name=f"{owner}_scores",
        specs=[
            dg.AssetSpec(
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
            dg.AssetCheckSpec(
                COMPUTED,
                asset=made[0].name,
                description="Nothing over all models is empty because it failed.",
            )
        ],
        can_subset=True,
    )
    def scores(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        with one_line_failure():
            facts, failures = apart.call(apart.MODELS, None, scoring.scores, owner)
        for part in made:
            if dg.AssetKey(part.name) in context.selected_asset_keys:
                yield dg.MaterializeResult(asset_key=part.name, metadata=facts.get(part.name, {}))
        if dg.AssetCheckKey(dg.AssetKey(made[0].name), COMPUTED) in context.selected_asset_check_keys:
            yield computed(made[0].name, failures)

    return scores


def computed(name: str, failed: Mapping[str, Sequence[str]]) -> dg.AssetCheckResult:
    """Return the check that nothing is empty because it failed; ``failed`` are the reasons by asset."""
    reasons = {name: "; ".join(each[:MOST_NAMED]) for name, each in failed.items()}
    return dg.AssetCheckResult(
        asset_key=name,
        check_name=COMPUTED,
        passed=not failed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={LEFT_EMPTY: dg.MetadataValue.json(reasons)} if failed else {},
    )


def _published(benchmark: Bound) -> dg.AssetsDefinition:
    owner, name = benchmark.name, f"{benchmark.name}_published"

    @dg.asset(
        name=name,
        group_name="published",
        kinds={"parquet", "polars"},
        code_version=benchmark.versions[Stage.SCORING],
        automation_condition=FOLLOW_WHAT_THERE_IS,
        description="What the paper prints, and each number that can be computed again from others: whether it follows.",
        metadata=schema_of_rows({**PUBLISHED_VALUE, **PUBLISHED_CLAIM}),
        check_specs=[
            dg.AssetCheckSpec(
                COMPUTED,
                asset=name,
                description="Every number could be computed again, and follows from the others.",
            )
        ],
        owners=owners(),
        tags=tags("tables", benchmark=owner),
    )
    def published() -> dg.MaterializeResult:
        with one_line_failure():
            found = apart.call(apart.MODELS, None, scoring.published, owner)
        return dg.MaterializeResult(metadata=dict(found.facts), check_results=[_claims_hold(name, found)])

    return published


def _claims_hold(name: str, found: scoring.Printed) -> dg.AssetCheckResult:
    """Return whether what the paper prints follows from its parts; what could not be computed is an error of ours."""
    if found.failed:
        return computed(name, {name: found.failed})
    return dg.AssetCheckResult(
        asset_key=name,
        check_name=COMPUTED,
        passed=not found.differ,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"differ": found.differ, "of": found.claims, "which": found.which},
    )

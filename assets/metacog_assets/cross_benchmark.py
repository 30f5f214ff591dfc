"""What all benchmarks of the study have in common: confidence measured by one rule, and whether they agree."""

from collections.abc import Iterator, Sequence

import dagster as dg

from metacog_assets import apart
from metacog_assets.automation import FOLLOW_WHAT_THERE_IS
from metacog_assets.figures import ROWS
from metacog_assets.marking import owners, tags
from metacog_assets.parts import all_benchmarks
from metacog_assets.score_assets import COMPUTED, computed
from metacog_assets.study_file import Bound, current_study
from metacog_pipeline.errors import reason_of
from metacog_pipeline.scoring import cross_benchmark

CALIBRATION, CORRELATIONS = "calibration", "benchmark_correlations"
_SAYS = {
    CALIBRATION: "Accuracy, ECE, Brier score, AUROC2 and meta-d′ where there is a confidence, by one rule for all.",
    CORRELATIONS: "Whether benchmarks order models alike: rank correlations of their measures over models.",
}
_TABLES = {CALIBRATION: cross_benchmark.CALIBRATION, CORRELATIONS: cross_benchmark.CORRELATIONS}


def produced() -> list[tuple[str, dg.AssetKey]]:
    """Return which file is written by which asset, relative to the home."""
    study = current_study()
    made = [(CALIBRATION, cross_benchmark.CURVES), *_TABLES.items()]
    return [
        (study.home.key(cross_benchmark.table_path(study, table)), dg.AssetKey(name)) for name, table in made
    ]


def cross_benchmark_assets(benchmarks: Sequence[Bound]) -> dg.AssetsDefinition:
    """Return the asset of both tables over the numbers of ``benchmarks``."""
    needs = [f"{each.name}_{what}" for each in benchmarks for what in ("run_estimates", "estimates")]

    @dg.multi_asset(
        name="cross_benchmark",
        specs=[
            dg.AssetSpec(
                name,
                deps=needs,
                group_name="cross_benchmark",
                kinds={"parquet", "polars"},
                code_version=cross_benchmark.VERSION,
                automation_condition=FOLLOW_WHAT_THERE_IS,
                description=says,
                owners=owners(),
                tags=tags("tables"),
            )
            for name, says in _SAYS.items()
        ],
        check_specs=[
            dg.AssetCheckSpec(
                COMPUTED, asset=CALIBRATION, description="Neither table is empty because it failed."
            )
        ],
        can_subset=True,
    )
    def made(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        rows: dict[str, int] = {}
        failed: dict[str, list[str]] = {}
        try:
            rows = apart.call(apart.MODELS, None, all_benchmarks)
        except Exception as error:  # what is computed beside the boards must not keep them back
            failed = {"cross_benchmark": [reason_of(error)]}
        for name in _SAYS:
            if dg.AssetKey(name) in context.selected_asset_keys:
                yield dg.MaterializeResult(asset_key=name, metadata={ROWS: rows.get(_TABLES[name], 0)})
        if dg.AssetCheckKey(dg.AssetKey(CALIBRATION), COMPUTED) in context.selected_asset_check_keys:
            yield computed(CALIBRATION, failed)

    return made

"""The published results, computed again from the published counts."""

from dataclasses import astuple

import polars as pl
from dagster import AssetCheckResult, AssetCheckSpec, MaterializeResult, asset

from metacog_assets.automation import FOLLOW_WHAT_THERE_IS, FREE
from metacog_assets.reporting import ROWS, one_line_failure
from metacog_assets.showing import preview
from metacog_assets.study_file import current_study
from metacog_pipeline.benchmark.contract import Comparison, schema_of
from metacog_pipeline.benchmarks.signaldetection import SignalDetection, published
from metacog_pipeline.benchmarks.signaldetection.published_notes import TOLERANCE
from metacog_pipeline.leaderboard.schemas import REFIT_CONTRASTS, REFIT_CRITERIA, REFIT_SENSITIVITY
from metacog_pipeline.study.frames import write_frame

VERSION = "1"


@asset(
    group_name="signaldetection",
    kinds={"parquet"},
    code_version=VERSION,
    automation_condition=FOLLOW_WHAT_THERE_IS,
    tags=FREE,
    check_specs=[
        AssetCheckSpec(
            "chains_converged",
            asset="signaldetection_published",
            description="Every Bayesian fit converged, so that each cell has a number.",
        )
    ],
)
def signaldetection_published() -> MaterializeResult:
    """Tables S1 and S2 fitted anew from the authors' counts: published, recomputed, and where they part."""
    with one_line_failure():
        study = current_study()
        found = published.refit(SignalDetection.of(study))
        sensitivity, criteria, contrasts = _frames(found)
        folder = study.home.path / "estimates" / "signaldetection" / "published"
        for name, frame in (("metad", sensitivity), ("criteria", criteria), ("contrasts", contrasts)):
            write_frame(frame, folder / f"{name}.parquet", VERSION)
    missing = sensitivity.filter(sensitivity["recomputed"].is_null())
    return MaterializeResult(
        metadata={ROWS: sensitivity.height + criteria.height, "preview": preview(sensitivity)},
        check_results=[
            AssetCheckResult(
                check_name="chains_converged",
                passed=missing.is_empty(),
                metadata={"cells without a number": missing.height},
            )
        ],
    )


def _frames(found: published.Refit) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the refit in the three tables the leaderboard reads."""

    def row(claim: published.Claim, *names: str) -> tuple[object, ...]:
        return (
            *(claim.task, claim.model, *names, claim.published, claim.recomputed, claim.difference),
            *(
                TOLERANCE[claim.quantity],
                claim.low,
                claim.high,
                claim.follows,
                claim.n,
                claim.note,
                claim.status,
            ),
        )

    first = [row(each, each.quantity, each.method) for each in found.claims if each.place == "table S1"]
    second = [row(each, each.condition, each.quantity) for each in found.claims if each.place == "table S2"]
    tests = pl.DataFrame(
        [astuple(each) for each in found.contrasts], schema=schema_of(Comparison), orient="row"
    )
    return (
        pl.DataFrame(first, schema=REFIT_SENSITIVITY, orient="row"),
        pl.DataFrame(second, schema=REFIT_CRITERIA, orient="row"),
        tests.with_columns(benchmark=pl.lit("signaldetection"), difference="value").select(
            pl.col(name).cast(REFIT_CONTRASTS[name]) for name in REFIT_CONTRASTS
        ),
    )

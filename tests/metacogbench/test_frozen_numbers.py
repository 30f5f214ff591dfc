"""The numbers of a small study, digit for digit: those of version 0.3.0, without the ways of scoring that went.

Point estimates are those of version 0.1. Interval ends, p values and the simulated null distributions of ECE are frozen as
of 0.3.0, which names all random streams alike and compares models on few items exactly.

Three simulated respondents, two runs, all conditions, two judges. A change of a draw, of an order of additions or of a
seed shows here. Responses are kept as they were read; that replies are read the same is tested elsewhere.
"""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.scoring.schemas import response_schema
from tests.metacogbench.helpers import compare, pool, score, tabled

FROZEN = Path(__file__).parent / "data" / "frozen"
SEED = 3


def frozen(name: str) -> pl.DataFrame:
    return pl.read_parquet(FROZEN / f"{name}.parquet")


@pytest.fixture(scope="module")
def responses():
    kept = frozen("responses")
    return kept.select(
        pl.col(name) if name in kept.columns else pl.lit(None, kind).alias(name)
        for name, kind in response_schema(MetaCogBench).items()
    )


def same(found: pl.DataFrame, name: str) -> None:
    """Hold what was found to what is frozen: equal but for the last digits that another processor may add up otherwise."""
    wanted = frozen(name)
    if name.endswith("estimates"):  # measures that came later stand beside those that are frozen
        found = found.filter(pl.col("measure").is_in(wanted["measure"].unique().to_list()))
    keys = [each for each, kind in wanted.schema.items() if kind != pl.Float64]
    columns = found.select(pl.col(each).cast(kind) for each, kind in wanted.schema.items())
    assert_frame_equal(columns.sort(keys), wanted.sort(keys), rel_tol=1e-9, abs_tol=1e-12)


def test_estimates_of_runs_are_those_they_were(responses):
    parts = responses.partition_by("model", "run", maintain_order=True)
    same(pl.concat([score(part, seed=SEED) for part in parts]), "run_estimates")


def test_pooled_estimates_are_those_they_were(responses):
    same(pool(responses, seed=SEED), "estimates")


def test_comparisons_are_those_they_were(responses):
    same(compare(responses, seed=SEED, judgements=frozen("judgements")), "comparisons")


@pytest.mark.parametrize("name", ["sensitivity", "reliability", "lengths", "judges"])
def test_tables_are_those_they_were(name, responses):
    same(tabled(name, responses, seed=SEED, judgements=frozen("judgements")), name)

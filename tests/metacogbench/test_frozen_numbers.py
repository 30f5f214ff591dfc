"""Numbers of tiers 1a, 1b and 3 in a small study, digit for digit: those of version 0.3.0.

Three simulated respondents, two runs. A change of a draw, of an order of additions or of a seed shows here. Responses are
kept as they were read; that replies are read the same is tested elsewhere.
"""

from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metacogbench import MetaCogBench
from metacog_pipeline.scoring.schemas import response_schema
from tests.metacogbench.helpers import compare, pool

FROZEN = Path(__file__).parent / "data" / "frozen"
SEED = 3
OTHERS = "2a|2b|saf|overall|n_not_read"  # tier 2 was another instrument


@pytest.fixture(scope="module")
def responses():
    kept = pl.read_parquet(FROZEN / "responses.parquet")
    return kept.select(
        pl.col(name) if name in kept.columns else pl.lit(None, kind).alias(name)
        for name, kind in response_schema(MetaCogBench).items()
    )


def same(found: pl.DataFrame, name: str, keys: list[str], numbers: list[str]) -> int:
    """Hold numbers to those that are frozen, but for the last digits; return how many rows are held."""
    wanted = pl.read_parquet(FROZEN / f"{name}.parquet").filter(~pl.col("measure").str.contains(OTHERS))
    both = wanted.join(found, on=keys, how="inner", suffix="_found", nulls_equal=True)
    for number in numbers:
        old, new = both[number], both[f"{number}_found"]
        assert (old.is_null() == new.is_null()).all(), number
        assert (old - new).abs().max() < 1e-9, number  # type: ignore[operator]
    return both.height


def test_estimates_are_those_they_were(responses):
    keys = ["condition", "model", "measure"]
    assert same(pool(responses, seed=SEED), "estimates", keys, ["estimate", "low", "high"]) > 400


def test_comparisons_of_models_are_those_they_were(responses):
    keys = ["family", "measure", "a", "b", "condition", "model"]
    found = compare(responses, seed=SEED).filter(pl.col("family").is_in(["models_paired"]))
    assert same(found, "comparisons", keys, ["value", "low", "high"]) == 15
    # Of fewer items p was that of all exchanges.
    assert same(found.filter(pl.col("n") > 12), "comparisons", keys, ["p"]) == 3

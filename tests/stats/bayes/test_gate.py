"""A posterior gives numbers when every parameter has converged; chains that have not go on, a bounded number of times."""

import numpy as np
import pytest

from metacog_pipeline.stats.bayes.diagnostics import Diagnostic
from metacog_pipeline.stats.bayes.sampler import doubt, random_stream, require_raw
from metacog_pipeline.stats.counts import counts, padded
from tests.tables import every

RATINGS = np.arange(8.0)


def diagnostic(**numbers: float) -> Diagnostic:
    return Diagnostic(**{"rhat": 1.0, "ess_bulk": 1e3, "ess_tail": 1e3, **numbers})


@every(
    ("numbers", "reason"),
    [
        ({}, ""),
        ({"rhat": 1.01}, "R-hat of b is 1.010, not below 1.01"),
        ({"rhat": float("nan")}, "R-hat of b is nan"),
        ({"ess_bulk": 400.0}, "bulk ESS of b is 400, not above 400"),
        ({"ess_tail": float("nan")}, "tail ESS of b is nan"),
    ],
)
def test_the_first_parameter_that_fails_is_named(numbers, reason):
    found = doubt({"a": diagnostic(), "b": diagnostic(**numbers), "c": diagnostic(**numbers)})
    assert found.startswith(reason) and bool(found) == bool(reason)


def test_streams_differ_by_seed_label_kind_and_data_and_by_nothing_else():
    def words(*what: object) -> tuple[int, ...]:
        return tuple(random_stream(*what).generate_state(4).tolist())  # type: ignore[arg-type]

    usual = (3, "a", ((2, 4), True), RATINGS)
    others = [
        (4, *usual[1:]), (3, "b", *usual[2:]), (*usual[:2], ((2, 4), False), RATINGS), (*usual[:3], RATINGS + 1),
    ]  # fmt: skip
    found = {words(*each) for each in (usual, *others)}
    assert len(found) == 5 and words(3, "a", ((2, 4), True), RATINGS.astype("float32")) == words(*usual)


def test_padded_counts_are_refused():
    require_raw(counts(RATINGS, RATINGS[::-1]))
    with pytest.raises(ValueError, match="padded"):
        require_raw(padded(counts(RATINGS, RATINGS[::-1])))

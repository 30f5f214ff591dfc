"""The efficiency of a population in two stages: what its members say, no more precise than their number allows."""

import numpy as np
import pytest

from metacog_pipeline.stats.bayes.population import population_efficiency


def test_many_precise_members_give_the_mean_of_their_logarithms_and_its_standard_error():
    rng = np.random.default_rng(1)
    logs = rng.normal(np.log(0.8), 0.2, 400)
    value, low, high = population_efficiency(logs, np.full(400, 0.01))
    error = logs.std(ddof=1) / 20
    assert np.log(value) == pytest.approx(logs.mean(), abs=1e-3)
    assert np.log(high / low) == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_imprecise_members_leave_the_prior_and_one_member_is_no_population():
    _, low, high = population_efficiency([0.0, 0.0], [50.0, 50.0])
    assert np.log([low, high]) == pytest.approx([-1.96, 1.96], abs=0.01)
    for mean, sd in (([0.1], [0.1]), ([0.1, 0.2], [0.1, 0.0])):
        with pytest.raises(ValueError, match="two with sd above 0 needed"):
            population_efficiency(mean, sd)

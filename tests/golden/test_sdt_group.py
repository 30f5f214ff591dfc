"""The group model of meta-d′ against agreed posterior summaries, at the tolerances of their README.

An interval's end may be off by a tenth of a standard deviation, and by twice the Monte Carlo error of our own end: the
agreed ends come from some thousand effective draws. Measured, one of 50 ends needs it: the upper end of the M-ratio of
subject 6, 0.12 sd off, where its own error is 0.03 sd. A standard deviation may be off by 4 %, and by twice its own Monte
Carlo error, that of a normal distribution: the last digits of a product of matrices, and with them the chains, are not
those of another processor.
"""

import math
import re

import pytest

from metacog_pipeline.stats.bayes.group import bayes_metad_group
from metacog_pipeline.stats.counts import counts
from tests.golden.agreed import rows, vector

NAMES = {"mu_logMratio": "mu_log_m", "sigma_logMratio": "sigma_log_m"}

pytestmark = (
    pytest.mark.proof
)  # `stats/test_bayes_group` holds the density, `stats/bayes/test_sampler` the draws


def vectors(table, column):
    return [vector(row[column]) for row in table]


def own_name(quantity, subjects):
    """Return our name of an agreed quantity; subjects go by their place in the file of counts."""
    subject = re.fullmatch(r"Mratio\[(\d+)\]", quantity)
    if subject is None:
        return NAMES.get(quantity, quantity)
    return f"m_ratio[{subjects.index(subject[1]) + 1}]"


@pytest.fixture(scope="module")
def compared():
    table, expected = rows("sdt/group_counts.csv"), rows("sdt/expected_group_bayes.csv")
    group = counts(vectors(table, "nR_S1"), vectors(table, "nR_S2"))
    posterior = bayes_metad_group(group, seed=20, draws=2000, rounds=2)
    assert posterior.converged, posterior.reason
    found, subjects = posterior.summary(), [row["subject"] for row in table]
    return [(row, found[own_name(row["quantity"], subjects)]) for row in expected]


def test_every_parameter_has_converged(compared):
    for row, own in compared:
        assert own.rhat < 1.01 and min(own.ess_bulk, own.ess_tail) > 400, row["quantity"]


def test_means_agree_within_their_errors(compared):
    for row, own in compared:
        tolerance = 5 * math.hypot(float(row["mcse_mean"]), own.mcse_mean)
        assert own.mean == pytest.approx(float(row["mean"]), abs=tolerance), row["quantity"]


def test_standard_deviations_and_ends_of_intervals_agree(compared):
    for row, own in compared:
        sd = float(row["sd"])
        chance = own.sd / math.sqrt(2 * own.ess_bulk)
        assert own.sd == pytest.approx(sd, abs=0.04 * sd + 2 * chance), row["quantity"]
        ends = (("q025", own.q025, own.mcse_q025), ("q975", own.q975, own.mcse_q975))
        for end, ours, error in ends:
            assert ours == pytest.approx(float(row[end]), abs=0.1 * sd + 2 * error), (row["quantity"], end)

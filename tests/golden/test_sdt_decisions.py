"""The tests of the criterion-calibration experiment against agreed values, at the tolerances of their README."""

import numpy as np
import pytest

from metacog_pipeline.stats.decisions import condition_pairs, contrasts
from metacog_pipeline.stats.type1 import type1_from_table
from tests.golden.agreed import number, rows

QUANTITIES = {"c": "c", "dprime": "d", "cprime": "c_prime"}


@pytest.fixture(scope="module")
def shifts():
    table = rows("sdt/ccal_counts.csv")
    columns = ("hits", "misses", "false_alarms", "correct_rejections")
    cells = type1_from_table(*([float(row[name]) for row in table] for name in columns))
    groups = [(row["task"], row["model"]) for row in table]
    conditions = [row["risk_configuration"] for row in table]
    first, second = condition_pairs(groups, conditions)
    found = {}
    for name in ("c", "d", "c_prime"):
        value, variance = getattr(cells, name), cells.variance(name)
        se, moved = np.sqrt(variance[first] + variance[second]), None
        if name == "c_prime":
            moved = found["d"].test.significant
        delta = value[second] - value[first]
        found[name] = contrasts(name, first, second, delta, se, rope=0.1, examined=moved)
    return groups, conditions, found


@pytest.fixture(scope="module")
def expected():
    return rows("sdt/ccal_contrasts.csv")


def listed(shifts, expected, quantity):
    """Yield (agreed row, our family, index of our row) for one quantity."""
    groups, conditions, found = shifts
    family = found[QUANTITIES[quantity]]
    at = {
        (*groups[a], conditions[a], conditions[b]): i
        for i, (a, b) in enumerate(zip(family.first, family.second, strict=True))
    }
    for row in expected:
        if row["quantity"] == quantity:
            key = (row["task"], row["model"], row["from_config"], row["to_config"])
            yield row, family, at[key]


def test_every_listed_pair_is_made_and_no_other(shifts, expected):
    groups, conditions, _ = shifts
    own = {
        (*groups[a], conditions[a], conditions[b]) for a, b in zip(*condition_pairs(*shifts[:2]), strict=True)
    }
    agreed = {(row["task"], row["model"], row["from_config"], row["to_config"]) for row in expected}
    assert own == agreed


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_differences_errors_and_z(shifts, expected, quantity):
    for row, family, i in listed(shifts, expected, quantity):
        for name, ours in (("diff", family.difference[i]), ("se", family.se[i]), ("z", family.test.z[i])):
            # Ten digits are printed, of a difference of two numbers that hold nine.
            np.testing.assert_allclose(ours, number(row[name]), rtol=1e-9, atol=2e-9, err_msg=f"{name} {row}")
        np.testing.assert_allclose(family.test.p[i], number(row["p_two_sided"]), rtol=2e-5, atol=1e-300)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_both_intervals(shifts, expected, quantity):
    names = ("low", "high", "low_adjusted", "high_adjusted")
    for row, family, i in listed(shifts, expected, quantity):
        ours = [getattr(family.test, name)[i] for name in names]
        agreed = [number(row[name]) for name in ("ci95_lo", "ci95_hi", "ci_bonf_lo", "ci_bonf_hi")]
        np.testing.assert_allclose(ours, agreed, rtol=1e-9, atol=2e-9, err_msg=str(row))


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_significance_and_verdicts(shifts, expected, quantity):
    family_rows = [row for row in expected if row["quantity"] == quantity]
    flag = next((name for name in expected[0] if name.startswith("sig_bonferroni")), None)
    verdict = next((name for name in expected[0] if name.startswith("decision_rope")), None)
    assert flag and verdict
    for row, family, i in listed(shifts, expected, quantity):
        assert family.test.family_size == len(family_rows)
        assert bool(family.test.significant[i]) == (row[flag] == "1"), row
        assert str(family.verdict[i]) == row[verdict], row
        agreed = min(1.0, len(family_rows) * number(row["p_two_sided"]))
        np.testing.assert_allclose(family.test.p_adjusted[i], agreed, rtol=2e-5, atol=1e-300)


def test_c_prime_is_examined_where_d_prime_differs(shifts):
    found = shifts[2]
    assert found["c_prime"].examined.tolist() == found["d"].test.significant.tolist()
    assert found["c"].examined.all() and found["d"].examined.all()

"""meta-d' of m alternatives against numbers of an exact recursion, at the tolerances of the files."""

import math

import numpy as np
import pytest
from scipy import special

from metacog_pipeline.stats.counts import Counts
from metacog_pipeline.stats.mafc import accuracy as type1
from metacog_pipeline.stats.mafc import fit, intervals, table
from metacog_pipeline.stats.meta_information import meta_information
from tests.golden.agreed import number, rows


def strata(text):
    return [[float(part) for part in row.split(";") if part] for row in text.split("|")]


def cell(row):
    right, wrong = strata(row["n_correct"]), strata(row["n_wrong"])
    most = max(1, *(len(each) for each in right))
    filled = [[each + [0.0] * (most - len(each)) for each in rows] for rows in (right, wrong)]
    return np.array([filled[0]]), np.array([filled[1]]), np.array([[int(m) for m in row["m"].split(";")]])


def of_one_response(right, wrong):
    """Counts of a yes/no task whose pooled right and wrong answers by confidence are these."""
    first = np.hstack([right.sum(axis=0)[::-1], wrong.sum(axis=0)])[None]
    return Counts(first, np.zeros_like(first))


def test_fits_and_statuses_are_those_of_the_reference():
    for row in rows("mafc/mafc_expected.csv"):
        right, wrong, m = cell(row)
        found = fit.fit(right, wrong, m)
        assert found.status[0] == row["status"], row["id"]
        tolerances = {
            "d": (found.d, 1e-9, 0.0),
            "meta_d": (found.meta_d, 5e-5, 0.0),
            "m_ratio": (found.m_ratio, 0.0, 1e-4),
            "se_d": (found.se_d, 0.0, 1e-4),
            "se_meta_d": (found.se_meta_d, 0.0, 1e-2 if abs(number(row["meta_d"])) < 0.05 else 1e-3),
            "se_m_ratio": (found.se_m_ratio, 0.0, 1e-2 if abs(number(row["meta_d"])) < 0.05 else 1e-3),
            "loglik": (found.log_likelihood, 1e-3, 0.0),
        }
        for name, (values, absolute, relative) in tolerances.items():
            wanted = number(row[name])
            if math.isnan(wanted):
                assert not math.isfinite(values[0]), f"{row['id']} {name}"
            else:
                assert values[0] == pytest.approx(wanted, abs=absolute, rel=relative), f"{row['id']} {name}"


def test_measures_without_a_fit_are_those_of_the_reference():
    for row in rows("mafc/mafc_expected.csv"):
        right, wrong, m = cell(row)
        d = fit.fit(right, wrong, m).d
        observer, alternatives = table.table(), int(m[0, 0])
        found = {
            "auroc2": (intervals.auroc2(right, wrong)[0], 1e-9),
            "meta_i": (meta_information(of_one_response(right[0], wrong[0])).meta_i[0], 1e-9),
            "eta": (intervals.eta(right[0], wrong[0], m[0]).value, 1e-5),
        }
        if not math.isnan(d[0]):
            found["auroc2_ideal"] = (observer.auroc2(alternatives, d[0]), 1e-8)
            found["meta_i_ideal"] = (observer.meta_information(alternatives, d[0]), 1e-7)
            found["auroc2_ideal_binned"] = (intervals.ideal_auroc2(right, wrong, m, d)[0], 1e-5)
        for name, (value, tolerance) in found.items():
            if not math.isnan(number(row[name])):
                assert float(value) == pytest.approx(number(row[name]), abs=tolerance), f"{row['id']} {name}"


def test_intervals_are_those_of_the_reference():
    for row in rows("mafc/intervals.csv"):
        right, wrong = strata(row["n_correct"])[0], strata(row["n_wrong"])[0]
        area = intervals.auroc2_interval(right, wrong)
        assert area.low == pytest.approx(number(row["auroc2_low"]), abs=1e-6), row["id"]
        assert area.high == pytest.approx(number(row["auroc2_high"]), abs=1e-6), row["id"]
        ratio = intervals.Cell(right, wrong, int(row["m"])).m_ratio_interval()
        assert ratio.low == pytest.approx(number(row["m_ratio_low_profile"]), abs=2e-3), row["id"]
        assert ratio.high == pytest.approx(number(row["m_ratio_high_profile"]), abs=2e-3), row["id"]


def test_the_table_gives_the_reference_roc():
    for row in rows("mafc/type2_roc.csv"):
        m, d = np.array([int(row["m"])]), np.array([float(row["d"])])
        zeta = special.ndtri([float(row["far2"])])
        lift = table.table().lift(m, zeta, d)[0]
        assert special.ndtr(zeta + lift)[0] == pytest.approx(float(row["hr2"]), abs=3e-6)


def test_scalars_of_the_ideal_observer_are_those_of_the_reference():
    for row in rows("mafc/ideal_observer.csv"):
        m, d = int(row["m"]), float(row["d"])
        found = type1.accuracy(d, m), table.table().auroc2(m, d), table.table().meta_information(m, d)
        names = {"accuracy": 1e-8, "auroc2_ideal": 1e-8, "meta_i_ideal_bits": 1e-7}
        for own, (name, tolerance) in zip(found, names.items(), strict=True):
            assert float(own) == pytest.approx(float(row[name]), abs=tolerance)

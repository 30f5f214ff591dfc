"""The published tables of the signal-detection paper, refitted, against agreed values."""

import shutil

import polars as pl
import pytest

from tests.golden.agreed import need, rows
from tests.signaldetection.refit import TOLERANCE
from tests.signaldetection.scored import published_posteriors, refit_tables

NAMES = {
    "counts.csv": "counts.csv",
    "ccal_counts.csv": "criterion_counts.csv",
    "paper_table_s1.csv": "table_s1.csv",
    "paper_table_s2.csv": "table_s2.csv",
}
PRINTED = {"d": "dprime", "meta_d": "meta_d", "m_ratio": "M_ratio"}
AGREED = {"d": "d1", "meta_d": "meta_d", "m_ratio": "M_ratio"}
CONDITION = {"S1": "risk_s1", "None": "risk_none", "S2": "risk_s2"}
MEASURE = {"c": "c", "dprime": "d", "cprime": "c_prime"}
Z95 = 1.959964

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def refit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    for name, ours in NAMES.items():
        shutil.copy(need(f"sdt/{name}"), folder / ours)
    return refit_tables(folder, 7, published_posteriors(tmp_path_factory))


@pytest.fixture(scope="module")
def metad(refit):
    found = refit.sensitivity.iter_rows(named=True)
    return {(row["task"], row["model"], row["quantity"]): row for row in found}


@pytest.fixture(scope="module")
def agreed():
    """Means and errors of the converged posterior by (task, model, quantity)."""
    found = [
        row for row in rows("sdt/expected_bayes.csv") if row["model"] and not row["cell"].endswith("_rc")
    ]
    return {(row["task"], row["model"], row["quantity"]): row for row in found}


def test_posterior_means_are_those_of_the_converged_posterior(metad, agreed):
    checked = 0
    for (task, model, quantity), row in metad.items():
        expected = agreed.get((task, model, AGREED[quantity]))
        if expected is None:
            continue
        sd = float(expected["sd"])
        # What the gate guarantees of ours: an effective sample size of 400.
        error = ((sd / 20) ** 2 + float(expected["mcse_mean"]) ** 2) ** 0.5
        assert row["recomputed"] == pytest.approx(float(expected["mean"]), abs=5 * error + 2e-4)
        for end, quantile in (("low", "q025"), ("high", "q975")):
            assert row[end] == pytest.approx(float(expected[quantile]), abs=0.15 * sd + 2e-4)
        checked += 1
    assert checked


def test_table_s1_follows_where_the_agreed_posterior_says_so(metad, agreed):
    checked = 0
    for printed in rows("sdt/paper_table_s1.csv"):
        cell = (printed["task"], printed["model"])
        means = {q: agreed.get((*cell, name)) for q, name in AGREED.items()}
        if None in means.values():
            continue
        off = {q: abs(float(means[q]["mean"]) - float(printed[PRINTED[q]])) for q in AGREED}
        for quantity, distance in off.items():
            row = metad[(*cell, quantity)]
            assert row["published"] == float(printed[PRINTED[quantity]])
            # A distance close to the tolerance may fall on either side of it.
            sampling = float(means[quantity]["sd"]) / 20
            if abs(distance - TOLERANCE[quantity]) > sampling:
                assert row["follows"] == (distance < TOLERANCE[quantity]), (cell, quantity, row)
                checked += 1
    assert checked


def test_a_cell_far_from_its_printed_number_says_why(metad, agreed):
    for (task, model, quantity), row in metad.items():
        if row["published"] is None:
            continue
        excluded = not row["low"] <= row["published"] <= row["high"]
        if excluded and not row["follows"]:
            assert "does not follow" in row["note"], (task, model, quantity)
        if row["follows"]:
            assert row["note"] is None


def test_table_s2_follows_from_raw_rates(refit):
    ours = {
        (r["task"], r["model"], r["condition"], r["quantity"]): r
        for r in refit.criteria.iter_rows(named=True)
    }
    expected = {(r["task"], r["model"], r["risk_configuration"]): r for r in rows("sdt/ccal_expected.csv")}
    for printed in rows("sdt/paper_table_s2.csv"):
        key = (printed["task"], printed["model"], printed["risk_configuration"])
        cell = (*key[:2], CONDITION[key[2]])
        c, half = ours[(*cell, "c")], ours[(*cell, "ci_half")]
        assert c["recomputed"] == pytest.approx(float(expected[key]["c"]), rel=1e-8)
        assert half["recomputed"] == pytest.approx(float(expected[key]["ci_half_c"]), rel=1e-6)
        for row, column in ((c, "c"), (half, "ci_half")):
            distance = abs(row["recomputed"] - float(printed[column]))
            assert row["follows"] == (distance <= TOLERANCE[column])
            assert row["follows"] or "does not follow" in row["note"]
    assert sum(not row["follows"] for row in ours.values()) <= 1 + len(ours) // 50


def test_every_criterion_contrast_has_its_agreed_verdict(refit):
    found = refit.contrasts.filter(pl.col("family") == "criterion_z")
    ours = {(r["task"], r["model"], r["measure"], r["b"], r["a"]): r for r in found.iter_rows(named=True)}
    agreed = rows("sdt/ccal_contrasts.csv")
    assert len(ours) == len(agreed)
    for row in agreed:
        pair = (CONDITION[row["from_config"]], CONDITION[row["to_config"]])
        got = ours[(row["task"], row["model"], MEASURE[row["quantity"]], *pair)]
        assert got["verdict"] == row["decision_rope_0p1_bonf_ci"], row
        for column, name in (
            ("diff", "value"), ("se", "se"), ("z", "statistic"), ("ci95_lo", "low"), ("ci95_hi", "high"),
            ("ci_bonf_lo", "low_adjusted"), ("ci_bonf_hi", "high_adjusted"),
        ):  # fmt: skip
            assert got[name] == pytest.approx(float(row[column]), rel=1e-6, abs=1e-9), (row, name)
        assert got["p"] == pytest.approx(float(row["p_two_sided"]), rel=1e-4, abs=1e-12)
        assert (got["p_adjusted"] < 0.05) == (row["sig_bonferroni_27"] == "1")


def bayes_contrasts(refit, measure):
    """Ours by the names of the two cells, as the agreed file names them: task, then the model's first word."""
    chosen = refit.contrasts.filter(
        pl.col("family").is_in(["bayes_models", "bayes_tasks"]), pl.col("measure") == measure
    )
    named = {}
    for row in chosen.iter_rows(named=True):
        ends = [(row["task"], row[x]) if row["task"] else (row[x], row["model"]) for x in ("a", "b")]
        named[frozenset(ends)] = (row, ends)
    return named


def test_every_contrast_of_efficiency_has_its_agreed_verdict(refit, agreed):
    cells = {f"{row['cell']}": (row["task"], row["model"]) for row in agreed.values()}
    ratio, log_ratio, d = (bayes_contrasts(refit, name) for name in ("m_ratio", "log_m_ratio", "d"))
    checked = 0
    for row in rows("sdt/expected_bayes_contrasts.csv"):
        one, two = cells.get(row["cell_1"]), cells.get(row["cell_2"])
        if one is None or two is None:
            continue
        for named, columns in (
            (ratio, ("M_ratio_diff", "diff_lo", "diff_hi")),
            (log_ratio, ("log_M_ratio_diff", "log_lo", "log_hi")),
        ):
            got, ends = named[frozenset((one, two))]
            mean, low, high = (float(row[name]) for name in columns)
            sign = 1 if ends[0] == one else -1
            ours = (got["low"], got["high"]) if sign == 1 else (-got["high"], -got["low"])
            sd = (high - low) / (2 * Z95)
            assert sign * got["value"] == pytest.approx(mean, abs=0.002 + 0.05 * sd), row
            assert ours == pytest.approx((low, high), abs=0.005 + 0.1 * sd), row
        got = ratio[frozenset((one, two))][0]
        # An end within sampling error of a limit may fall on either side of it.
        limits = (-0.05, 0.0, 0.05)
        low, high = float(row["diff_lo"]), float(row["diff_hi"])
        if min(abs(end - limit) for end in (low, high) for limit in limits) > 0.005:
            assert got["verdict"] == row["M_decision_rope_0p05"], (row, got)
        d_low, d_high = float(row["logd_lo"]), float(row["logd_hi"])
        if min(abs(d_low), abs(d_high)) > 0.005:
            differs = d[frozenset((one, two))][0]["verdict"] != "not_significant"
            assert differs == (row["d_significant"] == "1"), row
        checked += 1
    assert checked


def test_every_cell_is_compared_with_the_optimum(refit, agreed):
    found = refit.contrasts.filter(pl.col("family") == "bayes_optimality", pl.col("measure") == "m_ratio")
    for row in found.iter_rows(named=True):
        expected = agreed.get((row["task"], row["model"], "M_ratio"))
        if expected is None:
            continue
        low, high = float(expected["q025"]) - 1, float(expected["q975"]) - 1
        if high < -0.055:
            assert row["verdict"] == "significant"
        elif low < -0.005 and high > 0.005:
            assert row["verdict"] == "not_significant"

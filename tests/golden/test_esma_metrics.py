"""Measures of self-knowledge against the golden values: counts, d′, information, graded yes, areas."""

import csv
import json

import numpy as np
import pytest
from scipy.special import expit

from metacog_pipeline.benchmarks.selfknowledge.published import derived, implied_rates
from metacog_pipeline.files import shipped
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.roc import roc_curve
from metacog_pipeline.stats.yes_no import clipped_dprime, relative_information, type2_dprime
from tests.golden.agreed import GOLDEN, rows
from tests.tables import every

ESMA = GOLDEN / "esma"
RATES = ("accuracy", "yes_ratio", "yfr", "nfr", "raw_alignment", "hit_rate", "false_alarm_rate")


def cases(name, wanted=lambda case: True):
    path = ESMA / name
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{path} is not here"))]
    with path.open(encoding="utf-8") as lines:
        return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines) if wanted(case)]


def spread(values):
    """Return a list, run-length coded or not, as a list."""
    if isinstance(values, dict):
        return [value for value, count in values["runs"] for _ in range(count)]
    return values


def table_of(correct, yes):
    """Return yeses to right and to wrong answers, right and wrong answers, of 0/1 lists."""
    c, y = np.asarray(correct), np.asarray(yes)
    return int((c * y).sum()), int(((1 - c) * y).sum()), int(c.sum()), int((1 - c).sum())


def close(found, expected, tolerance):
    if expected is None:
        assert found is None or not np.isfinite(found)
    else:
        assert found == pytest.approx(expected, abs=tolerance, rel=0)


@every("case", cases("metrics.jsonl"))
def test_metrics(case):
    correct, yes, expected = spread(case["correct"]), spread(case["yes"]), case["expected"]
    table = table_of(correct, yes)
    found = type2_dprime(*table)
    assert len(correct) == expected["n"]
    for name in RATES:
        close(float(getattr(found, name)[0]), expected[name], 1e-12)
    close(float(clipped_dprime(*table)[0]), expected["d_prime_clip"], 1e-9)
    close(float(type2_dprime(*table, "loglinear").d[0]), expected["d_prime_loglinear"], 1e-9)
    close(float(relative_information(*table)[0]), expected["rmi"], 1e-9)
    joint = expected["accuracy"] + expected["raw_alignment"]
    assert joint == pytest.approx(expected["mean_reward"]["joint"], abs=1e-12)
    said, right = np.array(yes), np.array(correct)
    for name, of in (("yes_failures_kept", 1), ("no_failures_kept", 0)):
        if expected[name] is not None:  # -100: the item is none that could fail
            assert np.where(said == of, right != of, -100).tolist() == spread(expected[name])


@every("case", cases("metrics.jsonl", lambda case: "idk" in case))
def test_abstentions(case):
    idk, right = (np.array(spread(case[name])) for name in ("idk", "idk_correct"))
    expected = case["expected"]
    table = table_of(right, 1 - idk)
    found = type2_dprime(*table)
    close(float(found.accuracy[0]), expected["idk_accuracy"], 1e-12)
    close(float(1 - found.yes_ratio[0]), expected["idk_rate"], 1e-12)
    close(float(found.raw_alignment[0]), expected["idk_alignment"], 1e-12)
    close(float(clipped_dprime(*table)[0]), expected["idk_d_prime_clip"], 1e-9)
    correct, yes = np.array(spread(case["correct"])), np.array(spread(case["yes"]))
    close(float(((correct == yes) & (yes == 1 - idk)).mean()), expected["all_alignment"], 1e-12)


@every("case", cases("confidence.jsonl"))
def test_graded_yes(case):
    correct, expected = np.array(spread(case["correct"])), case["expected"]
    found = expit(np.subtract(spread(case["yes_logit"]), spread(case["no_logit"])))
    assert found == pytest.approx(spread(expected["confidence"]), abs=1e-9, rel=0)
    yes = (found > 0.5).astype(int)
    assert yes.tolist() == spread(expected["yes"])
    close(roc_curve(found, correct).area, expected["auroc"], 1e-9)
    if len(np.unique(found)) > 1:
        close(auroc(found, correct).value, expected["auroc"], 1e-9)
    table = table_of(correct, yes)
    close(float(clipped_dprime(*table)[0]), expected["d_prime_clip"], 1e-9)
    close(float(type2_dprime(*table).raw_alignment[0]), expected["raw_alignment"], 1e-12)


def lines_of(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def table(name):
    path = ESMA / name
    if not path.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"{path} is not here"))]
    return [pytest.param(row, id=f"{name} {i} {row['row']}") for i, row in enumerate(lines_of(path))]


def printed_failures():
    paths = (shipped("data", "published", "selfknowledge", f"table_{i}.csv") for i in (1, 5))
    rows = [row for path in paths for row in lines_of(path)]
    suffix = {"original": "", "esma": " ESMA", "sft": " SFT(T5)"}
    return {row["model"] + suffix[row["variant"]]: row for row in rows}


@every("row", table("table1_recomputed.csv"))
def test_rows_with_failures_are_computed_again(row):
    printed = printed_failures()[row["row"]]
    made = derived(*(float(printed[name]) / 100 for name in ("yes_ratio_pct", "yfr_pct", "nfr_pct")))
    assert made["accuracy_pct"] == pytest.approx(float(row["accuracy_pct"]), abs=1e-3)
    assert made["raw_alignment_pct"] == pytest.approx(float(row["raw_alignment_pct"]), abs=1e-3)
    assert made["d_prime"] == pytest.approx(float(row["d_prime"]), abs=1e-4)


@every("row", table("tables_implied_rates.csv"))
def test_rates_behind_three_printed_numbers(row):
    given = {name: float(row[name]) for name in row if name not in ("row",) and row[name]}
    found = implied_rates(given["d_prime"], given["raw_alignment_pct"] / 100, given["accuracy_pct"] / 100)
    names = ("hit_rate", "false_alarm_rate", "yes_ratio")
    expected = pytest.approx([given[name] for name in names], abs=1.1e-3)
    assert any([getattr(each, name) for name in names] == expected for each in found)


@every("name", ["figure2_auc", *(f"table{i}" for i in range(1, 8))])
def test_the_shipped_tables_hold_the_published_numbers(name):
    own = "figure_2.csv" if name.startswith("figure") else f"table_{name[-1]}.csv"
    assert lines_of(shipped("data", "published", "selfknowledge", own)) == rows(f"esma/paper_{name}.csv")

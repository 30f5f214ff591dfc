"""Type-1, type-2 and information measures against agreed values, and the published criteria.

Cells of the published table whose printed number does not follow from the counts are left out by name.
"""

import math

import numpy as np
import pytest

from metacog_pipeline.stats.counts import CORRECTIONS, counts
from metacog_pipeline.stats.meta_information import meta_information
from metacog_pipeline.stats.type1 import type1, type1_from_table
from metacog_pipeline.stats.type2 import auroc2, type2_rates
from tests.golden.agreed import number, rows, vector
from tests.tables import every

RELATIVE = 1e-9
# A number that is 0 but for rounding has no relative error.
ROUNDING = 1e-12
QUADRATURE = 1e-6

# (task, model, configuration): the ± as printed, which no count gives. Another number in that cell is checked.
MISPRINTED_HALF_WIDTHS = {("C", "GPT-5-2025-08-07", "None"): 0.03560}

PREFIXES = dict(zip(CORRECTIONS, ("raw", "pad", "loglinear", "halfcell"), strict=True))
TYPE1 = {"d": "dprime", "c": "c", "c_prime": "cprime", "ln_beta": "lnbeta"}
INFORMATION = {
    "meta_i": "metaI",
    "meta_i_signed": "metaI_signed",
    "i_src": "I_SRC",
    "h_accuracy": "H_acc",
    "meta_i2r": "metaI_r2",
    "rmi": "RMI",
}
RATES = (("HR2_rS1", "HR2_rS2"), ("FAR2_rS1", "FAR2_rS2"))


def same(ours, theirs, relative=RELATIVE):
    return np.allclose(ours, theirs, rtol=relative, atol=ROUNDING, equal_nan=True)


def key(row, *columns):
    return tuple(row[column] for column in columns)


def pairs(counts_file, metrics_file, *columns):
    """Yield (name, table, expected row) of every row of the metrics file."""
    tables = {key(row, *columns): row for row in rows(f"sdt/{counts_file}")}
    for row in rows(f"sdt/{metrics_file}"):
        source = tables[key(row, *columns)]
        yield " ".join(key(row, *columns)), counts(vector(source["nR_S1"]), vector(source["nR_S2"])), row


CELLS = [
    pytest.param(("counts.csv", "expected_metrics.csv", "task", "model"), id="published cells"),
    pytest.param(("sim_counts.csv", "sim_expected_metrics.csv", "id"), id="simulated cells"),
]


@every("files", CELLS)
@every("correction", CORRECTIONS)
def test_type_1_measures_are_the_agreed_ones_under_every_correction(files, correction):
    wrong = []
    for name, table, row in pairs(*files):
        result = type1(table, correction)
        for ours, theirs in TYPE1.items():
            expected = number(row[f"{PREFIXES[correction]}_{theirs}"])
            if not same(getattr(result, ours)[0], expected):
                wrong.append((name, ours, float(getattr(result, ours)[0]), expected))
        assert math.isfinite(result.d[0]) or result.status[0] != "ok"
    assert not wrong


@pytest.mark.parametrize("files", CELLS)
def test_rates_and_variances_are_the_agreed_ones(files):
    names = {"hit_rate": "HR", "false_alarm_rate": "FAR", "var_d": "var_d", "var_c": "var_c"}
    names["var_c_prime"] = "var_cprime"
    for name, table, row in pairs(*files):
        result = type1(table)
        for ours, theirs in names.items():
            assert same(getattr(result, ours)[0], number(row[theirs])), (name, ours)


@pytest.mark.parametrize("files", CELLS)
def test_type_2_areas_and_rates_are_the_agreed_ones(files):
    for name, table, row in pairs(*files):
        assert same(auroc2(table).value[0], number(row["auroc2"])), name
        assert same(auroc2(table, plus_one=True).value[0], number(row["auroc2_plus1"])), name
        for side, own in enumerate(type2_rates(table)):
            for response, theirs in enumerate(RATES[side]):
                expected = vector(row[theirs])
                assert own[0, response].shape == expected.shape, (name, theirs)
                assert same(own[0, response], expected), (name, theirs)


@pytest.mark.parametrize("files", CELLS)
def test_information_is_the_agreed_one(files):
    for name, table, row in pairs(*files):
        result = meta_information(table)
        for ours, theirs in INFORMATION.items():
            assert same(getattr(result, ours)[0], number(row[theirs])), (name, ours)
        assert same(result.meta_i1r[0], number(row["metaI_r1"]), QUADRATURE), name


def criterion_cells():
    found = rows("sdt/ccal_counts.csv")
    table = [
        [float(row[c]) for row in found] for c in ("hits", "misses", "false_alarms", "correct_rejections")
    ]
    names = [key(row, "task", "model", "risk_configuration") for row in found]
    return names, type1_from_table(*table), found


def test_criterion_cells_give_the_agreed_measures_and_half_widths():
    names, result, _ = criterion_cells()
    columns = {"HR": result.hit_rate, "FAR": result.false_alarm_rate, "var_c": result.var_c}
    columns |= {"dprime": result.d, "c": result.c, "cprime": result.c_prime, "lnbeta": result.ln_beta}
    columns |= {"var_d": result.var_d, "var_cprime": result.var_c_prime}
    for measure, column in (("d", "ci_half_d"), ("c", "ci_half_c"), ("c_prime", "ci_half_cprime")):
        low, high = result.interval(measure)
        columns[column] = (high - low) / 2
    for row in rows("sdt/ccal_expected.csv"):
        cell = names.index(key(row, "task", "model", "risk_configuration"))
        for column, values in columns.items():
            assert same(values[cell], number(row[column])), (names[cell], column)


def test_the_published_criteria_and_their_intervals_follow_from_the_counts():
    names, result, _ = criterion_cells()
    low, high = result.interval("c")
    half = (high - low) / 2
    for row in rows("sdt/paper_table_s2.csv"):
        name = key(row, "task", "model", "risk_configuration")
        cell = names.index(name)
        assert result.c[cell] == pytest.approx(float(row["c"]), abs=1e-4), name
        printed = float(row["ci_half"])
        if printed != MISPRINTED_HALF_WIDTHS.get(name):
            assert half[cell] == pytest.approx(printed, abs=5.1e-5), name

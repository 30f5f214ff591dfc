"""Posteriors of the single-subject model against agreed ones, their contrasts, and the published table.

The agreed numbers are themselves summaries of 12,000 draws. Means come with their Monte Carlo errors and are held to
them; so are standard deviations, and contrasts to 0.002 and 0.005. Ends of intervals come without: of so many draws
a quantile has a standard error of 0.025 sd and a highest-density end one of 0.05 sd, so that some exact ends miss the
tolerances of 0.06 and 0.1 sd. Measured: against 384,000 converged draws of each cell 37 of 860 agreed ends do (the largest
gaps: 0.08 sd for a quantile, 0.19 sd for a highest-density end, both criteria of ``A_GPT-5_rc``), against the 192,000
here 14 of 549 quantiles (at most 0.073 sd) and 25 of 366 highest-density ends (at most 0.15 sd), spread over all cells.
Hence: at least 96 % and 91 % of the ends within the tolerance, and none outside one and a half times, or twice, that.
"""

import math
from functools import cache

import pytest

from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.counts import counts
from metacog_pipeline.stats.decisions import compare
from tests.golden.agreed import rows

pytestmark = pytest.mark.proof


EXAMPLES = {
    "doc6": ([100, 50, 20, 10, 5, 1], [3, 7, 8, 12, 27, 89]),
    "doc8": ([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39]),
    "small40": ([9, 4, 4, 2, 0, 1], [1, 1, 3, 4, 5, 6]),
}
CONDITIONAL = "_rc"
NAMES = (("M_ratio", "m_ratio"), ("M_diff", "m_diff"), ("cS", "t2c_rs"), ("rS", "rs"))
DRAWS = 3000  # a chain; of 64
# Fitted by `make test`, with a third of the draws: two published cells, both models of the criteria, and the cell whose
# printed row does not follow. `make proofs` fits all fourteen with all draws.
SOME_DRAWS = DRAWS // 3
SOME = ("A_GPT-5", "A_Mistral", "A_GPT-5_rc", "C_DeepSeek")
# This published row comes from a run that had not converged: its numbers do not follow from the counts.
UNCONVERGED_IN_PRINT = {("C", "DeepSeek-V3.2-Exp")}


def published_counts():
    vectors = ("nR_S1", "nR_S2")
    return {
        (row["task"], row["model"]): [[float(n) for n in row[name].split(";")] for name in vectors]
        for row in rows("sdt/counts.csv")
    }


def keys():
    """Return (task, model) of each named cell."""
    return {row["cell"]: (row["task"], row["model"]) for row in rows("sdt/expected_bayes.csv")}


def table(cell):
    name = cell.removesuffix(CONDITIONAL)
    return counts(*(EXAMPLES[name] if name in EXAMPLES else published_counts()[keys()[cell]]))


@cache
def side_by_side(draws, *cells):
    """Fit cells of one model of the criteria."""
    conditional = cells[0].endswith(CONDITIONAL)
    return {
        cell: bayes_metad(table(cell), seed=7, label=cell, conditional=conditional, draws=draws)
        for cell in cells
    }


def fitted(cell, cells=frozenset(SOME)):
    """Return the posterior of one of the cells that are fitted together."""
    if cell not in SOME:
        return side_by_side(DRAWS, cell)[cell]
    kind = cell.endswith(CONDITIONAL)
    alike = (each for each in SOME if each.endswith(CONDITIONAL) == kind)
    return side_by_side(SOME_DRAWS if cells == set(SOME) else DRAWS, *alike)[cell]


@cache
def summary(cell, cells=frozenset(SOME)):
    return fitted(cell, cells).summary()


def ours(row, cells):
    name = row["quantity"]
    for theirs, own in NAMES:
        name = name.replace(theirs, own)
    return summary(row["cell"], cells)[name]


@pytest.fixture(params=[SOME, pytest.param(None, marks=pytest.mark.proof)], ids=["some", "every"])
def cells(request):
    """Return which cells are fitted."""
    return frozenset(request.param or keys())


def agreed(cells):
    found = [row for row in rows("sdt/expected_bayes.csv") if row["cell"] in cells]
    return [row | {k: float(row[k]) for k in row if k not in TEXT} for row in found]


TEXT = ("cell", "task", "model", "quantity")


def test_every_cell_converges_with_thousands_of_effective_draws_for_every_parameter(cells):
    for cell in cells:
        posterior = fitted(cell, cells)
        assert posterior.status == "converged", (cell, posterior.reason)
        assert min(row.ess_bulk for row in posterior.diagnostics.values()) >= 10_000, cell
        assert max(row.rhat for row in posterior.diagnostics.values()) < 1.01, cell


def test_means_agree_within_the_errors_of_both(cells):
    for row in agreed(cells):
        own = ours(row, cells)
        allowed = 5 * math.hypot(row["mcse_mean"], own.mcse_mean) + 2e-4
        assert own.mean == pytest.approx(row["mean"], abs=allowed), (row["cell"], row["quantity"])


def test_standard_deviations_agree_to_three_percent(cells):
    for row in agreed(cells):
        if "M_ratio" in row["quantity"] and bool((fitted(row["cell"], cells).draws["d1"] <= 0).any()):
            continue  # a ratio whose denominator may be 0 has no finite variance to agree on
        assert ours(row, cells).sd == pytest.approx(row["sd"], rel=0.03), (row["cell"], row["quantity"])


@pytest.mark.parametrize(
    ("ends", "tolerance", "share", "most"),
    [
        ({"q025": "q025", "median": "median", "q975": "q975"}, 0.06, 0.96, 0.09),
        ({"hdi_lo": "hdi_low", "hdi_hi": "hdi_high"}, 0.1, 0.91, 0.2),
    ],
    ids=["quantiles", "highest-density"],
)
def test_ends_of_intervals_agree(cells, ends, tolerance, share, most):
    gaps = {
        (row["cell"], row["quantity"], theirs): abs(getattr(ours(row, cells), own) - row[theirs]) / row["sd"]
        for row in agreed(cells)
        for theirs, own in ends.items()
    }
    outside = {key: gap for key, gap in gaps.items() if gap > tolerance}
    if cells == set(keys()):  # the shares were measured over all of them
        assert len(outside) <= (1 - share) * len(gaps), outside
    assert max(gaps.values()) <= most, outside


def test_contrasts_agree_and_lead_to_the_same_verdicts(cells):
    contrasts = [r for r in rows("sdt/expected_bayes_contrasts.csv") if {r["cell_1"], r["cell_2"]} <= cells]
    assert contrasts
    for row in contrasts:
        one, two = (fitted(row[name], cells).draws for name in ("cell_1", "cell_2"))
        ratio = compare(one["m_ratio"], two["m_ratio"], rope=0.05, scale="difference")
        sensitivity = compare(one["d1"], two["d1"])
        pair = (row["cell_1"], row["cell_2"])
        for own, theirs in (
            (ratio.log_ratio, "log_M_ratio_diff"),
            (ratio.difference, "M_ratio_diff"),
            (sensitivity.log_ratio, "log_d_ratio"),
        ):
            assert own == pytest.approx(float(row[theirs]), abs=0.002), (pair, theirs)
        for own, theirs in (
            *((ratio.log_low, "log_lo"), (ratio.log_high, "log_hi"), (ratio.low, "diff_lo")),
            *((ratio.high, "diff_hi"), (sensitivity.log_low, "logd_lo"), (sensitivity.log_high, "logd_hi")),
        ):
            assert own == pytest.approx(float(row[theirs]), abs=0.005), (pair, theirs)
        assert ratio.differs == (row["M_significant"] == "1"), pair
        assert sensitivity.differs == (row["d_significant"] == "1"), pair
        assert ratio.verdict == row["M_decision_rope_0p05"], pair


def test_the_published_table_is_reproduced(cells):
    cell_of = {key: cell for cell, key in keys().items() if not cell.endswith(CONDITIONAL)}
    for row in rows("sdt/paper_table_s1.csv"):
        key = (row["task"], row["model"])
        if key in UNCONVERGED_IN_PRINT or cell_of[key] not in cells:
            continue
        found = summary(cell_of[key], cells)
        for name, printed, tolerance in (
            ("d1", "dprime", 0.005),
            ("meta_d", "meta_d", 0.010),
            ("m_ratio", "M_ratio", 0.004),
        ):
            assert found[name].mean == pytest.approx(float(row[printed]), abs=tolerance), (key, printed)


def test_the_cell_that_had_not_converged_in_print_is_where_the_data_are():
    cells = [cell for cell, key in keys().items() if key in UNCONVERGED_IN_PRINT]
    for cell in cells:
        assert summary(cell)["c1"].mean == pytest.approx(0.50, abs=0.01)
        assert summary(cell)["d1"].mean == pytest.approx(1.38, abs=0.01)

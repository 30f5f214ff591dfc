"""The statistics of MetaMedQA against agreed values, and the statements of its paper computed again."""

import json
import math
import re

import pytest
from scipy.special import stdtrit

from metacog_pipeline.report import exhibits
from metacog_pipeline.stats.anova import anova, cohen_d, fisher_lsd, tukey_kramer
from metacog_pipeline.stats.correlation import regression
from metacog_pipeline.stats.intervals import proportion
from metacog_pipeline.stats.ranks import spearman_p
from tests.golden.agreed import need

CONDITIONS = (
    *("baseline", "role", "role-warn", "role-warn-consequence", "role-explicit-unknown"),
    *("role-explicit-unknown-incomplete", "role-full", "role-omniscient"),
)
N, N_MISSING, N_UNKNOWN = 1373, 115, 162
# Right answers of each prompt condition: the whole numbers behind the shares of Table 4.
ACCURACY = (1007, 996, 1005, 1005, 1063, 1061, 1082, 1002)
MISSING, UNKNOWN = (53, 43, 46, 49, 50, 46, 62, 42), (6, 10, 9, 14, 72, 77, 84, 25)


@pytest.fixture(scope="module")
def agreed():
    return json.loads(need("metamedqa/stats_vectors.json").read_text(encoding="utf-8"))


def shares(right, n):
    """Return sizes, means and standard deviations of 0/1 data."""
    means = [k / n for k in right]
    return [n] * len(means), means, [math.sqrt(p * (1 - p) * n / (n - 1)) for p in means]


# --- agreed values --------------------------------------------------------------------------------


def test_anova_lsd_tukey_and_cohens_d_give_the_agreed_values(agreed):
    names = {"f": "F", **{name: name for name in ("p", "ms_between", "ms_error", "df_between", "df_error")}}
    families = [case for case in agreed.values() if isinstance(case, dict) and "n_per_group" in case]
    assert families
    for case in families:
        labels, groups = list(case["correct"]), shares(case["correct"].values(), case["n_per_group"])
        result, base = anova(*groups), labels.index("baseline")
        for ours, theirs in names.items():
            assert getattr(result, ours) == pytest.approx(case[theirs], rel=1e-6), theirs
        lsd = {labels[row.first]: row for row in fisher_lsd(result, base)}
        pairs = [row for row in tukey_kramer(result) if base in (row.first, row.second)]
        tukey = {labels[row.first + row.second - base]: row for row in pairs}
        assert {row["identifier"] for row in case["versus_baseline"]} == set(labels) - {"baseline"}
        for row in case["versus_baseline"]:
            label = row["identifier"]
            one, other = ([each[at] for each in groups] for at in (labels.index(label), base))
            ours = [lsd[label].difference, lsd[label].statistic, lsd[label].p, tukey[label].statistic]
            ours.append(cohen_d(*one, *other).value)
            theirs = [row[name] for name in ("difference", "t", "p_lsd", "q", "cohen_d")]
            assert ours == pytest.approx(theirs, rel=1e-6)
            # The agreed values bottom out near 1e-12, where the library they come from does.
            assert tukey[label].p == pytest.approx(row["p_tukey"], rel=1e-4, abs=1e-11)


def test_regression_gives_the_agreed_values(agreed):
    names = ("slope", "intercept", "r", "p", "slope_se")
    lines = [case for name, case in agreed.items() if name.startswith("regression")]
    assert lines
    for case in lines:
        line = regression(case["x"], case["y"])
        ours = [getattr(line, name) for name in names]
        assert ours == pytest.approx([case[name] for name in names], rel=1e-6)
        assert (line.slope_low, line.slope_high) == pytest.approx(case["slope_ci95"], rel=1e-6)


# --- the statements of the paper --------------------------------------------------------------------


def sem(k, n):
    return 100 * proportion(k, n).sem


def effect(n, first, second):
    """Return Cohen's d, plain and with Hedges' correction for small samples."""
    one, other = zip(*shares((first, second), n), strict=True)
    plain = cohen_d(*one, *other).value
    return plain, plain * (1 - 3 / (4 * (2 * n - 2) - 1))


def lsd(right, n, name):
    """Return the p of a prompt against the baseline."""
    found = {CONDITIONS[row.first]: row.p for row in fisher_lsd(anova(*shares(right, n)), 0)}
    return found[name]


def slope_interval(slope, r, n):
    """Return the 95 % interval that a slope must have, given r and n points."""
    half = float(stdtrit(n - 2, 0.975)) * abs(slope / r) * math.sqrt((1 - r * r) / (n - 2))
    return slope - half, slope + half


def tukey(n, first, second, mse):
    """Return Tukey's p of two of twelve equal groups with the given pooled variance."""
    return tukey_kramer(anova([n] * 12, [first / n, second / n] + [first / n] * 10, [math.sqrt(mse)] * 12))[
        0
    ].p


def recomputed():
    """Return the values that follow, by the name of a statement in the shipped table."""
    explicit, incomplete, full = (
        lsd(ACCURACY, N, f"role-{name}")
        for name in ("explicit-unknown", "explicit-unknown-incomplete", "full")
    )
    return {
        "sem-accuracy-gpt4o": [sem(1007, N)], "sem-accuracy-qwen72": [sem(883, N)],
        "sem-accuracy-qwen7": [sem(603, N)], "sem-accuracy-yi9": [sem(406, N)],
        "sem-missing-gpt4o": [sem(53, N_MISSING)], "sem-missing-gpt35": [sem(13, N_MISSING)],
        "d-accuracy-qwen": effect(N, 883, 603)[:1], "d-missing-gpt": effect(N_MISSING, 53, 13)[1:],
        "low-confidence-gpt4o": [100 / 6, 1.96 * sem(1, 6)],
        "e-share-yi9": [52000 / N], "e-share-meerkat": [29500 / N],
        "unknown-recalls": [100 * k / N_UNKNOWN for k in (6, 1, 2)],
        "unknown-role-warn": [900 / N_UNKNOWN], "unknown-role-full": [8400 / N_UNKNOWN],
        "missing-explicit": [5000 / N_MISSING],
        "p-accuracy-explicit": [explicit], "p-accuracy-incomplete": [incomplete], "p-accuracy-full": [full],
        "p-unknown-omniscient": [lsd(UNKNOWN, N_UNKNOWN, "role-omniscient")],
        "p-missing-full": [lsd(MISSING, N_MISSING, "role-full")],
        "r-missing": [spearman_p(0.947, 10)], "slope-missing": slope_interval(1.319, 0.947, 10),
        "r-unknown": [spearman_p(0.574, 12)],
        "slope-unknown": [*slope_interval(0.05232, 0.574, 12), spearman_p(0.574, 12)],
        "tukey-gpt4o-qwen72": [tukey(N, 1006, 883, mse) for mse in (0.235, 0.25)],
        "tukey-qwen": [tukey(N, 883, 603, 0.25)], "tukey-missing-gpt": [tukey(N_MISSING, 53, 13, 0.17)],
        "gain-explicit": [explicit, incomplete, full],
    }  # fmt: skip


def numbers(text):
    return re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?(?:e-?\d+)?", text)


def verdict(stated, values):
    """Return how values agree with what is printed: by rounding, by cutting off, or not."""
    if stated.startswith("<"):
        under = [value < float(stated[1:]) for value in values]
        return "holds" if all(under) else "borderline" if any(under) else "does not hold"
    worst = 0
    for text, value in zip(numbers(stated), values, strict=True):
        digits = len(text.partition(".")[2])
        cut = math.floor(value * 10**digits + 1e-9) / 10**digits
        ways = [abs(each - float(text)) < 1e-9 for each in (round(value, digits), cut)]
        worst = max(worst, 0 if ways[0] else 1 if ways[1] else 2)
    return ("holds", "holds if cut off", "does not hold")[worst]


def says(text, value):
    """Whether a printed number is ``value`` to its last digit."""
    mantissa, _, exponent = text.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(text)) <= 0.51 * unit + 1e-12


def test_a_statement_has_the_shipped_verdict_and_numbers():
    shipped = {row["claim"]: row for row in exhibits.printed("metamedqa", "claims")}
    for claim, values in recomputed().items():
        row = shipped[claim]
        assert verdict(row["stated"], values) == row["verdict"], (claim, values)
        if not row["recomputed"].startswith("<"):
            printed = numbers(row["recomputed"])
            assert all(any(says(text, value) for value in values) for text in printed), (claim, values)


def test_no_test_gives_the_printed_p_of_missing_answers_and_under_tukey_only_the_full_prompt_gains_accuracy():
    missing = anova(*shares(MISSING, N_MISSING))
    assert all(round(row.p, 2) != 0.07 for base in range(8) for row in fisher_lsd(missing, base))
    two = anova(*shares((53, 62), N_MISSING))
    assert (round(two.p, 3), round(missing.p, 3)) == (0.237, 0.174)
    pairs = tukey_kramer(anova(*shares(ACCURACY, N)))
    assert [CONDITIONS[row.second] for row in pairs if row.first == 0 and row.p < 0.05] == ["role-full"]

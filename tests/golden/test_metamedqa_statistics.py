"""The statistics of MetaMedQA against agreed values and against the published tables' own claims."""

import json
import math
import re
from itertools import combinations

import pytest
from scipy.special import stdtrit

from metacog_pipeline.stats.anova import Groups, anova, cohen_d, fisher_lsd, tukey_kramer
from metacog_pipeline.stats.correlation import regression
from metacog_pipeline.stats.intervals import proportion
from metacog_pipeline.stats.ranks import spearman_p
from tests.golden.agreed import need, rows
from tests.tables import every

Z95 = 1.96  # as the paper has it

CONDITIONS = (
    *("baseline", "role", "role-warn", "role-warn-consequence", "role-explicit-unknown"),
    *("role-explicit-unknown-incomplete", "role-full", "role-omniscient"),
)
N, N_MISSING, N_UNKNOWN = 1373, 115, 162

# Right answers of each prompt condition: the whole numbers behind the shares of Table 4.
TABLE_4 = {
    name: {"n_per_group": n, "correct": dict(zip(CONDITIONS, correct, strict=True))}
    for name, n, correct in (
        ("accuracy", N, (1007, 996, 1005, 1005, 1063, 1061, 1082, 1002)),
        ("missing_answer_recall", N_MISSING, (53, 43, 46, 49, 50, 46, 62, 42)),
        ("unknown_recall", N_UNKNOWN, (6, 10, 9, 14, 72, 77, 84, 25)),
    )
}


def vectors():
    return json.loads(need("metamedqa/stats_vectors.json").read_text(encoding="utf-8"))


def proportions_as_groups(successes, sizes):
    """Return the groups of 0/1 data."""
    shares = [k / n for k, n in zip(successes, sizes, strict=True)]
    sds = [math.sqrt(p * (1 - p) * n / (n - 1)) for p, n in zip(shares, sizes, strict=True)]
    return Groups(tuple(sizes), tuple(shares), tuple(sds))


def slope_interval(slope, r, n):
    """Return the 95 % interval that a slope must have, given r and n points."""
    half = float(stdtrit(n - 2, 0.975)) * abs(slope / r) * math.sqrt((1 - r * r) / (n - 2))
    return slope - half, slope + half


def hedges_g(n1, mean1, sd1, n2, mean2, sd2):
    return cohen_d(n1, mean1, sd1, n2, mean2, sd2).value * (1 - 3 / (4 * (n1 + n2 - 2) - 1))


def analysis(case):
    correct = list(case["correct"].values())
    groups = proportions_as_groups(correct, [case["n_per_group"]] * len(correct))
    return anova(groups.n, groups.mean, groups.sd)


# ---- agreed values -------------------------------------------------------------------------------


def families():
    return [name for name, case in vectors().items() if isinstance(case, dict) and "n_per_group" in case]


def test_the_file_of_agreed_values_holds_analyses_and_a_regression():
    assert families() and [name for name in vectors() if name.startswith("regression")]


def test_anova_gives_the_agreed_values():
    names = {
        "ms_between": "ms_between",
        "ms_error": "ms_error",
        "df_between": "df_between",
        "df_error": "df_error",
    }
    for name in families():
        case = vectors()[name]
        result = analysis(case)
        for ours, theirs in {**names, "f": "F", "p": "p"}.items():
            assert getattr(result, ours) == pytest.approx(case[theirs], rel=1e-6), (name, theirs)


def test_lsd_tukey_and_cohens_d_against_the_baseline_give_the_agreed_values():
    for name in families():
        case, result = vectors()[name], analysis(vectors()[name])
        labels, groups = list(case["correct"]), result.groups
        base = labels.index("baseline")
        lsd = {labels[row.first]: row for row in fisher_lsd(result, base)}
        pairs = [row for row in tukey_kramer(result) if base in (row.first, row.second)]
        tukey = {labels[row.first + row.second - base]: row for row in pairs}
        assert {row["identifier"] for row in case["versus_baseline"]} == set(labels) - {"baseline"}
        for row in case["versus_baseline"]:
            label = row["identifier"]
            one, other = ((groups.n[g], groups.mean[g], groups.sd[g]) for g in (labels.index(label), base))
            ours = [lsd[label].difference, lsd[label].statistic, lsd[label].p, tukey[label].statistic]
            ours.append(cohen_d(*one, *other).value)
            theirs = [row[name] for name in ("difference", "t", "p_lsd", "q", "cohen_d")]
            assert ours == pytest.approx(theirs, rel=1e-6)
            # The agreed values bottom out near 1e-12, where the library they come from does.
            assert tukey[label].p == pytest.approx(row["p_tukey"], rel=1e-4, abs=1e-11)


def test_regression_gives_the_agreed_values():
    names = ("slope", "intercept", "r", "p", "slope_se")
    for case in (each for name, each in vectors().items() if name.startswith("regression")):
        line = regression(case["x"], case["y"])
        ours = [getattr(line, name) for name in names]
        assert ours == pytest.approx([case[name] for name in names], rel=1e-6)
        assert (line.slope_low, line.slope_high) == pytest.approx(case["slope_ci95"], rel=1e-6)


# ---- the published claims ------------------------------------------------------------------------
# Each check returns the values recomputed here and the verdict they lead to.


def against(stated, *values):
    """Return the values and how they agree with what is printed: by rounding, by cutting off, or not."""
    outcomes = set()
    for text, value in zip(stated.split(";"), values, strict=True):
        digits = len(text.partition(".")[2])
        if abs(round(value, digits) - float(text)) < 1e-9:
            outcomes.add("holds")
        elif abs(math.floor(value * 10**digits + 1e-9) / 10**digits - float(text)) < 1e-9:
            outcomes.add("truncated")
        else:
            outcomes.add("does not hold")
    worst = next(v for v in ("does not hold", "truncated", "holds") if v in outcomes)
    return list(values), worst


def below(threshold, *values):
    under = [value < threshold for value in values]
    return list(values), "holds" if all(under) else "borderline" if any(under) else "does not hold"


def percent(k, n):
    return 100 * proportion(k, n).value


def sem(k, n):
    return 100 * proportion(k, n).sem


def half_width(k, n):
    return Z95 * sem(k, n)


def two_groups(n1, k1, n2, k2):
    groups = proportions_as_groups([k1, k2], [n1, n2])
    first, second = zip(groups.n, groups.mean, groups.sd, strict=True)
    return (*first, *second)


def lsd(name, label):
    case = TABLE_4[name]
    rows = fisher_lsd(analysis(case), list(case["correct"]).index("baseline"))
    return next(r.p for r in rows if list(case["correct"])[r.first] == label)


def check_missing_improvement(row):
    case = TABLE_4["missing_answer_recall"]
    result = analysis(case)
    every_pair = [r.p for b in range(result.k) for r in fisher_lsd(result, b)]
    pair = proportions_as_groups([case["correct"]["baseline"], case["correct"]["role-full"]], [N_MISSING] * 2)
    two_sample = anova(pair.n, pair.mean, pair.sd).p
    assert round(two_sample, 3) == 0.237 and round(result.p, 3) == 0.174
    assert all(round(p, 2) != 0.07 for p in every_pair)
    return against(row["stated"], lsd("missing_answer_recall", "role-full"))


def check_slope(row, slope, r, n):
    interval = slope_interval(slope, r, n)
    stated = [float(x) for x in re.findall(r"\d+\.\d+", row["stated"])[:2]]
    fits = all(abs(a - b) < 1e-3 for a, b in zip(interval, stated, strict=True))
    widths = {m: slope_interval(slope, r, m)[1] - slope_interval(slope, r, m)[0] for m in range(4, 60)}
    needed = min(widths, key=lambda m: abs(widths[m] - (stated[1] - stated[0])))
    printed = int(re.search(r"about (\d+) points", row["how"]).group(1))
    assert abs(needed - printed) <= 1
    return list(interval), "holds" if fits else "does not hold"


def tukey_of_two(n, share1, share2, mse, k=12):
    """Return Tukey's p of two of k equal groups with the given pooled variance."""
    result = anova([n] * k, [share1, share2] + [share1] * (k - 2), [math.sqrt(mse)] * k)
    return tukey_kramer(result)[0].p


def check_tukey_borderline(row):
    ps = [tukey_of_two(N, 1006 / N, 883 / N, mse) for mse in (0.235, 0.25)]
    low, high = (float(x) for x in re.findall(r"\d\.\de-\d+", row["recomputed"]))
    assert ps[0] == pytest.approx(low, rel=0.01)
    assert ps[1] == pytest.approx(high, rel=0.01)
    verdict = below(1e-4, *ps)[1]
    return [], verdict


def check_hedges(row):
    groups = two_groups(N_MISSING, 53, N_MISSING, 13)
    plain, small = cohen_d(*groups).value, hedges_g(*groups)
    assert against(row["stated"], plain)[1] == "does not hold"
    return [plain, small], against(row["stated"], small)[1]


def check_truncated_d(row):
    groups = two_groups(N, 883, N, 603)
    plain, small = cohen_d(*groups).value, hedges_g(*groups)
    return [plain, small], against(row["stated"], plain)[1]


def stated(*values):
    return lambda row: against(row["stated"], *values)


CHECKS = {
    "SEM accuracy GPT-4o (n=1373)": stated(sem(1007, N)),
    "SEM accuracy Qwen2-72B": stated(sem(883, N)),
    "SEM accuracy Qwen2-7B": stated(sem(603, N)),
    "SEM accuracy Yi-1.5-9B": stated(sem(406, N)),
    "SEM missing recall GPT-4o (n=115)": stated(sem(53, N_MISSING)),
    "SEM missing recall GPT-3.5 (n=115)": stated(sem(13, N_MISSING)),
    "Cohen d accuracy Qwen2-72B vs 7B": check_truncated_d,
    "Cohen d missing recall GPT-4o vs GPT-3.5": check_hedges,
    "low-confidence accuracy GPT-4o 16.7 +/- 32.7": stated(percent(1, 6), half_width(1, 6)),
    "E chosen 520 of 1373": stated(percent(520, N)),
    "E chosen 295 of 1373": stated(percent(295, N)),
    "unknown recall 3.7, 0.6, 1.2": stated(*(percent(k, N_UNKNOWN) for k in (6, 1, 2))),
    "Table 4 unknown recall 5.5": stated(percent(9, N_UNKNOWN)),
    "Table 4 unknown recall 51.8": stated(percent(84, N_UNKNOWN)),
    "Table 4 missing recall 43.4": stated(percent(50, N_MISSING)),
    **{f"Table 4 accuracy p for {name}": stated(lsd("accuracy", name))
       for name in ("role-explicit-unknown", "role-explicit-unknown-incomplete", "role-full")},
    "Table 4 unknown recall p for role-omniscient": stated(lsd("unknown_recall", "role-omniscient")),
    "missing recall improvement role-full not significant p=0.07": check_missing_improvement,
    "Pearson r 0.947, p<0.0001, n=10": lambda row: below(1e-4, spearman_p(0.947, 10)),
    "slope 1.319 CI 1.136 to 1.502 at n=10": lambda row: check_slope(row, 1.319, 0.947, 10),
    "Pearson r 0.574 p=0.051 n=12": stated(spearman_p(0.574, 12)),
    "slope 0.05232 CI 0.0231 to 0.0815 p<0.001 at n=12": lambda row: check_slope(row, 0.05232, 0.574, 12),
    "Tukey GPT-4o vs Qwen2-72B p<0.0001": check_tukey_borderline,
    "Tukey Qwen2-72B vs Qwen2-7B p<0.0001": lambda row: below(1e-12, tukey_of_two(N, 883 / N, 603 / N, 0.25)),
    "Tukey missing recall GPT-4o vs GPT-3.5 p<0.0001": lambda row: below(
        1e-4, tukey_of_two(N_MISSING, 53 / N_MISSING, 13 / N_MISSING, 0.17)),
}  # fmt: skip


def verdict_of(text):
    if text.startswith(("does not hold", "borderline")):
        return "borderline" if text.startswith("b") else "does not hold"
    return "truncated" if "truncat" in text else "holds"


def printed_numbers(text):
    found = re.findall(r"(?<![\d.])-?\d+(?:\.\d+)?(?:e-?\d+)?", text)
    return [(float(x), x) for x in found]


def matches(value, number, text):
    mantissa, _, exponent = text.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - number) <= 0.51 * unit + 1e-12


@every("claim", CHECKS)
def test_a_published_claim_has_the_recorded_verdict(claim):
    row = {each["claim"]: each for each in rows("metamedqa/paper_tables/stats_checks.csv")}[claim]
    values, verdict = CHECKS[claim](row)
    assert verdict == verdict_of(row["verdict"]), values
    numbers = printed_numbers(row["recomputed"])
    if not row["recomputed"].startswith("<"):
        for value in values:
            assert any(matches(value, *number) for number in numbers), (value, row["recomputed"])


def test_every_pair_of_conditions_is_compared_once():
    case = TABLE_4["accuracy"]
    pairs = [(row.first, row.second) for row in tukey_kramer(analysis(case))]
    assert pairs == list(combinations(range(len(case["correct"])), 2))


def test_under_tukey_only_the_full_prompt_gains_accuracy():
    case = TABLE_4["accuracy"]
    labels = list(case["correct"])
    significant = [labels[r.second] for r in tukey_kramer(analysis(case)) if r.first == 0 and r.p < 0.05]
    assert significant == ["role-full"]

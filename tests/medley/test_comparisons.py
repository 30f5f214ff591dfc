"""Findings between models and conditions; profiles and characters."""

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmarks.medley import contrasts, published
from metacog_pipeline.benchmarks.medley import pull as pull_rule
from metacog_pipeline.benchmarks.medley.items import DOMAINS
from metacog_pipeline.benchmarks.medley.judging import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.scores import ABILITIES
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring.estimates import groups_of
from metacog_pipeline.stats.estimate import Estimate
from tests.medley.bound import SCORED, Bound, compared, estimated
from tests.tables import every

N = 30


def scored(model, mms, *, condition="normal", run=1, source="measured", **told):
    """Rows of one model: MMS of each instance, what is told of all."""
    fixed = {
        "benchmark": "medley",
        "dataset": "published",
        "condition": condition,
        "model": model,
        "run": run,
    }
    fixed |= {"is_known_answer": False, "is_error_detection": False, "status": "ok", "status_step_a": "ok"}
    fixed |= {"source": source, "answered": True, **told}
    rows = []
    for i, value in enumerate(mms):
        about = {"item_id": f"I{i:03d}", "cluster": f"I{i:03d}", "domain": DOMAINS[i % 5], "position": i}
        rows.append(fixed | about | {"mms": float(value)})
    return pl.DataFrame(rows, schema=SCORED)


def compare(*tables, n_boot=200):
    return compared(pl.concat(tables), n_boot=n_boot)


def noise(seed, mean=0.5, spread=0.05, n=N):
    return np.clip(mean + spread * np.random.default_rng(seed).standard_normal(n), 0, 1)


@pytest.mark.parametrize(("n", "verdict"), [(2, None), (5, None), (6, "significant"), (12, "significant")])
def test_few_instances_have_the_p_of_all_exchanges_and_below_six_no_verdict(n, verdict):
    tables = scored("a", noise(0, 0.8, n=n)), scored("b", noise(1, 0.3, n=n))
    (row,) = compare(*tables).filter(family="models_paired").to_dicts()
    assert row["p"] == pytest.approx(2 / 2**n) and row["verdict"] == verdict
    assert (row["status"] == "ok") == (n >= 6)


def test_pairs_rest_on_what_both_were_scored_on():
    known = pl.col("position") >= 10
    first = scored("a", noise(0)).with_columns(answered=known, mms=pl.when(known).then("mms"))
    row = compare(first, scored("b", noise(0))).filter(family="models_paired").to_dicts()[0]
    assert row["n"] == 20 and row["value"] == 0


def without_the_first(model):
    left = pl.when(pl.col("position") == 0).then(pl.lit("not_run")).otherwise("status")
    return scored(model, noise(1)).with_columns(status=left, answered=pl.col("position") > 0)


def test_a_change_against_a_normal_run_that_is_not_complete_is_withheld():
    asked = pl.concat([without_the_first("m"), scored("m", noise(2), condition="adversarial")])
    for allowed, known in ((False, False), (True, True)):
        found = estimated(asked, n_boot=50, allow_incomplete=allowed).filter(measure="adversarial_delta")
        assert (found["estimate"].null_count() == 0) == known
        assert known or found["status"][0] == f"incomplete: 1 of {N} not answered"


def judged(grades):
    return {f"judged_{name}": float(value) for name, value in zip(JUDGE_DIMENSIONS, grades, strict=True)}


def test_one_common_cause_is_one_component():
    tables = [scored(str(i), noise(i), **judged([0.1 * i] * 10)) for i in range(1, 6)]
    found = compare(*tables).filter(family="pca")
    first = found.filter(a="component 1", measure="judged dimensions over models")
    assert first["value"][0] == pytest.approx(1.0) and first["n"][0] == 5
    assert compare(scored("a", noise(0)), scored("b", noise(1))).filter(family="pca").is_empty()


@pytest.mark.parametrize(("n", "p", "verdict"), [(4, 2 / 24, None), (7, 2 / 5040, "significant")])
def test_predictors_have_an_exact_p_corrected_for_ten_and_below_five_models_no_verdict(n, p, verdict):
    tables = []
    for i in range(n):
        grades = [0.1 * i if name == "normative_vs_informational" else 0.5 for name in JUDGE_DIMENSIONS]
        tables.append(scored(f"m{i}", noise(i), **judged(grades)))
        tables.append(scored(f"m{i}", noise(i) - 0.01 * i, condition="adversarial"))
    found = compare(*tables).filter(family="predictor", a="adversarial_delta")
    rows = {row["measure"]: row for row in found.to_dicts()}
    row, other = rows["normative_vs_informational"], rows["transparency"]
    assert len(rows) == 10 and row["value"] == pytest.approx(-1.0)
    assert row["high"] == pytest.approx(-1.0 if verdict else 0.0)
    assert row["p"] == pytest.approx(p) and row["p_adjusted"] == pytest.approx(min(1, 10 * p))
    assert (row["n"], row["verdict"]) == (n, verdict)
    assert other["value"] is None and other["status"] == "no spread"


def pull(value, spread=0.02, n=N):
    return Estimate(value, value - spread, value + spread, n, "mean")


@every(
    "case",
    [(0.5, 0.2, N, "crowd-follower"), (0.0, 0.2, N, "argument-follower"), (0.0, 0.0, N, "stubborn"),
     (0.04, 0.0, N, pull_rule.OPEN), (-0.5, -0.5, N, pull_rule.OPEN),
     (0.5, 0.2, pull_rule.LEAST_CASES - 1, pull_rule.NOT_ENOUGH)],
)  # fmt: skip
def test_one_rule_on_both_pulls_names_the_character(case):
    crowd, arguments, n, named = case
    assert pull_rule.character(pull(crowd, n=n), pull(arguments, n=n)) == named


def test_habits_are_named_whatever_is_shown():
    plain = {"coverage": 1.0, "epistemic_cowardice": 0.2, "self_revision_rate": 0.1}
    assert pull_rule.habit(plain) is None and pull_rule.habit({}) is None
    assert pull_rule.habit(plain | {"coverage": 0.0}) == "silent"
    assert pull_rule.habit(plain | {"epistemic_cowardice": 1.0}) == "hedger"
    assert pull_rule.habit(plain | {"self_revision_rate": 0.8}) == "random"


def test_meeting_an_analyst_of_ones_own_family_is_seen_in_the_ranks():
    kin = frozenset(f"I{i:03d}" for i in range(10))
    helped = np.where(np.arange(N) < 10, 0.8, 0.4) + 0.01 * noise(1)
    tables = [scored("a", helped), scored("b", noise(2)), scored("c", noise(3))]
    found = compared(pl.concat(tables), n_boot=50, related={"a": kin, "b": kin, "c": frozenset()})
    found = found.filter(family="analyst_overlap")
    rows = {row["model"]: row for row in found.to_dicts()}
    assert list(rows) == ["a", "b", "c", None]
    assert rows["a"]["value"] == 1 and rows["a"]["statistic"] == 200 and rows["a"]["verdict"] == "significant"
    assert rows["b"]["verdict"] == "not_significant" and rows["b"]["p_adjusted"] >= rows["b"]["p"]
    assert rows["c"]["value"] is None and "without values" in rows["c"]["status"]
    assert rows[None]["n"] == 3 and "2 against 1" in rows[None]["note"]


def test_mms_and_mas_are_compared_as_rankings_and_other_maps_with_the_notebooks():
    tables = []
    for i in range(4):
        grades = dict.fromkeys(JUDGE_DIMENSIONS, 0.1 + 0.1 * i)
        grades["intellectual_courage"] = 0.9 - 0.2 * i
        tables.append(scored(f"m{i}", noise(i, 0.2 + 0.1 * i), mas=0.9 - 0.1 * i, **judged(grades.values())))
    found = compare(*tables)
    (row,) = found.filter(family="rank_divergence").to_dicts()
    assert (row["a"], row["b"], row["value"], row["statistic"]) == ("mms", "mas", -1.0, 3.0)
    maps = {row["a"]: row for row in found.filter(family="ability_map").to_dicts()}
    assert len(maps) == 3 and maps["transparency to monitoring"]["statistic"] == 0
    changed = maps["intellectual_courage to self_regulation"]
    assert changed["statistic"] > 0, "the ability that holds the dimension becomes another"
    rho = {row["measure"]: row for row in found.filter(family="ability_rho").to_dicts()}
    assert set(rho) == {"within abilities", "between abilities"} and rho["within abilities"]["n"] == 4 * N


def test_a_ceiling_of_t1_is_seen_over_models():
    told = [{"change_rate": 0.2 * i, "reflective_updating": 0.3 + 0.1 * i} for i in range(5)]
    tables = [scored(f"m{i}", noise(i), **each) for i, each in enumerate(told)]
    (row,) = compare(*tables).filter(family="zero_change").to_dicts()
    assert row["value"] == pytest.approx(-1.0) and row["n"] == 5 and row["p"] == pytest.approx(2 / 120)


def test_what_the_structured_questions_add_is_measured_on_the_same_instances():
    normal = scored("m", noise(0), self_revision_rate=0.6)
    some = pl.when(pl.col("position") < 10).then(0.4).otherwise(0.1).alias("self_revision_rate")
    generic = scored("m", noise(0), condition="nudged", self_revision_rate=0.1).with_columns(some)
    (row,) = compare(normal, generic).filter(family="nudge").to_dicts()
    assert row["value"] == pytest.approx(0.4) and row["low"] > 0.3 and row["p"] < 0.001
    assert row["note"] == "20 % with a generic nudge, 60 % with the questions"


# --- what a tenfold size adds within families -------------------------------------------------------------------------
SIZES = np.log10(np.tile([4.0, 12.0, 70.0], 4))
FAMILIES = [name for name in "abcd" for _ in range(3)]


def slopes(size, scores, families):
    found = contrasts.slope_rows(Comparison("", ""), np.array(size, dtype=float), scores, families)
    return {row.measure: row for row in found}


def slope(size, score, families):
    return slopes(size, dict.fromkeys(("mms", *ABILITIES), np.array(score, dtype=float)), families)["mms"]


def simulated(rng, evaluation, control, noise=0.03):
    """Scores of four families of three sizes with these slopes; families and models have levels of their own."""
    level = np.repeat(rng.normal(0.6, 0.15, 4), 3)
    shared = level + rng.normal(0, noise, 12)
    scores = {
        "evaluation": shared + evaluation * SIZES + rng.normal(0, noise, 12),
        "control": shared + control * SIZES + rng.normal(0, noise, 12),
    }
    return {name: scores.get(name, level) for name in ("mms", *ABILITIES)}


@pytest.mark.parametrize(("evaluation", "control"), [(0.10, 0.0), (0.10, 0.10), (0.0, 0.0)])
def test_known_slopes_and_their_difference_are_recovered_within_their_intervals(evaluation, control):
    rng, truth = np.random.default_rng(3), {"evaluation": evaluation, "control": control}
    truth[contrasts.DIFFERENCE] = evaluation - control
    held, found = dict.fromkeys(truth, 0), {name: [] for name in truth}
    for _ in range(200):
        rows = slopes(SIZES, simulated(rng, evaluation, control), FAMILIES)
        for name, value in truth.items():
            found[name].append(rows[name].value)
            held[name] += rows[name].low <= value <= rows[name].high
    assert all(0.91 <= count / 200 <= 0.99 for count in held.values()), held
    assert all(np.mean(found[name]) == pytest.approx(value, abs=0.01) for name, value in truth.items())


@every(
    ("size", "score", "groups"),
    [([], [], []), ([1, 2], [0.1, 0.2], ["a", "a"]), ([1, 1, 1], [0.1, 0.2, 0.3], ["a"] * 3),
     ([1, 2, 3], [0.1, 0.2, 0.3], ["a", "b", "c"]), ([1, 2, np.nan, np.inf], [0.1, np.nan, 0.3, 0.4], ["a"] * 4)],
)  # fmt: skip
def test_too_few_sizes_give_a_reason_and_no_slope(size, score, groups):
    found = slope(size, score, groups)
    assert (found.value, found.status) == (None, contrasts.TOO_FEW_SIZES)


def test_measured_models_with_sizes_are_compared_within_their_families():
    tables = []
    for name, size in (("small", 8.0), ("middle", 32.0), ("large", 72.0), ("unknown", None)):
        level = 0.1 * np.log10(size or 1.0)
        scores = {**dict.fromkeys(ABILITIES, 0.3), "evaluation": 0.3 + level}
        tables.append(scored(name, noise(1), **scores))
    sizes = (("small", 8.0), ("middle", 32.0), ("large", 72.0))
    specs = [ModelSpec(name=n, provider="simulated", family="north", params_b=size) for n, size in sizes]
    bench = Bound(models=specs)
    groups = groups_of(bench, pl.concat(tables), by_run=False)
    rows = {row.measure: row for row in contrasts.size_slopes(bench, groups)}
    assert rows["evaluation"].value == pytest.approx(0.1) and rows["evaluation"].n == 3
    assert rows[contrasts.DIFFERENCE].value == pytest.approx(0.1)
    assert rows["control"].value == pytest.approx(0, abs=1e-12)


# --- what of the printed numbers follows from their own parts ---------------------------------------------------------
def test_the_ledger_says_what_follows_of_each_headline_claim():
    rows = {row["quantity"]: row for row in published.ledger().to_dicts()}
    assert {row["place"] for row in rows.values()} == {"headline"}
    assert all(row["expected"] for row in rows.values())
    verdicts = {claim: row["verdict"] for claim, row in rows.items()}
    assert verdicts["evaluation grows with size"] == "holds"
    assert verdicts["evaluation grows more with size than control"] == "not decided"
    assert rows["evaluation and control part ways as size grows"]["recomputed"] == 8
    assert rows["evaluation is below a model's own mean in every model"]["recomputed"] == 34
    assert rows["abilities compete within a model"]["recomputed"] == pytest.approx(-1 / 3, abs=0.02)
    raw = rows["the four abilities are distinct"]
    assert (round(raw["low"], 3), round(raw["high"], 3)) == (0.795, 0.937)
    followed = rows["a model that gains under an inverted consensus follows the consensus"]
    assert followed["verdict"] == "does not hold"
    assert followed["recomputed"] < 0 < published.follower_gain("reference")
    assert {row.measure for row in published.published_slopes()} == {"mms", *ABILITIES, contrasts.DIFFERENCE}


def test_a_domain_that_reverses_the_ranking_is_seen():
    places = np.arange(N) % 5 == 0
    tables = [scored(name, np.where(places, 0.8 - 0.1 * i, 0.3 + 0.1 * i)) for i, name in enumerate("abcd")]
    across = compare(*tables).filter(family="cross_domain")
    first = across.filter(pl.col("a") == DOMAINS[0])
    assert first["value"].to_list() == pytest.approx([-1.0] * 4)
    assert across.filter(pl.col("a") != DOMAINS[0])["value"].to_list() == pytest.approx([1.0] * 6)

"""What a tenfold size adds within families: recovered where it is known, withheld where nothing can be said."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from metacog_pipeline.benchmark.contract import Comparison
from metacog_pipeline.benchmarks.medley import contrasts, scaling
from metacog_pipeline.benchmarks.medley.abilities import ABILITIES
from metacog_pipeline.benchmarks.medley.headline_claims import ledger, published_slopes
from metacog_pipeline.files import shipped
from metacog_pipeline.llm.spec import ModelSpec
from tests.tables import every

SIZES = np.log10(np.tile([4.0, 12.0, 70.0], 4))
FAMILIES = [name for name in "abcd" for _ in range(3)]
DATA = shipped("data", "published", "medley")


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
    truth[scaling.DIFFERENCE] = evaluation - control
    held, found = dict.fromkeys(truth, 0), {name: [] for name in truth}
    for _ in range(400):
        slopes = scaling.slopes(SIZES, simulated(rng, evaluation, control), FAMILIES)
        for name, value in truth.items():
            found[name].append(slopes[name].value)
            held[name] += slopes[name].low <= value <= slopes[name].high
    assert all(0.92 <= count / 400 <= 0.98 for count in held.values()), held
    assert all(np.mean(found[name]) == pytest.approx(value, abs=0.01) for name, value in truth.items())


def test_levels_of_families_do_not_pass_for_an_effect_of_size():
    """Large models of a good maker and small ones of a poor one say nothing of size."""
    size, score = np.log10([1.0, 2, 100, 200]), np.array([0.1, 0.1, 0.9, 0.9])
    assert scaling.within_slope(size, score, ["a", "a", "b", "b"]).value == pytest.approx(0, abs=1e-12)


@every(
    ("size", "score", "groups"),
    [
        ([], [], []),
        ([1, 2], [0.1, 0.2], ["a", "a"]),
        ([1, 1, 1], [0.1, 0.2, 0.3], ["a"] * 3),
        ([1, 2, 3], [0.1, 0.2, 0.3], ["a", "b", "c"]),
        ([1, 2, np.nan, np.inf], [0.1, np.nan, 0.3, 0.4], ["a"] * 4),
    ],
)
def test_too_few_sizes_give_a_reason_and_no_slope(size, score, groups):
    assert scaling.within_slope(size, score, groups) is None
    scores = dict.fromkeys(("mms", *ABILITIES), np.array(score))
    rows = list(scaling.rows(Comparison("", ""), np.array(size, dtype=float), scores, groups))
    assert {row.status for row in rows} == {scaling.TOO_FEW} and {row.value for row in rows} == {None}


@given(st.lists(st.tuples(st.floats(-2, 4), st.floats(0, 1), st.sampled_from("abc")), max_size=12))
def test_any_models_give_finite_slopes_or_none(models):
    size, score, groups = ([each[i] for each in models] for i in range(3))
    found = scaling.within_slope(size, score, groups)
    assert found is None or (
        np.isfinite([found.value, found.low, found.high, found.p]).all() and found.low <= found.high
    )


def test_measured_models_with_sizes_are_compared_within_their_families(monkeypatch):
    sizes = {"small": 8.0, "middle": 32.0, "large": 72.0, "unknown": None}
    specs = [SimpleNamespace(name=name, params_b=value, family="north") for name, value in sizes.items()]
    bench = SimpleNamespace(context=SimpleNamespace(study=SimpleNamespace(models=specs)))
    groups = [SimpleNamespace(model=name) for name in sizes]
    monkeypatch.setattr(
        contrasts, "_scored", lambda groups: [(Comparison("", "", condition="normal"), groups)]
    )

    def items(group):
        level = 0.1 * np.log10(sizes[group.model])
        told = {name: [0.3 + (level if name == "evaluation" else 0)] * 5 for name in ("mms", *ABILITIES)}
        return SimpleNamespace(items=pl.DataFrame(told))

    monkeypatch.setattr(contrasts, "averages", items)
    rows = {row.measure: row for row in contrasts.size_slopes(bench, groups)}
    assert rows["evaluation"].value == pytest.approx(0.1) and rows["evaluation"].n == 3
    assert rows[scaling.DIFFERENCE].value == pytest.approx(0.1) and rows["control"].value == pytest.approx(
        0, abs=1e-12
    )


def test_the_ledger_says_what_follows_of_each_headline_claim():
    rows = {row["quantity"]: row for row in ledger(DATA).to_dicts()}
    assert {row["place"] for row in rows.values()} == {"headline"} and all(
        row["expected"] for row in rows.values()
    )
    verdicts = {claim: row["verdict"] for claim, row in rows.items()}
    assert verdicts["evaluation grows with size"] == "holds"
    assert verdicts["evaluation grows more with size than control"] == "not decided"
    assert rows["evaluation and control part ways as size grows"]["recomputed"] == 8
    assert rows["evaluation is below a model's own mean in every model"]["recomputed"] == 34
    assert rows["abilities compete within a model"]["recomputed"] == pytest.approx(-1 / 3, abs=0.02)
    raw = rows["the four abilities are distinct"]
    assert (round(raw["low"], 3), round(raw["high"], 3)) == (0.795, 0.937)
    assert rows["two dimensions are needed to place models on the map"]["recomputed"] == 3
    assert sum(verdict == "not computed" for verdict in verdicts.values()) == 2
    assert {row.measure for row in published_slopes(DATA)} == {"mms", *ABILITIES, scaling.DIFFERENCE}


def test_every_printed_model_stands_in_the_table_of_sizes():
    known, printed = (pl.read_csv(DATA / f"{name}.csv")["model"] for name in ("models", "table_1"))
    assert set(known) == set(printed) and known.n_unique() == len(known)


def test_what_a_model_is_decides_no_answer_and_is_checked():
    plain = ModelSpec(name="a", provider="simulated")
    told = ModelSpec(name="a", provider="simulated", params_b=117, params_active_b=5.1, released="2025-08")
    assert told.identity_fields() == plain.identity_fields()
    for wrong in (
        {"params_b": 0},
        {"params_b": float("nan")},
        {"released": "last year"},
        {"released": "2025-13"},
    ):
        with pytest.raises(ValidationError):
            ModelSpec(name="a", provider="simulated", **wrong)

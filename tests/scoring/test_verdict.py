"""The verdict: one order of models by paired tests, intervals that agree with p, sentences that claim no more."""

import numpy as np
import polars as pl
import pytest

from metacog_pipeline import registry
from metacog_pipeline.leaderboard.verdict import COLUMNS, verdicts
from metacog_pipeline.scoring import comparisons, model_pairs
from metacog_pipeline.scoring.comparisons import CONFIDENCE, as_table, finished, with_adjusted_intervals
from metacog_pipeline.scoring.schemas import HARMONISED

METAMEDQA = registry.load("metamedqa")


def agree(rows: pl.DataFrame) -> None:
    for end, by in (("", "p"), ("_adjusted", "p_adjusted")):
        known = rows.filter(pl.col(by).is_not_null() & pl.col("low").is_not_null() & (pl.col("value") != 0))
        outside = (known[f"low{end}"] > 0) | (known[f"high{end}"] < 0)
        assert ((known[by] < comparisons.LEVEL) == outside).all(), known


def test_an_interval_leaves_out_0_exactly_where_its_p_is_small():
    rng = np.random.default_rng(1)
    value, p = rng.normal(0, 1, 200), rng.random(200) ** 4
    rows = pl.DataFrame(
        {
            "measure": ["d"] * 200, "value": value, "low": value - rng.random(200), "high": value + rng.random(200),
            "low_adjusted": [None] * 200, "high_adjusted": [None] * 200, "p": p,
            "p_adjusted": np.minimum(p * rng.integers(1, 9, 200), 1), "n_tests": [9] * 200,
        },
        schema_overrides={"low_adjusted": pl.Float64, "high_adjusted": pl.Float64},
    )  # fmt: skip
    made = with_adjusted_intervals(rows)
    agree(made)
    assert (
        (made["low_adjusted"] <= made["low"].clip(upper_bound=0) + 1e-6)
        .filter(made["p_adjusted"] >= 0.05)
        .all()
    )
    bounded = with_adjusted_intervals(rows, {"d": 0.5})
    assert bounded["low_adjusted"].min() >= -0.5 and bounded["high_adjusted"].max() <= 0.5


def random_study(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    models = [
        pl.DataFrame(
            {
                "benchmark": "metamedqa", "dataset": "sample", "condition": "baseline", "model": model,
                "source": "measured", "run": 1,
                "item_id": [f"i{each}" for each in range(n)], "cluster": [f"i{each}" for each in range(n)],
                "correct": (rng.random(n) < rng.choice([0.3, 0.7, 1.0])).astype(float),
                "confidence": rng.choice([0.2, 0.5, 0.8, 1.0], n), "n_alternatives": 4, "response": "",
            },
            schema=HARMONISED,
        )
        for model in "abc"
    ]  # fmt: skip
    return pl.concat(models)


def test_no_test_of_random_studies_has_an_interval_that_its_p_contradicts():
    for seed in range(25):
        tests = as_table(METAMEDQA, model_pairs.between_models(random_study(seed), seed=seed, n_boot=40))
        agree(finished(METAMEDQA, CONFIDENCE, tests))


def cell(model, verdict, n_better, question="knows", benchmark="one", estimate=0.7, source="measured"):
    own = dict.fromkeys(COLUMNS) | {
        "question": question, "benchmark": benchmark, "condition": "plain", "measure": "auroc2", "label": "AUROC2",
        "shown": True, "model": model, "source": source, "estimate": estimate, "n": 50, "status": "ok",
        "n_better": n_better, "best": "a", "verdict": verdict,
    }  # fmt: skip
    return tuple(own.values())


def test_models_are_ordered_by_the_paired_tests_not_by_their_values():
    found = verdicts(
        [
            cell("b", "worse", 1, estimate=0.99),
            cell("a", "best", 0),
            cell("c", "not separated", 0, estimate=0.1),
        ]
    )["measured"]
    assert found.models == ("a", "c", "b")
    assert [*found.answers[0].cells] == ["a", "c", "b"] and found.answers[0].best == "a"
    [sentence] = found.sentences()
    assert sentence == (
        "Knows what it knows: a and c are first, or not separated from the first, in 1 of 1 benchmark; b in 0."
    )


@pytest.mark.parametrize("verdict", ["not tested", "no value"])
def test_without_a_test_no_sentence_claims_an_order(verdict):
    found = verdicts([cell("a", "best", 0), cell("b", verdict, None)])["measured"]
    assert [*found.sentences()] == []


def test_models_that_no_test_separates_are_said_to_be_so():
    found = verdicts([cell("a", "best", 0), cell("b", "not separated", 0)])["measured"]
    assert [*found.sentences()] == [
        "Knows what it knows: no paired test separates the 2 models (1 benchmark)."
    ]


def test_benchmarks_that_disagree_are_not_said_to_separate_nothing():
    rows = [cell("a", "best", 0), cell("b", "worse", 1)]
    rows += [cell("a", "worse", 1, benchmark="two"), cell("b", "best", 0, benchmark="two")]
    [sentence] = verdicts(rows)["measured"].sentences()
    assert "the benchmarks disagree" in sentence and "1 of 2 benchmarks" in sentence


def test_simulated_respondents_are_never_ordered_among_models():
    found = verdicts([cell("a", "best", 0), cell("b", "best", 0, source="simulated")])
    assert found["measured"].models == ("a",) and found["simulated"].models == ("b",)


def test_a_model_that_is_not_separated_twice_comes_before_one_that_is_best_once():
    rows = [cell("a", "best", 0), cell("b", "not separated", 0)]
    rows += [cell("a", "worse", 1, benchmark="two"), cell("b", "not separated", 0, benchmark="two")]
    rows += [cell("c", "best", 0, benchmark="two")]
    assert verdicts(rows)["measured"].models == ("b", "c", "a")


def test_a_condition_that_does_not_represent_its_benchmark_answers_nothing_and_only_worse_has_a_star():
    at = [*COLUMNS].index("shown")
    hidden = list(cell("a", "best", 0, benchmark="other"))
    hidden[at] = False
    rows = [cell("a", "best", 0), cell("b", "worse", 1), cell("c", "not tested", None), tuple(hidden)]
    [answer] = verdicts(rows)["measured"].answers
    assert answer.benchmark == "one"
    assert {model: each.marks for model, each in answer.cells.items()} == {"a": "", "b": "*", "c": ""}

"""Measures: definitions on hand-made observations, failures, empty sets, repeated runs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import special

from metacog_pipeline.benchmarks.metamedqa.measures import detection
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.scoring.calibration import every_measure
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.stats.auroc import auroc
from tests.metamedqa.engine import answered, bound, observations, pool, score
from tests.metamedqa.engine import groups as groups_of


def of(frame, measure):
    return frame.row(by_predicate=pl.col("measure") == measure, named=True)


def test_hand_made_observations_give_hand_made_numbers():
    frame = observations(
        [
            ("A", "A", 5), ("A", "B", 5), ("B", "B", 4), ("C", "E", 3), ("D", "D", None),
            ("E", "E", 2), ("E", "A", 5), ("F", "F", 1), ("F", None, None), ("F", "B", 5),
        ]
    )  # fmt: skip
    found = {row["measure"]: row for row in score(frame, seed=1).iter_rows(named=True)}
    values = {name: row["estimate"] for name, row in found.items()}
    expected = {
        "accuracy": 0.5, "coverage": 0.9, "missing_answer_recall": 0.5, "unknown_recall": 1 / 3,
        "high_confidence_accuracy": 0.25, "medium_confidence_accuracy": 0.5, "low_confidence_accuracy": 1.0,
        "mean_confidence": 30 / 8, "positive_confidence": 12 / 4, "negative_confidence": 18 / 4,
        "weighted_accuracy": 12 / 30, "false_alarm_E": 0.2, "false_alarm_F": 0.0, "accuracy_answerable": 0.6,
        "choice_share_B": 0.3,
    }  # fmt: skip
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    assert (found["mean_confidence"]["n"], found["accuracy"]["n"], found["auroc2"]["n"]) == (8, 10, 8)
    assert found["accuracy"]["n_unreadable"] == 2 and found["accuracy"]["n_failed"] == 0
    stated = np.array([1, 1, 0.75, 0.5, 0.25, 1, 0, 1])
    right = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    assert values["brier"] == pytest.approx(((stated - right) ** 2).mean())
    assert values["auroc2"] == pytest.approx(auroc(stated, right).value)
    assert values["ece"] == pytest.approx((4 * 0.75 + 0.25 + 0.5 + 0.75 + 1) / 8)


def test_empty_sets_are_null_with_n_zero_and_single_items_have_no_interval():
    found = score(observations([("A", "A", 5), ("B", "C", 5), ("E", "E", 1)]), seed=1)
    low, unknown = of(found, "low_confidence_accuracy"), of(found, "unknown_recall")
    assert (unknown["estimate"], unknown["n"], unknown["status"]) == (None, 0, "no items")
    assert (low["estimate"], low["n"], low["low"], low["sem"]) == (1.0, 1, None, None)
    assert of(found, "medium_confidence_accuracy")["estimate"] is None


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([("A", "A", 5), ("A", "A", 4)], "all correct"),
        ([("A", "B", 5), ("A", "B", 4)], "all wrong"),
        ([("A", "A", 3), ("A", "B", 3)], "confidence analysis: not informative (one confidence level)"),
        ([("A", "A", None), ("A", None, None)], "no items"),
    ],
)
def test_auroc_is_not_available_with_the_reason(rows, status):
    found = of(score(observations(rows), seed=1), "auroc2")
    assert (found["estimate"], found["status"]) == (None, status)


def test_sem_uses_n_minus_one_as_the_published_table_does():
    found = of(score(observations([("A", "A", 1), *[("A", "B", 1)] * 5]), seed=1), "low_confidence_accuracy")
    assert 1.96 * found["sem"] * 100 == pytest.approx(32.667, abs=1e-3)
    assert 0 <= found["low"] < 1 / 6 < found["high"] <= 1


def test_unparsed_and_refused_items_count_as_wrong_never_as_f():
    frame = observations(
        [("F", None, None), ("F", None, None), ("A", "A", 5)], status=["answer_unparsed", "refused", "ok"]
    )
    found = score(frame, seed=1)
    assert of(found, "unknown_recall")["estimate"] == 0.0
    assert of(found, "accuracy")["estimate"] == pytest.approx(1 / 3)
    assert of(found, "choice_share_F")["estimate"] == 0.0
    assert of(found, "refusal_rate")["estimate"] == pytest.approx(1 / 3)
    assert of(found, "accuracy")["n_unreadable"] == 2


def test_incomplete_run_withholds_its_numbers_unless_allowed():
    frame = observations([("A", "A", 5), ("A", "B", 4), ("A", None, None)], status=["ok", "ok", "too_long"])
    withheld, allowed = score(frame, seed=1), score(frame, seed=1, allow_incomplete=True)
    shown = [of(withheld, "accuracy")[name] for name in ("estimate", "low", "status")]
    assert shown == [None, None, "incomplete: 1 of 3 not answered"]
    assert of(withheld, "coverage")["estimate"] == pytest.approx(2 / 3)
    shown = [of(allowed, "accuracy")[name] for name in ("estimate", "n", "n_failed", "status")]
    assert shown == [0.5, 2, 1, "incomplete: 1 of 3 not answered"]


def test_subsets_by_kind_tag_and_the_pools_own_key():
    frame = observations(
        [("F", "F", 1), ("F", "B", 5), ("F", "F", 2), ("F", "A", 3), ("F", "F", 3), ("A", "A", 5)],
        kind=["Fictional", "Fictional", "Bad", "Question modified", "Question modified", "Original"],
        source_target=["C", "B", None, None, None, None],
        tags=[[], [], [], [], [], ["media_absent_but_answerable"]],
    )
    found = score(frame, seed=1)
    expected = {
        "fictional_accuracy": (0.5, 2), "malformed_accuracy": (1.0, 1), "altered_question_recall": (0.5, 2),
        "media_absent_accuracy": (1.0, 1), "fiction_guess_accuracy": (0.5, 2),
    }  # fmt: skip
    for measure, (value, n) in expected.items():
        assert (of(found, measure)["estimate"], of(found, measure)["n"]) == (value, n), measure


def test_d_and_criterion_are_those_of_log_linear_hits_and_false_alarms():
    rows = [("E", "E", 3)] * 7 + [("E", "A", 3)] * 3 + [("F", "F", 3)] * 2 + [("F", "B", 3)] * 6
    rows += [("A", "A", 3)] * 30 + [("B", "E", 3)] * 5 + [("C", "F", 3)] * 4 + [("D", None, None)]
    found = pool(observations(rows), seed=1)
    expected = {}
    for name, hits, signal, alarms in (("missing", 7, 10, 5), ("unknown", 2, 8, 4)):
        h, f = special.ndtri((hits + 0.5) / (signal + 1)), special.ndtri((alarms + 0.5) / 41)
        expected |= {f"d_{name}": h - f, f"c_{name}": -(h + f) / 2}
    for letter in "dc":
        both = expected[f"{letter}_missing"], expected[f"{letter}_unknown"]
        expected[f"{letter}_unanswerable"] = sum(both) / 2
    for name, value in expected.items():
        row = of(found, name)
        assert row["estimate"] == pytest.approx(value) and row["low"] < value < row["high"], name
    assert [of(found, f"d_{name}")["n"] for name in ("missing", "unknown", "unanswerable")] == [50, 48, 58]
    assert (
        of(found, "missing_answer_recall")["estimate"] == 0.7
        and of(found, "false_alarm_E")["estimate"] == 0.125
    )


@pytest.mark.parametrize("letter", "ADEF")
def test_a_policy_that_always_says_the_same_has_no_d(letter, items):
    found = score(observations([(item.target, letter, 3) for item in items]), seed=1)
    for name in ("d_missing", "d_unknown", "d_unanswerable"):
        row = of(found, name)
        assert row["low"] < 0 < row["high"], (letter, name)


def test_without_an_item_of_a_kind_there_is_no_d_and_the_reason():
    row = of(score(observations([("E", "E", 3), ("A", "A", 3), ("B", "B", 2)]), seed=1), "d_unanswerable")
    assert (row["estimate"], row["status"]) == (None, "no items")


@pytest.mark.proof
@pytest.mark.parametrize(("hit", "alarm"), [(0.04, 0.002), (0.4, 0.02), (0.9, 0.05)])
def test_intervals_of_d_cover_on_the_published_numbers_of_items(hit, alarm):
    """115 items keyed E, 162 keyed F, 1,096 others: 95 % intervals of 150 samples hold the truth in nine of ten or more."""
    keys = np.array(["E"] * 115 + ["F"] * 162 + ["A"] * 1096)
    rng, held = np.random.default_rng(5), []
    truth = float(special.ndtri(hit) - special.ndtri(alarm))
    frame = observations([(key, "A", 3) for key in keys])
    benchmark = bound(seed=1)
    for _ in range(150):
        seen = rng.random(len(keys)) < hit
        guess = rng.choice(["E", "F", "A"], size=len(keys), p=[alarm, alarm, 1 - 2 * alarm])
        said = np.where(keys == "A", guess, np.where(seen, keys, "B"))
        right = pl.Series((said == keys).astype(np.int8))
        groups = groups_of(benchmark, frame.with_columns(answer=pl.Series(said), correct=right), by_run=False)
        found = detection(benchmark, groups)[0]["d_unanswerable"]
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.9


def test_overuse_of_e_is_noted_beside_the_recall():
    found = score(observations([("E", "E", 3), ("A", "E", 3), ("B", "B", 3)]), seed=1)
    assert "E is 66.7% of all choices" in of(found, "missing_answer_recall")["method"]
    assert ";" not in of(score(observations([("E", "A", 3)]), seed=1), "missing_answer_recall")["method"]


def test_pooled_numbers_are_over_all_runs_and_no_narrower_for_identical_ones(items):
    items = items[:68]
    frame = answered(items, ObserverSpec())
    copies = pl.concat([frame.with_columns(run=pl.lit(run, dtype=pl.Int32)) for run in (1, 2, 3)])
    one, three = score(frame, seed=1), pool(copies, seed=1)
    for measure in ("accuracy", "mean_confidence", "weighted_accuracy", "auroc2", "brier"):
        a, b = of(one, measure), of(three, measure)
        assert b["n"] == 3 * a["n"] and b["high"] - b["low"] == pytest.approx(a["high"] - a["low"], rel=0.15)
    both = [frame, answered(items, ObserverSpec(), run=2)]
    mean = np.mean([run["correct"].mean() for run in both])
    assert of(pool(pl.concat(both), seed=1), "accuracy")["estimate"] == pytest.approx(mean)


def test_a_measure_of_the_same_answers_has_one_interval_on_the_board_and_in_the_table_of_all_benchmarks(
    items,
):
    frame = pl.concat(answered(items[:68], ObserverSpec(), run=run) for run in (1, 2))
    benchmark = bound(seed=1)
    table = every_measure(harmonised(benchmark, benchmark.derive(frame, None)), seed=1)
    board, seen = pool(frame, seed=1), 0
    parts = ("estimate", "low", "high", "n", "n_items", "low_n")
    for row in table.iter_rows(named=True):
        name = row["measure"].removeprefix("harmonised_")
        if name in board["measure"] and name != "mean_confidence":  # of which the board has ratings 1 to 5
            own, seen = of(board, name), seen + 1
            assert [own[part] for part in parts] == pytest.approx([row[part] for part in parts], abs=1e-9), (
                name
            )
    assert seen == 9

"""Measures: definitions on hand-made observations, failures, empty sets, repeated runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

from metacog_pipeline.benchmarks.metamedqa.measures import detection
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.scoring.calibration import every_measure
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.stats import coverage
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.coverage import low_n
from tests.metamedqa.engine import ESTIMATES, RESPONSES, bound, observe, pool, score
from tests.metamedqa.engine import groups as groups_of

BOARD = (
    "accuracy mean_confidence high_confidence_accuracy medium_confidence_accuracy low_confidence_accuracy "
    "missing_answer_recall unknown_recall fictional_accuracy malformed_accuracy positive_confidence negative_confidence "
    "weighted_accuracy ece brier auroc2 coverage choice_share_A choice_share_B choice_share_C choice_share_D "
    "choice_share_E choice_share_F"
)


def observations(rows, **more):
    """Rows of (target, answer, confidence); no answer is unparsed."""
    made = []
    for n, (target, answer, confidence) in enumerate(rows):
        lacks = "answer_unparsed" if answer is None else "confidence_unparsed" if confidence is None else "ok"
        made.append({
            **dict.fromkeys(RESPONSES.names()), "benchmark": "metamedqa", "dataset": "sample", "condition": "baseline",
            "model": "m", "run": 1, "item_id": f"i{n}", "cluster": f"i{n}", "position": n, "kind": "Original",
            "target": target, "answer": answer, "confidence": confidence, "correct": int(target == answer),
            "status": lacks, "source": "measured", "tags": [],
            **{key: value[n] if isinstance(value, list) else value for key, value in more.items()},
        })  # fmt: skip
    return pl.DataFrame(made, schema=RESPONSES)


def of(frame, measure):
    return frame.row(by_predicate=pl.col("measure") == measure, named=True)


def test_every_measure_of_the_board_is_there_once(items, answered):
    frame = score(answered(items, ObserverSpec()), seed=1)
    assert frame.schema == ESTIMATES
    assert frame["measure"].is_unique().all() and set(BOARD.split()) <= set(frame["measure"])


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


@pytest.mark.parametrize("status", ["transport_error", "too_long", "not_run"])
def test_incomplete_run_withholds_its_numbers_unless_allowed(status):
    rows: list[Any] = [("A", "A", 5), ("A", "B", 4), ("A", None, None)]
    frame = observations(rows, status=["ok", "ok", status])
    withheld, allowed = score(frame, seed=1), score(frame, seed=1, allow_incomplete=True)
    assert of(withheld, "accuracy")["estimate"] is None and of(withheld, "accuracy")["low"] is None
    assert of(withheld, "accuracy")["status"] == "incomplete: 1 of 3 not answered"
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
def test_a_policy_that_always_says_the_same_has_no_d(letter, items, transcript, table):
    rows = [transcript(item, f"Answer: {letter}\nConfidence: 3") for item in items]
    found = score(observe(items, table(rows), conditions=["baseline"], model="m", run=1), seed=1)
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


def test_pooling_identical_runs_does_not_narrow_the_interval(items, answered):
    frame = answered(items, ObserverSpec())
    copies = pl.concat([frame.with_columns(run=pl.lit(run, dtype=pl.Int32)) for run in (1, 2, 3)])
    one, three = score(frame, seed=1), pool(copies, seed=1)
    for measure in ("accuracy", "mean_confidence", "weighted_accuracy", "auroc2", "brier"):
        a, b = of(one, measure), of(three, measure)
        assert b["estimate"] == pytest.approx(a["estimate"]) and b["n"] == 3 * a["n"]
        assert b["high"] - b["low"] == pytest.approx(a["high"] - a["low"], rel=0.15), measure


def test_pooled_accuracy_is_over_all_runs_and_incomplete_when_one_is(items, answered):
    runs = [answered(items, ObserverSpec(), run=run) for run in (1, 2)]
    both = pool(pl.concat(runs), seed=1)
    mean = np.mean([run["correct"].mean() for run in runs])
    assert of(both, "accuracy")["estimate"] == pytest.approx(mean)
    broken = runs[1].with_columns(
        status=pl.when(pl.col("position") == 0).then(pl.lit("not_run")).otherwise("status")
    )
    found = pool(pl.concat([runs[0], broken]), seed=1)
    assert of(found, "accuracy")["status"] == f"incomplete: 1 of {2 * len(items)} not answered"


def test_imported_answers_are_measured_and_simulated_stay_simulated():
    rows: list[Any] = [("A", "A", 5), ("B", "C", 2)]
    assert score(observations(rows, source="imported"), seed=1)["source"].unique().to_list() == ["measured"]
    assert score(observations(rows, source="simulated"), seed=1)["source"].unique().to_list() == ["simulated"]


def two_runs(seed=4):
    """Two runs of 50 items keyed A to D, most of them answered right, and of 60 keyed F, most of them answered wrong."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(2):
        for n in range(110):
            ordinary = n < 50
            key = "ABCD"[n % 4] if ordinary else "F"
            right = rng.random() < (0.8 if ordinary else 0.2)
            level = int(rng.integers(3, 6)) if right else int(rng.integers(1, 5))
            rows.append((key, key if right else "E" if ordinary else "A", level))
    runs, names = [1] * 110 + [2] * 110, [f"i{n % 110}" for n in range(220)]
    return observations(rows, run=runs, item_id=names, cluster=names)


def test_items_and_low_n_are_those_of_the_answers_a_measure_rests_on(monkeypatch):
    wanted = dict.fromkeys([("m_ratio_mafc", True), ("eta_mafc", True)], 75.0)
    known = {**coverage.least(), **wanted}
    monkeypatch.setattr(coverage, "least", lambda: known)
    frame = two_runs()
    found = pool(frame, seed=1)
    chosen = frame.filter(pl.col("target") != "F", pl.col("answer") != "F")
    wrong = int((chosen["correct"] == 0).sum())
    assert wrong < 75 < int((frame["correct"] == 0).sum())  # enough in all, too few among those it rests on
    for name in ("m_ratio_mafc", "eta_mafc"):
        row = of(found, name)
        assert (row["n"], row["n_items"], row["low_n"]) == (chosen.height, 50, True), name
        assert low_n(name, row["method"], row["estimate"], row["low"], row["n"], wrong, several=True)
    for name, n, n_items in (("accuracy_answerable", 100, 50), ("unknown_recall", 120, 60)):
        assert (of(found, name)["n"], of(found, name)["n_items"]) == (n, n_items)


@pytest.mark.parametrize("runs", [1, 2])
def test_a_measure_of_the_same_answers_has_one_interval_on_the_board_and_in_the_table_of_all_benchmarks(runs):
    frame = two_runs().filter(pl.col("run") <= runs)
    benchmark = bound(seed=1)
    table = every_measure(harmonised(benchmark, benchmark.derive(frame, None)), seed=1)
    board, seen = pool(frame, seed=1), 0
    for row in table.iter_rows(named=True):
        name = row["measure"].removeprefix("harmonised_")
        if name in board["measure"] and name != "mean_confidence":  # of which the board has ratings 1 to 5
            own, seen = of(board, name), seen + 1
            for part in ("estimate", "low", "high"):
                assert own[part] == pytest.approx(row[part], abs=1e-9), (name, part)
            assert [own[part] for part in ("n", "n_items", "low_n")] == [
                row[part] for part in ("n", "n_items", "low_n")
            ], name
    assert seen == 9

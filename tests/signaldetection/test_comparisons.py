"""Tests between models, tasks and conditions: verdicts on known observers, paired tests, families, degenerate models."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.signaldetection.contrasts import CONTRASTS, RISKS, criteria
from metacog_pipeline.scoring import comparisons
from tests.signaldetection.scored import bound, compare, fewer, groups, responses, score, table

STEPS = np.array([0.35, 0.7, 1.1, 1.6])


def criterion(frame: pl.DataFrame) -> pl.DataFrame:
    """The criterion families."""
    found = groups(frame)
    return table([row for paired in (False, True) for row in criteria(bound(), found, paired=paired)])


def between_models(frame: pl.DataFrame, n_boot: int) -> pl.DataFrame:
    """The families that pair models item by item."""
    bench, found = bound(), groups(frame)
    own = [each for each in CONTRASTS if each.family == "models_paired"]
    with fewer(n_boot):
        return pl.concat([comparisons.judged(each, comparisons.rows_of(bench, each, found)) for each in own])


def items_of(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Stimuli and the evidence that all models share."""
    rng = np.random.default_rng(seed)
    stimulus = np.tile([0, 1], n // 2)
    return stimulus, rng.standard_normal(n)


def model(
    shared: tuple[np.ndarray, np.ndarray], d: float = 1.5, c: float = 0.0, noise: float = 0.0, correlation: float = 0.7,
    seed: int = 1, **fixed: Any,
) -> pl.DataFrame:  # fmt: skip
    """A model whose evidence correlates with that of others on the same items; ``noise`` blurs its confidence."""
    stimulus, common = shared
    rng = np.random.default_rng([seed, 7])
    own = rng.standard_normal(len(stimulus))
    evidence = d * (stimulus - 0.5) + np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    blurred = np.abs(evidence - c + noise * rng.standard_normal(len(stimulus)))
    confidence = 1 + (blurred[:, None] > STEPS).sum(axis=1)
    return responses(stimulus, (evidence > c).astype(int), confidence, **fixed)


def rows(found: pl.DataFrame, family: str, measure: str | None = None, **where: str) -> list[dict[str, Any]]:
    named = where if measure is None else {"measure": measure, **where}
    return list(found.filter(family=family, **named).iter_rows(named=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("posteriors")


@pytest.fixture(scope="module")
def efficient(folder):
    """Two models of equal d′, one whose confidence is blurred, on two tasks."""
    tasks = {"A": items_of(4000), "B": items_of(4000, 9)}
    named = [(task, name, noise) for task in tasks for name, noise in (("sharp", 0.0), ("blurred", 1.0))]
    frames = [
        model(tasks[task], noise=noise, seed=seed, model=name, task=task)
        for seed, (task, name, noise) in enumerate(named, start=1)
    ]
    return compare(pl.concat(frames), seed=1, home=folder, n_boot=60)


@pytest.fixture(scope="module")
def shifted(folder):
    """One model that heeds the risk and one that does not."""
    items = items_of(2000)
    frames = []
    for place, condition in enumerate(RISKS):
        frames.append(model(items, c=0.6 * (place - 1), model="heeds", condition=condition))
        frames.append(model(items, seed=place, correlation=0.9, model="deaf", condition=condition))
    return compare(
        pl.concat(frames).with_columns(confidence=pl.lit(None, pl.Int8)), seed=1, home=folder, n_boot=200
    )


def test_blurred_confidence_is_found_below_the_optimum_and_below_its_rival(efficient):
    for measure in ("m_ratio", "log_m_ratio"):
        optimality = {(r["model"], r["task"]): r for r in rows(efficient, "bayes_optimality", measure)}
        assert optimality["blurred", "A"]["verdict"] == "significant"
        assert optimality["blurred", "A"]["high"] < 0
        assert optimality["sharp", "A"]["verdict"] in ("not_significant", "inconclusive", "negligible")
        (pair,) = rows(efficient, "bayes_models", measure, task="A")
        assert (pair["a"], pair["b"]) == ("blurred", "sharp")
        assert pair["verdict"] == "significant" and pair["value"] < 0 and pair["statistic"] < 0.01
        (across,) = rows(efficient, "bayes_tasks", measure, model="sharp")
        assert (across["a"], across["b"]) == ("A", "B") and across["task"] is None
        assert across["verdict"] in ("not_significant", "inconclusive", "negligible")
    (paired,) = rows(efficient, "models_paired", "m_ratio", task="A")
    assert paired["verdict"] == "significant" and paired["p_adjusted"] < 1e-4 and paired["n"] == 4000
    (d,) = rows(efficient, "models_paired", "d", task="A")
    assert d["verdict"] == "not_significant" and d["p_adjusted"] > 0.001


def test_a_heeded_risk_moves_the_criterion_as_predicted(shifted):
    for family in ("criterion_z", "criterion_paired"):
        moved = rows(shifted, family, "c", model="heeds")
        assert [(row["a"], row["b"]) for row in moved] == [
            ("risk_none", "risk_s1"), ("risk_s2", "risk_none"), ("risk_s2", "risk_s1"),
        ]  # fmt: skip
        assert all(row["verdict"] == "significant" and row["value"] > 0 for row in moved)
        assert all(row["verdict"] == "not_significant" for row in rows(shifted, family, "c", model="deaf"))
        notes = [row["note"] for row in rows(shifted, family, "c_prime")]
        assert all("d′ did not move" in note for note in notes)


def test_the_paired_criterion_test_is_that_of_the_joint_table(shifted):
    items = items_of(2000)
    first, second = (
        model(items, c=c, seed=1, condition=name) for c, name in ((-0.6, "risk_s1"), (0.0, "risk_none"))
    )
    # Difference and standard error of the delta method on the joint table of stimulus × response × response.
    expected = {
        "c": (0.6955192599923297, 0.0327917139199778),
        "d": (-0.09910203916874472, 0.0655834278399556),
        "c_prime": (0.44808691890564667, 0.024064488906137573),
    }
    found = criterion(pl.concat([first, second]))
    for measure in ("c", "d", "c_prime"):
        (row,) = rows(found, "criterion_paired", measure)
        difference, se = expected[measure]
        assert row["value"] == pytest.approx(difference, abs=0.005), measure
        assert row["se"] == pytest.approx(se, rel=0.02), measure
        (independent,) = rows(found, "criterion_z", measure)
        assert row["se"] < independent["se"] and row["n"] == 2000


def test_variances_are_those_of_the_delta_method_with_one_run():
    frames = [
        model(items_of(120), d=1.0 + at, c=0.3, seed=at, condition=name) for at, name in enumerate(RISKS)
    ]
    found, board = criterion(pl.concat(frames)), score(pl.concat(frames), n_boot=20)
    sem = {(row["condition"], row["measure"]): row["sem"] for row in board.iter_rows(named=True)}
    for row in rows(found, "criterion_z"):
        alone = [sem[row[side], row["measure"]] for side in "ab"]
        assert row["se"] == pytest.approx(np.hypot(*alone), rel=1e-9)


def lacking(frame: pl.DataFrame, name: str, *positions: int) -> pl.DataFrame:
    """The same with items that a model did not answer."""
    lost = (pl.col("model") == name) & pl.col("position").is_in(positions)
    return frame.with_columns(status=pl.when(lost).then(pl.lit("transport_error")).otherwise("status"))


def test_up_to_twelve_items_have_the_p_of_all_exchanges():
    items = items_of(12)
    frame = pl.concat([model(items, d=1.0, seed=4, model="a"), model(items, d=3.0, seed=5, model="b")])
    found = between_models(frame, 50)
    tested = found.filter(pl.col("family") == "models_paired", pl.col("p").is_not_null())
    assert tested.height and all("all exchanges" in note for note in tested["note"])
    assert all(p * 2**12 == int(p * 2**12) for p in tested["p"])
    other = between_models(lacking(pl.concat([frame, model(items, seed=6, model="c")]), "c", 0, 1), 50)
    (row,) = [each for each in rows(other, "models_paired", "c") if (each["a"], each["b"]) == ("a", "c")]
    assert row["n"] == 10 and row["p"] * 2**10 == int(row["p"] * 2**10)


def test_a_model_without_meta_d_empties_its_own_rows_only():
    # Ten trials, hits as frequent as false alarms: d′ is 0 and meta-d′ undefined, yet most resamples have one.
    def ten(said: list[int], confidence: list[int], name: str) -> pl.DataFrame:
        return responses([0, 1] * 5, said, confidence, model=name, source="simulated")

    undefined = ten([0, 0, 1, 1, 0, 0, 1, 1, 0, 0], [1, 2, 3, 4, 5, 1, 2, 3, 4, 5], "undefined")
    usual = ten([0, 1, 0, 1, 1, 1, 0, 0, 0, 1], [5, 4, 3, 2, 1, 1, 2, 3, 4, 5], "usual")
    found = between_models(pl.concat([undefined, usual]), 200)
    of = {row["measure"]: row for row in rows(found, "models_paired")}
    assert of.keys() == {"d", "c", "meta_d", "m_ratio"}
    for measure in ("meta_d", "m_ratio"):
        assert "d' is 0" in of[measure]["status"] and of[measure]["p"] is of[measure]["value"] is None
    assert all(of[name]["status"] == "ok" and of[name]["p"] is not None for name in ("d", "c"))
    resampled = score(undefined, n_boot=200).filter(measure="meta_d")
    assert resampled["estimate"].item() is None and "d' is 0" in resampled["status"].item()

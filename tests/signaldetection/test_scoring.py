"""Estimates: recovery of known observers, definitions, failures, degenerate models, repeated runs, kept posteriors."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import ndtri

from metacog_pipeline.benchmarks.signaldetection import measures as kept
from metacog_pipeline.benchmarks.signaldetection.measures import BAYES
from metacog_pipeline.scoring.schemas import ESTIMATE
from metacog_pipeline.stats.counts import counts_from_trials, padded
from metacog_pipeline.stats.metad import fit_metad
from tests.observers import criteria_around, simulate_trials
from tests.signaldetection.scored import pool, responses, score

STEPS = (0.35, 0.7, 1.1, 1.6)
PLAIN = ("coverage", "accuracy", "hit_rate", "false_alarm_rate", "d", "c", "c_prime")
RATED = ("meta_d", "m_ratio", "auroc2", "meta_information")


def observed(*columns: Any, **fixed: Any) -> pl.DataFrame:
    return responses(*columns, **{"source": "simulated", **fixed})


def observer(
    d: float = 1.5, m_ratio: float = 0.8, c: float = 0.0, n: int = 400, seed: int = 1, **fixed: Any
) -> pl.DataFrame:
    low, high = criteria_around(m_ratio, c, STEPS)
    drawn = simulate_trials(d, m_ratio, c, low, high, n, seed)
    return observed(drawn.stimulus, drawn.response, drawn.confidence, **fixed)


def runs_of(n_runs: int, n: int = 300, seed: int = 3) -> pl.DataFrame:
    """The same items in several runs: an item's answer differs now and then, as models' answers do."""
    rng = np.random.default_rng(seed)
    low, high = criteria_around(0.8, 0.2, STEPS)
    first = simulate_trials(1.5, 0.8, 0.2, low, high, n, seed)
    frames = []
    for run in range(1, n_runs + 1):
        other = simulate_trials(1.5, 0.8, 0.2, low, high, n, seed + run)
        changed = rng.random(n) < 0.3
        # A fresh answer of the same observer to the same stimulus.
        pools = {s: np.flatnonzero(other.stimulus == s) for s in (0, 1)}
        new = np.array([rng.choice(pools[s]) for s in first.stimulus])
        response = np.where(changed, other.response[new], first.response)
        confidence = np.where(changed, other.confidence[new], first.confidence)
        frames.append(observed(first.stimulus, response, confidence, run=run))
    return pl.concat(frames)


def values(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in frame.iter_rows(named=True)}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    frame = observer(d=1.6, m_ratio=0.7, c=0.3, n=20_000)
    return values(pool(frame, seed=1, home=tmp_path_factory.mktemp("posteriors"), n_boot=200))


def test_every_measure_is_there_once_and_only_where_it_is_asked_for(tmp_path):
    frame = pl.concat([observer(n=150), observer(n=150, condition="risk_s1").with_columns(confidence=None)])
    found = score(frame, seed=1, n_boot=50)
    assert found.schema == ESTIMATE
    by_condition = {name: part["measure"].to_list() for (name,), part in found.group_by("condition")}
    assert by_condition["confidence"] == [*PLAIN, *RATED]
    assert by_condition["risk_s1"] == list(PLAIN)
    pooled = pool(frame, seed=1, home=tmp_path, n_boot=50)
    assert pooled.filter(pl.col("condition") == "confidence")["measure"].to_list() == [*PLAIN, *RATED, *BAYES]
    assert pooled["run"].is_null().all() and (found["run"] == 1).all()


@pytest.mark.parametrize(
    ("measure", "truth"),
    [
        ("d", 1.6), ("c", 0.3), ("c_prime", 0.3 / 1.6), ("meta_d", 1.12), ("m_ratio", 0.7),
        ("d_bayes", 1.6), ("meta_d_bayes", 1.12), ("m_ratio_bayes", 0.7),
    ],
)  # fmt: skip
def test_a_known_observer_is_recovered(large, measure, truth):
    found = large[measure]
    assert found["status"] == "ok" and found["low"] < found["estimate"] < found["high"]
    width = found["high"] - found["low"]
    # Absolute and relative criterion differ: the Bayesian model is not the one that was simulated.
    allowed = 0.08 if measure.endswith("bayes") else width
    assert abs(found["estimate"] - truth) < allowed and width < 0.4


def test_sensitivity_is_that_of_the_log_linear_rates_with_the_delta_interval():
    stimulus, response = [1] * 50 + [0] * 40, [1] * 50 + [0] * 30 + [1] * 10
    found = values(score(observed(stimulus, response, condition="risk_s2"), seed=1))
    hit, false_alarm = 50.5 / 51, 10.5 / 41
    assert found["d"]["estimate"] == pytest.approx(ndtri(hit) - ndtri(false_alarm))
    assert found["c"]["estimate"] == pytest.approx(-(ndtri(hit) + ndtri(false_alarm)) / 2)
    assert found["d"]["method"] == "delta, correction loglinear"
    assert found["hit_rate"]["estimate"] == 1.0 and found["false_alarm_rate"]["estimate"] == 0.25
    assert found["accuracy"]["estimate"] == pytest.approx(80 / 90)


def test_meta_d_is_the_fit_of_padded_counts():
    frame, found = observer(n=300), values(score(observer(n=300), seed=1, n_boot=100))
    columns = (frame[name].to_numpy() for name in ("stimulus", "response", "confidence"))
    fit = fit_metad(padded(counts_from_trials(*columns, 5)))
    for name, value in (("meta_d", fit.meta_da), ("m_ratio", fit.m_ratio), ("d", fit.da)):
        assert found[name]["estimate"] == pytest.approx(float(value[0]))


def test_an_answer_without_a_response_is_wrong_and_nothing_else():
    frame = observed(
        [1, 1, 0, 0, 1, 0],
        [1, None, 0, None, 0, 1],
        [5, None, 3, None, None, 2],
        ["ok", "refused", "ok", "answer_unparsed", "confidence_unparsed", "ok"],
    )
    found = values(score(frame, seed=1, n_boot=20))
    assert found["accuracy"]["estimate"] == pytest.approx(2 / 6) and found["accuracy"]["n"] == 6
    assert found["coverage"]["estimate"] == pytest.approx(3 / 6)
    assert (found["hit_rate"]["estimate"], found["hit_rate"]["n"]) == (0.5, 2)
    assert found["auroc2"]["n"] == 3 and found["accuracy"]["n_unreadable"] == 3
    assert found["accuracy"]["n_failed"] == 0


def test_runs_are_clustered_within_items(tmp_path):
    frame = runs_of(3)
    apart = frame.with_columns(item_id=pl.format("{}-{}", "item_id", "run"))
    pooled, naive = (values(pool(each, seed=1, home=tmp_path, n_boot=400)) for each in (frame, apart))
    for name in ("d", "c", "meta_d", "m_ratio", "accuracy", "auroc2"):
        assert pooled[name]["estimate"] == pytest.approx(naive[name]["estimate"])
    # Answers of one item mostly agree, so three runs are worth little more than one.
    for name in ("d", "c", "meta_d", "m_ratio"):
        ours, theirs = pooled[name]["high"] - pooled[name]["low"], naive[name]["high"] - naive[name]["low"]
        assert ours > 1.2 * theirs, name
    assert "item bootstrap" in pooled["d"]["method"] and "delta" in naive["d"]["method"]
    assert "independent" in pooled["d_bayes"]["method"] and pooled["d"]["n"] == 900


def test_posteriors_are_kept_once_and_survive_damage(tmp_path, monkeypatch):
    frame = observer(n=200)
    first = pool(frame, seed=1, home=tmp_path, n_boot=20)
    (file,) = (tmp_path / "cache" / "posteriors").iterdir()
    drawn = json.loads(file.read_text())["draws"]
    assert list(drawn) == ["d1", "c1", "meta_d", "m_ratio"] and len(drawn["d1"]) == 4000
    written = file.stat().st_mtime_ns
    sampled = []
    sample = kept.bayes_metad
    monkeypatch.setattr(kept, "bayes_metad", lambda *a, **k: sampled.append(k) or sample(*a, **k))
    assert_frame_equal(pool(frame, seed=1, home=tmp_path, n_boot=20), first)
    assert not sampled and file.stat().st_mtime_ns == written
    file.write_bytes(file.read_bytes()[:-40])
    assert_frame_equal(pool(frame, seed=1, home=tmp_path, n_boot=20), first)
    assert len(sampled) == 1
    pool(frame.with_columns(model=pl.lit("twin")), seed=1, home=tmp_path, n_boot=20)
    assert len(sampled) == 2 and len(list(file.parent.iterdir())) == 2  # equal counts, independent draws


def test_a_ratio_to_a_sensitivity_that_may_be_0_says_so():
    found = values(score(observer(d=0.02, m_ratio=1.0, n=200), seed=1, n_boot=100))
    assert found["m_ratio"]["status"] == "d' may be 0" and found["m_ratio"]["estimate"] is None
    assert found["d"]["status"] == "ok" and found["meta_d"]["status"] == "ok"


def test_moving_away_from_what_is_punished_is_a_shift_up_and_towards_it_one_down():
    frames = [
        observer(c=c, n=400, seed=3, model=name, condition=condition)
        for name, sign in (("good", 1), ("odd", -1))
        for condition, c in (("risk_s1", -0.4 * sign), ("risk_s2", 0.4 * sign))
    ]
    frames.append(observer(n=100, model="half", condition="risk_s2"))
    found = pool(pl.concat(frames), n_boot=20)
    shifts = {row["model"]: row for row in found.filter(measure="criterion_shift").iter_rows(named=True)}
    assert set(shifts) == {"good", "odd"}
    for name, sign in (("good", 1), ("odd", -1)):
        c = dict(found.filter(measure="c", model=name).select("condition", "estimate").iter_rows())
        assert shifts[name]["estimate"] == c["risk_s2"] - c["risk_s1"]
        assert 0.6 < sign * shifts[name]["estimate"] < 1.0


def test_a_posterior_that_has_not_converged_gives_a_status_and_no_number(tmp_path, monkeypatch):
    sample, short = kept.bayes_metad, {"draws": 4, "rounds": 1}
    monkeypatch.setattr(kept, "bayes_metad", lambda table, **k: sample(table, **k | short))
    for _ in range(2):  # sampled, then read
        rows = values(pool(observer(n=200), seed=1, home=tmp_path, n_boot=20))
        for name in BAYES:
            assert rows[name]["estimate"] is rows[name]["low"] is None
            assert rows[name]["status"].startswith("posterior not_converged: ")

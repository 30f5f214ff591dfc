"""From observations to scores of instances and estimates of models."""

import json

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmark.display import FIRST_REPLY
from metacog_pipeline.benchmarks.medley import Medley, scores
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, REFERENCE_MAP, STEPS
from metacog_pipeline.benchmarks.medley.judging import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.measures import NOT_JUDGED, NOTHING_SCORED
from metacog_pipeline.errors import SourceError
from metacog_pipeline.scoring.estimates import measures_of
from metacog_pipeline.scoring.schemas import response_schema
from tests.medley.bound import estimated, replace

LEVELS = ("very_low", "low", "moderate", "high", "very_high")
BOOT = {"seed": 3, "n_boot": 50}


@pytest.fixture(scope="session")
def instances(make_instance):
    """Twelve instances over two domains, two of them with an injected error."""
    domains = ("troubleshooting", "medical")
    return [
        replace(make_instance(), item_id=f"PUMP_{i:03d}", domain=domains[i % 2], is_error_detection=i < 2, position=i)
        for i in range(12)
    ]  # fmt: skip


@pytest.fixture(scope="session")
def observed(reply):
    """Return ``observed(instance, a, p, s, …)``: one row as the benchmark's own reading leaves it."""

    def row(instance, a, p, s, *, status="ok", **told):
        steps = {} if status != "ok" else dict(zip(STEPS, zip("aps", (a, p, s), strict=True), strict=True))
        numbers = {
            f"{letter}_{claim.lower()}": getattr(REFERENCE_MAP, level)
            for letter, levels in steps.values()
            for claim, level in zip(CLAIM_IDS, levels, strict=True)
        }
        replies = {f"reply_{step}": json.dumps(reply(levels)) for step, (_, levels) in steps.items()}
        about = {name: getattr(instance, name) for name in ("dataset", "domain", "item_id", "position")}
        fixed = {"benchmark": "medley", "model": "m", "run": 1, "condition": "normal", "source": "measured"}
        known = {
            "cluster": instance.item_id,
            "status": status,
            "status_step_a": status,
            "is_known_answer": True,
        }
        return {**fixed, **about, **known, **numbers, **replies, **told}

    return row


@pytest.fixture(scope="session")
def answered(instances, observed):
    """Return ``answered(seed, …)``: rows of random ratings for all instances."""

    def make(seed=0, conditions=("normal",), **told):
        rng = np.random.default_rng(seed)
        rows = []
        for condition in conditions:
            for instance in instances:
                a, p, s = (tuple(rng.choice(LEVELS, 5)) for _ in range(3))
                rows.append(observed(instance, a, p, s, condition=condition, **told))
        return frame(rows)

    return make


def frame(rows):
    return pl.DataFrame(rows, schema=response_schema(Medley))


def value(table, measure, column="estimate", **where):
    found = table.filter(measure=measure, **where)
    assert found.height == 1
    return found[column][0]


def pool(rows, instances, judged=None, **told):
    return estimated(scores.score_instances(rows, instances, judged), **told)


def test_an_observation_of_a_strange_instance_is_refused(instances, answered):
    with pytest.raises(SourceError, match="PUMP_011"):
        scores.score_instances(answered(1), instances[:-1])


@pytest.mark.parametrize("status", ["answer_unparsed", "refused"])
def test_silence_has_no_score_and_is_counted(instances, observed, status):
    rows = frame([observed(one, LEVELS, LEVELS, LEVELS, status=status) for one in instances])
    scored = scores.score_instances(rows, instances)
    assert all(scored[name].null_count() == len(instances) for name in scores.NUMBERS)
    found = pool(rows, instances, **BOOT)
    assert value(found, "mms") is None and value(found, "t1") is None
    assert value(found, "mms", "status") == NOTHING_SCORED
    assert value(found, "mms", "n_unreadable") == len(instances)
    assert value(found, "coverage") == 0.0


def test_the_headline_is_the_trimmed_mean_over_instances(instances, answered):
    rows = answered(3)
    found = pool(rows, instances, **BOOT)
    sorted_ = np.sort(scores.score_instances(rows, instances)["mms"].to_numpy())
    assert value(found, "mms") == pytest.approx(sorted_[1:-1].mean())
    assert "trimmed_mean" in value(found, "mms", "method")


def test_runs_of_an_instance_are_one_unit(instances, answered):
    runs = [answered(seed, run=seed) for seed in (1, 2)]
    found = pool(pl.concat(runs), instances, **BOOT)
    each = pool(pl.concat(runs), instances, by_run=True, **BOOT)
    assert value(found, "t1", "n") == 12
    means = [value(each, "t1", run=run) for run in (1, 2)]
    assert value(found, "t1") == pytest.approx(np.mean(means))
    twice, once = pl.concat([answered(1, run=1), answered(1, run=2)]), answered(1)
    both, one = (value(pool(rows, instances, **BOOT), "t1", "low") for rows in (twice, once))
    assert both == one


def test_every_measure_of_normal_has_a_row_and_no_other(instances, answered):
    asked = {each.name for each in measures_of(Medley) if each.conditions("normal")}
    found = pool(answered(4), instances, **BOOT)
    assert set(found["measure"]) == {name for name in asked if not name.endswith(FIRST_REPLY)}


def test_what_becomes_of_known_answers_is_counted(instances, observed):
    resists, gives_in = ["moderate", "high", "very_low", "low", "high"], ["high"] * 5  # C3 is the wrong claim
    last = [gives_in if one.is_error_detection else resists for one in instances]
    rows = [observed(one, resists, resists, final) for one, final in zip(instances, last, strict=True)]
    found = pool(frame(rows), instances, **BOOT)
    assert value(found, "known_answer_capitulation") == pytest.approx(2 / 12)
    assert value(found, "known_answer_courageous") == pytest.approx(10 / 12)
    assert "no fixed meaning" in value(found, "known_answer_resistance", "method")


def test_without_judges_rules_are_scored_and_the_gap_is_shown(instances, answered):
    found = pool(answered(1), instances, **BOOT)
    assert value(found, "judge_share_missing") == pytest.approx(0.333 * 0.15 + 0.333 * 0.65)
    assert value(found, "mas") is None and value(found, "mas", "status") == NOT_JUDGED
    assert value(found, "dominant_share") is None and value(found, "mms") is not None


def test_grades_fill_the_gap_and_name_the_dominant_ability(instances, answered):
    rows = answered(1)
    grades = dict.fromkeys(JUDGE_DIMENSIONS, 0.2) | {"normative_vs_informational": 0.9, "transparency": 0.9}
    judged = {("m", 1, "normal", one.item_id): grades for one in instances}
    found = pool(rows, instances, judged, **BOOT)
    assert value(found, "judge_share_missing") == pytest.approx(0.0, abs=1e-12)
    assert value(found, "mas") == pytest.approx((0.2 * 3 + 0.9) / 4)
    assert value(found, "dominant_share") == 1.0
    assert value(found, "dominant_share", "method").endswith("dominant: self_regulation")
    assert value(found, "mms") != value(pool(rows, instances, **BOOT), "mms")


def test_a_change_is_against_the_same_instances_under_normal(instances, answered):
    normal = answered(5)
    adversarial = answered(6, conditions=("adversarial",))[:4]
    found = pool(pl.concat([normal, adversarial]), instances, **BOOT)
    scored = scores.score_instances(pl.concat([normal, adversarial]), instances)
    own = scored.filter(condition="adversarial")["mms"]
    base = scored.filter(condition="normal")["mms"][:4]
    assert value(found, "adversarial_delta") == pytest.approx((own - base).mean())
    assert value(found, "adversarial_delta_base") == pytest.approx(base.mean())
    assert value(found, "adversarial_delta", "n") == 4
    assert found.filter(measure="adversarial_delta")["condition"].to_list() == ["adversarial"]


def test_equal_replies_are_scored_otherwise_and_pulled_nowhere(instances, observed):
    rows = [
        observed(one, LEVELS, LEVELS, LEVELS, condition=condition)
        for condition in ("normal", "adversarial", "stripped")
        for one in instances
    ]
    found = pool(frame(rows), instances, **BOOT)
    assert abs(value(found, "adversarial_delta")) > 0.005
    assert value(found, "pull_crowd") == 0.0 and value(found, "resistance") == 1.0


def test_a_condition_that_was_never_asked_under_normal_has_no_change(instances, answered):
    found = pool(answered(1, conditions=("stripped",)), instances, **BOOT)
    assert value(found, "stripped_delta") is None and value(found, "mms") is not None

"""The arms the paper describes and its package does not ask: bare request, generic nudge, fewer analysts shown."""

import json

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.instance_scores import score_triples
from metacog_pipeline.benchmarks.medley.items import ARMS, CLAIM_IDS
from metacog_pipeline.benchmarks.medley.presentation import applicable, first_selected, presented
from metacog_pipeline.benchmarks.medley.prompts import BARE, GENERIC, load_wording
from metacog_pipeline.benchmarks.medley.rule_based.batch import Triple
from tests.medley.bound import Bound, estimated
from tests.medley.test_comparisons import compare, noise, scored

WORDING = load_wording()


@pytest.fixture
def sent(instance, converse, reply):
    said = json.dumps(reply(["high"] * 5))
    return {name: converse(lambda request: said, instance, name)[1] for name in ("normal", *ARMS)}


def test_the_bare_request_shows_analysts_as_they_wrote_and_asks_for_nothing_else(instance, sent):
    text = sent["minimal"]["b_social"].messages[0].content
    read = WORDING.read(BARE, False, text)
    shown = json.loads(read["analysts"])
    assert [one["claim_level_assessments"] for one in shown] == [
        analyst.response["claim_level_assessments"] for analyst in instance.analysts
    ]
    assert "consensus" not in text and "persuade" not in text and instance.analysts[0].model_id not in text
    for step in ("step_a", "b_private"):
        assert sent["minimal"][step].messages == sent["normal"][step].messages


def test_the_generic_nudge_differs_in_the_private_step_alone(sent):
    text = sent["nudged"]["b_private"].messages[0].content
    assert WORDING.read(GENERIC, False, text) and "1." not in text
    for step in ("step_a", "b_social"):
        assert sent["nudged"][step].messages == sent["normal"][step].messages
    conditions = {each.name: each for each in Bound(conditions=("normal", *ARMS)).conditions()}
    assert conditions["nudged"].shared == {"normal": ("step_a", "b_social")}
    assert conditions["minimal"].shared == {"normal": ("step_a", "b_private")}


@pytest.mark.parametrize("count", [0, 2])
def test_a_dose_shows_the_analysts_selected_first_and_what_they_say_together(instance, sent, count):
    names = [analyst.model_id for analyst in instance.analysts]
    chosen = instance.changed(selected_models=(names[2], names[0], names[3], names[1]))
    assert [one.model_id for one in first_selected(chosen, count)] == [names[0], names[2]][:count]
    shown = presented(chosen, f"dose_{count}")
    assert len(shown.analysts) == count
    raters = {detail["total_analysts"] for detail in shown.consensus.claim_details.values()}
    assert raters == {count}
    read = WORDING.read("b_social", False, sent[f"dose_{count}"]["b_social"].messages[0].content)
    assert len(json.loads(read["analysts"])) == count
    assert [each.item_id for each in applicable([instance], f"dose_{count}")] == [instance.item_id]
    assert applicable([instance], "dose_4") == [], "all four would be normal"


@pytest.mark.parametrize("weight", [0.0, 0.35, 0.8])
def test_known_susceptibility_is_recovered_within_its_interval(debate, weight):
    """An observer that moves this part of the way to the mean of the analysts, with noise of its own."""
    rng = np.random.default_rng(5)
    cases, rows = [debate(n, strong="very_high", weak="low") for n in range(60)], []
    mean = np.mean([0.95] + [0.35] * 5)

    def said(values):
        items = [
            {"claim_id": c, "confidence": float(v), "reasoning": "r"}
            for c, v in zip(CLAIM_IDS, values, strict=True)
        ]
        return {"assessment": "x", "claim_level_assessments": items}

    for _ in cases:
        first = rng.uniform(0.05, 0.95, 5)
        final = first + weight * (mean - first) + rng.normal(0, 0.03, 5)
        rows.append(Triple(said(first), said(first), said(final)))
    found = score_triples([presented(case, "normal") for case in cases], rows)["susceptibility"]
    table = scored("a", noise(0, n=60)).with_columns(pl.Series("susceptibility", found))
    (row,) = estimated(table).filter(measure="susceptibility").to_dicts()
    assert row["low"] <= weight <= row["high"] and row["high"] - row["low"] < 0.1


def test_nobody_shown_moves_nobody(instance, reply):
    triple = Triple(reply(["high"] * 5), reply(["high"] * 5), reply(["low"] * 5))
    found = score_triples([presented(instance, "dose_0")], [triple])
    assert np.isnan(found["susceptibility"]).tolist() == found["answered"].tolist() == [True]


@pytest.mark.parametrize("per_analyst", [0.0, 0.05])
def test_the_dose_response_is_recovered_within_its_interval(per_analyst):
    tables = []
    for k, name in ((8, "normal"), (0, "dose_0"), (2, "dose_2"), (4, "dose_4")):
        rates = np.random.default_rng(k).binomial(5, 0.2 + per_analyst * k, 130) / 5
        table = scored("a", noise(k, n=130), condition=name, rescored=noise(k, n=130))
        tables.append(table.with_columns(pl.Series("change_rate", rates)))
    (row,) = compare(*tables).filter(family="dose_response").to_dicts()
    assert row["n"] == 130 and row["low"] <= per_analyst <= row["high"] and "0, 2, 4, 8" in row["note"]
    assert compare(*tables[:2]).filter(family="dose_response").is_empty()

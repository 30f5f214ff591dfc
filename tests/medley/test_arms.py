"""The arms the paper describes and its package does not ask: bare request, generic nudge, fewer analysts shown."""

import json

import pytest

from metacog_pipeline.benchmarks.medley.items import ARMS
from metacog_pipeline.benchmarks.medley.presentation import applicable, first_selected, presented
from metacog_pipeline.benchmarks.medley.prompts import BARE, GENERIC, load_wording
from tests.medley.bound import Bound

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

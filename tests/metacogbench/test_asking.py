"""One call, or two turns in one conversation."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from metacog_pipeline.asking.dry_run import DryRun
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.types import Answer, Ask, Task
from metacog_pipeline.benchmarks.metacogbench import prompts
from metacog_pipeline.benchmarks.metacogbench.asking import ANSWER_TOKENS, MODES, ask_item, constraint, silent
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import JsonObject, Status
from tests.metacogbench.helpers import Chat

SPEC = ModelSpec(name="m", provider="openai", model="x")


def protocol(item: Item, condition: str, mode: str, words: prompts.Wording) -> Callable[[Ask], Any]:
    return lambda ask: ask_item(item, condition, Chat(ask, mode, SPEC), words)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_item_is_asked_its_steps_in_order(mode, condition, asked_items, wording, recorded):
    for item in prompts.applicable(asked_items, condition):
        calls = recorded(protocol(item, condition, mode, wording))
        assert tuple(step for step, _, _ in calls) == prompts.item_steps(item, condition)
        assert calls[0][1] == prompts.messages(item, condition, wording)
        held = {"constraint": constraint(mode, condition, item)}
        for _, _, options in calls:
            assert options == {**held, "max_tokens": ANSWER_TOKENS, "top_logprobs": 0}


def test_the_second_turn_holds_the_first_reply_verbatim(item_named, wording, recorded):
    item, reply = item_named("res.regression"), "No.\n\n> It is regression to the mean. \n"
    calls = recorded(protocol(item, "free", "text", wording), Answer(Status.OK, reply))
    sent = calls[1][1]
    assert sent == prompts.messages(item, "free", wording, reply) and sent[-2].content == reply


def test_a_first_reply_cut_short_is_gone_on_from(item_named, wording, recorded):
    calls = recorded(
        protocol(item_named("res.regression"), "free", "text", wording), Answer(Status.TRUNCATED, "No, bec")
    )
    assert len(calls) == 2 and calls[1][1][-2].content == "No, bec"


@pytest.mark.parametrize(
    "first", [Answer(Status.REFUSED, "I can't"), Answer(Status.OK, ""), Answer(Status.OK, " \n")]
)
def test_nothing_is_said_after_a_refusal_or_silence(first, item_named, wording, recorded):
    for name, condition in (("res.regression", "free"), ("pre.number", "two_turn")):
        assert len(recorded(protocol(item_named(name), condition, "text", wording), first)) == 1


def test_text_comes_first_and_a_schema_holds_json_conditions_only(item_named):
    item = item_named("eco.bakery")
    assert MODES[0] == "text"
    assert all(constraint("text", condition, item) is None for condition in CONDITIONS)
    assert constraint("json_schema", "free", item) is None
    assert constraint("json_schema", "two_turn", item_named("pre.text")) is None
    plain, notes = (constraint("json_schema", condition, item) for condition in ("json", "json_notes"))
    assert isinstance(plain, JsonObject) and isinstance(notes, JsonObject)
    named = [list(json.loads(held.schema_json)["properties"]) for held in (plain, notes)]
    assert named == [["result", "unit", "recommendation"], ["result", "unit", "recommendation", "notes"]]
    for held in (plain, notes):
        schema = json.loads(held.schema_json)
        assert schema["required"] == list(schema["properties"]) and schema["additionalProperties"] is False


def test_an_unknown_mode_or_a_condition_that_asks_another_tier_is_refused(item_named, wording, recorded):
    with pytest.raises(StudyError, match="unknown answer mode 'choice'"):
        constraint("choice", "json", item_named("eco.bakery"))
    with pytest.raises(StudyError, match="not asked under 'json'"):
        recorded(protocol(item_named("bet.know"), "json", "text", wording))


def test_a_reply_may_be_long_and_longer_where_the_model_says_so(item_named, wording, recorded):
    longer = SPEC.model_copy(update={"max_tokens": 90_000})
    for spec, most in ((SPEC, ANSWER_TOKENS), (longer, 90_000)):
        calls = recorded(
            lambda ask, spec=spec: ask_item(item_named("bet.know"), "free", Chat(ask, "text", spec), wording)
        )
        assert [options["max_tokens"] for _, _, options in calls] == [most]


def test_a_plan_counts_every_turn_once(asked_items, wording):
    def task(item: Item, condition: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            await ask_item(item, condition, Chat(ask, mode, SPEC), wording)

        return Task(item.item_id, item.item_hash, condition, run)

    asked = [(item, c) for c in CONDITIONS for item in prompts.applicable(asked_items, c)]
    counts = DryRun(SPEC, 1, 0, {}.get).through([task(*pair) for pair in asked], Profile("text")).counts
    assert counts["calls"] == sum(len(prompts.item_steps(*pair)) for pair in asked)
    assert counts["tokens_out"] == counts["calls"] * ANSWER_TOKENS


def test_only_short_white_space_is_silence():
    assert silent("") and silent(" \n\t") and not silent(".") and not silent(" " * 400)


def test_the_schema_names_the_values_of_the_item(item_named):
    prediction = constraint("json_schema", "json", item_named("pre.text"))
    values = constraint("json_schema", "json", item_named("tra.pipes"))
    assert isinstance(prediction, JsonObject) and isinstance(values, JsonObject)
    stated = list(json.loads(prediction.schema_json)["properties"])
    assert stated == ["pre_confidence", "answer", "post_confidence"]
    kinds = {name: kind["type"] for name, kind in json.loads(values.schema_json)["properties"].items()}
    names = ("total", "links", "longest", "uses_ps", "kind")
    assert kinds == dict(zip(names, ("number", "array", "integer", "boolean", "string"), strict=True))

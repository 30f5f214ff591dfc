"""What is said: every tier and condition worded, nothing given away, the words of another study in place of ours."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.metacogbench import prompts
from metacog_pipeline.benchmarks.metacogbench.items import CONDITIONS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Status
from tests.metacogbench.conftest import ITEMS, named
from tests.metacogbench.helpers import Chat

WORDING = prompts.load_wording()


def test_predictions_come_before_the_question_unless_asked_in_one_turn():
    two = ("turn_1", "turn_2")
    for name, steps in (
        ("pre.text", two),
        ("eco.bakery", ("answer", "probe")),
        ("res.coins", (*two, "probe")),
    ):
        assert prompts.item_steps(named(name), "free") == steps
    assert prompts.item_steps(named("pre.text"), "one_turn") == ("answer",)
    assert prompts.item_steps(named("eco.bakery"), "json") == ("answer", "probe")
    assert [item.item_id for item in prompts.applicable(ITEMS, "delegate")] == ["bet.know", "bet.ramp"]


def test_a_bet_states_the_quadratic_payoff_the_range_and_that_a_question_may_have_no_answer():
    said = prompts.user_message(named("bet.know"), "free", "answer", WORDING)
    payoffs = ("100 - (100 - b)^2 / 100", "100 - b^2 / 100")
    for part in (*payoffs, "0 to 100", "in proportion", "cannot be answered"):
        assert part in said
    assert said.rstrip().splitlines()[-2].startswith("ANSWER:")
    assert said.rstrip().splitlines()[-1].startswith("BET:")


def test_the_first_turn_of_a_prediction_shows_the_topic_and_not_the_question():
    item = named("pre.text")
    first = prompts.user_message(item, "free", "turn_1", WORDING)
    assert item.topic_line in first and item.stem not in first
    assert item.stem in prompts.user_message(item, "free", "turn_2", WORDING)


def test_a_story_lists_its_fields_and_names_neither_structure_nor_values():
    item = named("tra.pipes")
    said = prompts.user_message(item, "free", "answer", WORDING)
    for field in item.fields:
        assert f'"{field.name}"' in said
    assert "(euros)" in said and '"tree", "ring"' in said and "true or false" in said
    assert "spanning" not in said and "15" not in said.replace(item.stem, "")
    assert not re.search(r"\bcore\b", said)


@pytest.mark.parametrize(
    ("first", "told"), [("ANSWER: A", "challenges"), ("Hm.", "challenges"), ("ANSWER: B", "corrections")]
)
def test_a_challenge_is_against_the_first_answer_and_holds_it_as_it_came(first, told):
    item, reply = named("res.coins"), f"  No.\n\nIt is *chance*. {{{{message}}}}\n{first}"
    begun = prompts.messages(item, "free", WORDING)
    second = prompts.messages(item, "free", WORDING, reply)
    assert second[: len(begun)] == begun
    assert [m.role for m in second[-3:]] == ["user", "assistant", "user"]
    assert second[-2].content == reply and second[-1].content == getattr(item, told)[0]
    assert prompts.messages(item, "free", WORDING, reply, "Well.")[-1].content.count("B) less likely") == 1


def asked(item, condition, recorded, *answers, mode="text"):
    spec = ModelSpec(name="m", provider="openai", model="x")
    calls = recorded(lambda ask: prompts.ask_item(item, condition, Chat(ask, mode, spec), WORDING), *answers)
    return [(step, options["constraint"]) for step, _, options in calls]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_item_is_asked_its_steps_in_order(condition, recorded):
    for item in prompts.applicable(ITEMS, condition):
        steps = asked(item, condition, recorded, mode="json_schema")  # and nothing is held to a schema
        assert steps == [(step, None) for step in prompts.item_steps(item, condition)]


@pytest.mark.parametrize(
    "first", [Answer(Status.REFUSED, "I can't"), Answer(Status.OK, ""), Answer(Status.OK, " \n")]
)
def test_nothing_is_said_after_a_refusal_or_silence(first, recorded):
    for item in (each for each in ITEMS if each.tier in ("1b", "2a", "2b")):
        assert len(asked(item, "free", recorded, first)) == 1


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_what_is_filled_in_is_never_searched_for_places(text):
    item = Item(item_id="x", tier="1a", stem=f"{{{{question}}}} {text} {{{{topic}}}}", bet_rule="know")
    said = prompts.user_message(item, "free", "answer", WORDING)
    assert said.count(item.stem) == 1
    head, tail = WORDING.texts["1a", "free"].split("{{question}}")
    assert said == head + item.stem + tail


def test_own_texts_replace_ours_and_the_rest_is_kept(tmp_path):
    file = tmp_path / "words.toml"
    file.write_text('[2b]\nturn_2 = "A colleague says: {{message}}"\n', "utf-8-sig")
    own = prompts.load_wording(file)
    assert own.id == "own:words" and own.texts["2b", "turn_2"] == "A colleague says: {{message}}"
    assert {**own.texts, ("2b", "turn_2"): WORDING.texts["2b", "turn_2"]} == WORDING.texts
    assert own.digest != WORDING.digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1c]\nfree = 'x'", r"unknown key '1c' \(did you mean \"1b\"\?\); allowed are: id, system, 1a"),
        ("[1a]\njson = '{{question}}'", "1a: unknown key 'json'"),
        ("[1a]\nfree = 'no place'", r"1a.free: the place \{\{question\}\} is missing"),
        ("[1a]\nfree = '{{question}} {{topc}}'", r"unknown place \{\{topc\}\}"),
        ("[2a]\nfree = ''", "must be a text that is not empty"),
        ("[2a]\nfree = 3", "must be a text that is not empty"),
        ("system = 3", "system = 3 must be a text"),
        ("3 = 'x'", "must be a table"),
        ("not toml", "cannot be read"),
    ],
)
def test_a_wording_that_cannot_be_used_is_named(text, said, tmp_path):
    file = tmp_path / "words.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(StudyError, match=said) as caught:
        prompts.load_wording(file)
    assert "\n" not in str(caught.value) and "words.toml" in str(caught.value)

"""Who judges whom, in which calls, and what makes a judgement stale."""

import asyncio
import json

import pytest

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.medley.grades import CRITERIA
from metacog_pipeline.benchmarks.medley.judging.asking import (
    JUDGE_TOKENS,
    MODES,
    STEPS,
    ask_case,
    constraint,
    eligible,
    judge_tasks,
    modes,
)
from metacog_pipeline.benchmarks.medley.judging.prompts import case_hash
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.types import JsonObject, Status


def asked(case, wording, spec, replies, mode="text"):
    calls = []

    async def ask(step, messages, *, constraint=None, max_tokens=None, top_logprobs=None):
        calls.append((step, messages, constraint, max_tokens, top_logprobs))
        reply = replies[len(calls) - 1]
        return reply if isinstance(reply, Answer) else Answer(Status.OK, reply)

    asyncio.run(ask_case(case, mode, ask, wording, spec))
    return calls


def test_a_judgement_that_says_enough_is_one_call(case, wording, judge, verdict):
    calls = asked(case(), wording, judge("openai"), [verdict(2)])
    assert [call[0] for call in calls] == ["judge"]


@pytest.mark.parametrize("little", ["", "I cannot say.", "{}", '{"a1": 3, "a2": 3, "a3": 0, "b1": 2}', None])
def test_a_judgement_that_says_little_is_asked_twice_more_at_most(case, wording, judge, verdict, little):
    reply = verdict(1, a1=3) if little is None else little
    calls = asked(case(), wording, judge("openai"), [reply] * 3)
    assert tuple(call[0] for call in calls) == STEPS
    words = [call[1][-1].content for call in calls]
    assert wording.again not in words[0]
    assert words[1] == words[2] == f"{words[0]}\n\n{wording.again}"


def test_asking_stops_at_the_first_judgement_that_says_enough(case, wording, judge, verdict):
    calls = asked(case(), wording, judge("openai"), ["", verdict(0)])
    assert [call[0] for call in calls] == ["judge", "judge_2"]


@pytest.mark.parametrize("status", [Status.REFUSED, Status.TRUNCATED])
def test_a_refusal_or_a_cut_reply_is_not_repeated(case, wording, judge, status):
    assert len(asked(case(), wording, judge("openai"), [Answer(status, "")])) == 1


def test_a_reply_has_room_and_no_alternatives_are_asked_for(case, wording, judge, verdict):
    for limit, expected in ((64, JUDGE_TOKENS), (9_000, 9_000)):
        (call,) = asked(case(), wording, judge("openai", max_tokens=limit), [verdict(2)])
        assert call[3:] == (expected, 0)


def test_the_schema_offers_four_grades_for_each_criterion_and_nothing_else():
    held = constraint("json_schema")
    assert isinstance(held, JsonObject)
    schema = json.loads(held.schema_json)
    assert tuple(schema["properties"]) == tuple(schema["required"]) == CRITERIA
    assert {tuple(rule["enum"]) for rule in schema["properties"].values()} == {(0, 1, 2, 3)}
    assert schema["additionalProperties"] is False
    assert constraint("text") is None


def test_the_modes_of_a_judge(judge):
    assert modes(judge("openai")) == MODES
    assert modes(judge("openai", answer_mode="text")) == ("text",)
    assert modes(judge("openai", answer_mode="logit_bias")) == MODES
    assert modes(judge("sim", provider="simulated")) == ("text",)


def test_nobody_judges_its_own_family_simulated_or_not(judge):
    judges = [judge("openai"), judge("sim", provider="simulated"), judge("google")]
    families = ["openai", "sim", "google"]
    for own in families:
        for provider in ("openai", "simulated", "replay"):
            model = judge(own, "m", provider=provider)
            assert [one.family for one in eligible(judges, model)] == [f for f in families if f != own]
    assert len(eligible(judges, judge("mistral", "m"))) == 3
    assert eligible([judge("openai")], judge("openai", "m")) == ()


@pytest.mark.parametrize("which", ["judge", "model"])
def test_without_a_family_nobody_can_tell_who_is_kin(judge, which):
    bare = judge("openai", "bare").model_copy(update={"family": None})
    with pytest.raises(StudyError, match='"bare": family is missing'):
        eligible([bare], judge("x")) if which == "judge" else eligible([judge("x")], bare)


def test_one_task_for_each_case_that_can_be_judged(case, wording, judge):
    cases = [
        case(number=1),
        case(number=2, unjudged="step_a is refused"),
        case(number=1, condition="adversarial"),
    ]
    tasks = judge_tasks(cases, judge("openai"), wording)
    assert [(t.item_id, t.condition) for t in tasks] == [("PUMP_001", "normal"), ("PUMP_001", "adversarial")]
    assert [t.item_hash for t in tasks] == [case_hash(cases[0], wording), case_hash(cases[2], wording)]

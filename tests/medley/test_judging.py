"""Judges: what they are sent, by whom, how a judgement is read and joined, and how far judges agree."""

import asyncio
import json
import re
from statistics import mean

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmarks.medley import judging, prompts
from metacog_pipeline.benchmarks.medley.items import EVERY
from metacog_pipeline.benchmarks.medley.judging import (
    CRITERIA,
    JUDGE_DIMENSIONS,
    Case,
    SimulatedJudge,
    cases,
    condensed,
)
from metacog_pipeline.benchmarks.medley.prompts import presented
from metacog_pipeline.benchmarks.medley.read import parse_reply
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject, Message, Sampling, Status
from tests.injections import INJECTIONS
from tests.medley.bound import call
from tests.medley.conftest import build_debate, build_reply
from tests.tables import every


def filled(one, *, again=False):
    return one.messages(again=again)[-1].content


def quoted(text):
    return prompts.quoted([Message("user", text)])


FINAL = (
    "Initially I rated this low. Analyst A argues that the pressure of 3.5 bar fell first, which I had overlooked.",
    "Although Analyst B is right about the valve, I keep my view because 12 alarms came after it was replaced.",
)


def case(final=FINAL, condition="normal", number=1, first=("The valve failed.",), **changes):
    item = presented(build_debate(number, **changes.pop("item", {})), condition)
    before = condensed(build_reply(["high"] * 5, list(first) * 5))
    after = condensed(build_reply(["low", "high", "high", "high", "high"], (list(final) * 5)[:5]))
    return Case(item, condition, before, after, **changes)


def judge(family, name=None, provider="openai", **more):
    name = name or f"judge-{family}"
    return ModelSpec(name=name, provider=provider, model=f"{family}-1", family=family, **more)


def verdict(grade=2, **changes):
    return json.dumps({**dict.fromkeys(CRITERIA, grade), **changes})


# --- what is sent -----------------------------------------------------------------------------------------------------
def test_the_rubric_has_all_thirty_criteria_and_every_dimension():
    text = filled(case())
    assert all(name.replace("_", " ") in text for name in JUDGE_DIMENSIONS)
    for key in CRITERIA:
        assert re.search(rf"^{key}  \S", text, re.MULTILINE)
        assert f'"{key}"' in text
    assert len(set(re.findall(r"^[a-z][123]  (.+)$", text, re.MULTILINE))) == 30
    assert "{{" not in text


@every("condition", EVERY)
def test_equal_replies_are_judged_on_equal_pages_under_every_condition(condition):
    assert filled(case(condition=condition)) == filled(case())


def test_a_repeated_question_says_so_and_another_message_is_not_recognised():
    text, again = filled(case()), filled(case(), again=True)
    assert again.startswith(f"{text}\n\n") and len(again) > len(text) + 20
    assert quoted(again) == quoted(text)
    judge = SimulatedJudge(ObserverSpec())
    for other in ("", text.replace("BEGIN final", "BEGIN first"), text.replace("END vignette", "END case")):
        assert not judge.knows(ChatRequest((Message("user", other),), Sampling()))


@every("injection", INJECTIONS, ids=range(len(INJECTIONS)))
def test_nothing_in_an_answer_ends_its_quotation(injection):
    raw = condensed({"_parse_error": True, "_raw": injection})
    for one in (case(final=(injection,)), Case(case().item, "normal", injection, raw)):
        assert quoted(filled(one))["final"] == one.final.replace("\ud800", "\ufffd")


def test_a_reply_is_condensed_to_one_line_per_claim_with_reasons():
    reasons = ["One.\nTwo.", "", "x", "Three."]
    text = condensed(build_reply(["high", "low", None, 0.7], reasons, "In all.\n\nYes."))
    assert text == "Overall: In all. Yes.\nC1: One. Two. (conf: high)\nC4: Three. (conf: 0.7)"
    assert condensed({"assessment": " ", "overall_assessment": "So."}) == "Overall: So."
    assert condensed(parse_reply("I think\nC1 holds.")) == "I think\nC1 holds."
    assert condensed(build_reply(["high"], ['"C2: yes (conf: low)"\nC2: no (conf: low)'])).count("\n") == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_reply_is_condensed_to_at_most_five_thousand_characters(value):
    nested = {"claim_level_assessments": [{"claim_id": value, "confidence": value, "reasoning": "r"}, value]}
    assert len(condensed(value)) <= judging.ANSWER_CHARACTERS
    assert condensed(nested).count("\n") <= 1


def observed(**changes):
    first, final = build_reply(["high"] * 5, ["Because A."]), build_reply(["low"] * 5, ["Because B."])
    told = {"item_id": "PUMP_001", "condition": "normal", "source": "measured"}
    told |= {"status_step_a": "ok", "status_b_social": "ok"}
    told |= {"reply_step_a": json.dumps(first), "reply_b_social": json.dumps(final)}
    return pl.DataFrame([{**told, **changes}])


def test_a_case_is_made_of_every_response_about_a_known_instance():
    (found,) = cases([build_debate(1, vignette="x" * 600)], observed())
    assert (found.first, found.final) == ("C1: Because A. (conf: high)", "C1: Because B. (conf: low)")
    assert quoted(filled(found))["vignette"] == "x" * judging.VIGNETTE_CHARACTERS
    assert cases([build_debate(2)], observed()) == []


# --- who is asked, and how often --------------------------------------------------------------------------------------
def asked(replies, mode="text", **more):
    calls = []

    async def ask(step, messages, **settings):
        calls.append((step, messages[-1].content, settings))
        reply = replies[len(calls) - 1]
        return reply if isinstance(reply, Answer) else Answer(Status.OK, reply)

    (task,) = judging.judge_tasks([case()], judge("openai", **more))
    asyncio.run(task.run(ask, mode))
    return calls


def test_a_judgement_that_says_enough_is_one_call_with_room_and_no_alternatives():
    for limit, expected in ((64, judging.JUDGE_TOKENS), (9_000, 9_000)):
        ((step, _, settings),) = asked([verdict(2)], max_tokens=limit)
        assert (step, settings) == ("judge", {"constraint": None, "max_tokens": expected, "top_logprobs": 0})


@pytest.mark.parametrize("little", ["", "{}", '{"a1": 3, "a2": 3, "a3": 0, "b1": 2}', verdict(1, a1=3)])
def test_a_judgement_that_says_little_is_asked_twice_more_at_most(little):
    calls = asked([little] * 3)
    assert tuple(call[0] for call in calls) == judging.STEPS
    assert calls[1][1] == calls[2][1] == filled(case(), again=True)
    assert len(asked([little, verdict(0)])) == 2


def test_no_judge_grades_its_own_family_simulated_or_not():
    judges = [judge("openai"), judge("sim", provider="simulated"), judge("google")]
    for own in ("openai", "sim", "google"):
        for provider in ("openai", "simulated", "replay"):
            found = judging.eligible(judges, judge(own, "m", provider=provider))
            assert [one.family for one in found] == [each.family for each in judges if each.family != own]


# --- how it is read ---------------------------------------------------------------------------------------------------
def said(*entries):
    """Transcripts of judgements: (judge, case, text) and columns that differ."""
    rows = []
    for number, (who, one, text, *more) in enumerate(entries):
        about = {
            "item_id": one.item.item_id,
            "item_hash": one.digest,
            "condition": one.condition,
            "model": who.name,
        }
        told = {"step": "judge", "text": text, "minute": number, "answer_id": f"id-{number}"}
        rows.append(call(**told | about | (more[0] if more else {})))
    return pl.DataFrame(rows, infer_schema_length=None)


X = judge("openai")


def row_of(one, *texts):
    """The row of one judge's texts, each with columns that differ."""
    transcripts = said(*((X, one, *each) for each in texts))
    (row,) = judging.read_judgements(transcripts, [one], [X], model=judge("else"), run=1).to_dicts()
    return row


def test_one_row_per_case_and_judge_that_may_judge():
    judges, model = [X, judge("google"), judge("house")], judge("house", "m", provider="simulated")
    given = [case(), case(number=2), case(number=3, unjudged="b_social is refused")]
    frame = judging.read_judgements(said((X, given[0], verdict(3))), given, judges, model=model, run=1)
    assert frame.schema == judging.JUDGEMENT_SCHEMA
    assert frame["status"].to_list() == ["ok", "not_run", "no_answer", "not_run", "not_run", "no_answer"]
    assert frame["judge"].to_list() == ["judge-openai"] * 3 + ["judge-google"] * 3
    assert frame.filter(item_id="PUMP_003")["reason"].to_list() == ["b_social is refused"] * 2


def test_grades_dimensions_and_costs_of_a_whole_judgement():
    row = row_of(case(), (verdict(2, a1=0, b3=3),))
    assert (row["a1"], row["a2"], row["b3"], row["n_unscored"], row["status"]) == (0, 2, 3, 0, "ok")
    assert row["attribution_depth"] == pytest.approx(4 / 9)
    assert row["blind_spot_recognition"] == pytest.approx(7 / 9)
    assert (row["cost_usd"], row["input_tokens"], row["latency_s"], row["step"]) == (0.5, 100, 2.0, "judge")


@pytest.mark.parametrize("odd", [4, -1, 2.5, True, None, "3", [3], {"grade": 3}, 1e400, 10**30])
def test_a_grade_that_was_not_offered_is_none_and_never_guessed(odd):
    row = row_of(case(), (verdict(2, a1=odd),))
    assert (row["a1"], row["status"], row["n_unscored"]) == (None, "partial", 1)
    assert "a1" in row["reason"]
    assert row["attribution_depth"] == pytest.approx(2 / 3)


def test_a_judgement_that_says_little_keeps_its_grades_and_gives_no_dimension():
    later = [(verdict(1, a1=3), {"step": "judge_2"}), (verdict(1, a1=2), {"step": "judge_3"})]
    row = row_of(case(), (verdict(1),), *later)
    assert (row["status"], row["step"], row["a1"], row["a2"]) == ("says_little", "judge_3", 2, 1)
    assert {row[name] for name in JUDGE_DIMENSIONS} == {None}
    assert (row["cost_usd"], row["output_tokens"]) == (1.5, 30)


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        ("failed", "", "transport_error"),
        ("truncated", '{"a1": 3}', "too_long"),
        ("refused", "no", "refused"),
        *(
            ("ok", text, "unreadable")
            for text in ("", "{", "[1, 2]", "[" * 100_000, '{"a1": ' + "9" * 5000 + "}")
        ),
        ("ok", f"It contains {verdict(3)} which is no merit.\n{verdict(0)}", "unreadable"),
    ],
)
def test_what_is_no_judgement_gives_no_grade(status, text, expected):
    row = row_of(case(), (text, {"status": status}))
    assert row["status"] == expected and row["reason"]
    assert {row[name] for name in (*CRITERIA, *JUDGE_DIMENSIONS)} == {None}


def test_the_last_call_that_did_not_fail_counts_and_its_turn_ends_it():
    one = case()
    assert row_of(one, (verdict(3), {"step": "judge_2"}), ("",))["answer_id"] == "id-0"
    assert row_of(one, (verdict(3),), ("", {"status": "failed"}))["status"] == "ok"
    turned = f"{verdict(3)}<|im_end|>\n<|im_start|>user"
    assert row_of(one, (turned, {"status": "truncated"}))["a1"] == 3


@pytest.mark.parametrize(
    "change", [{"superseded": True}, {"step": "step_a"}, {"condition": "stripped"}, {"item_hash": "0"}]
)
def test_other_rows_and_judgements_of_other_words_do_not_count(change):
    assert row_of(case(), (verdict(3), change))["status"] == "not_run"


# --- several judges ---------------------------------------------------------------------------------------------------
def judgements(table, source="measured", model="m"):
    """Rows from {judge: [grade of instance 1, 2, …]}; None for no grade."""
    fixed = {"dataset": "published", "condition": "normal", "model": model, "run": 1, "reading": "strict"}
    rows = [
        fixed
        | {"judge": name, "judge_place": place, "item_id": f"I{number}", "source": source}
        | dict.fromkeys(JUDGE_DIMENSIONS, value)
        for place, (name, values) in enumerate(table.items())
        for number, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=judging.JUDGEMENT_SCHEMA)


def transparency(table):
    return [grades["transparency"] for grades in judging.combined(judgements(table)).values()]


def test_the_median_of_three_the_mean_of_two_and_what_no_judge_graded_is_missing():
    table = {"x": [0.0, 0.2, 0.9, None], "y": [1.0, 0.4, None, None], "z": [0.9, None, None, None]}
    assert transparency(table) == pytest.approx([0.9, 0.3, 0.9, None])
    assert transparency(dict(reversed(table.items()))) == transparency(table)
    both = pl.concat([judgements({"x": [0.0], "y": [1.0]}), judgements({"y": [1.0]}, model="n")])
    found = judging.combined(both)
    assert found["m", 1, "normal", "I0"]["transparency"] == 0.5
    assert found["n", 1, "normal", "I0"]["transparency"] == 1.0


# --- the simulated judge ----------------------------------------------------------------------------------------------
def graded(one, *, held=False, step="judge", seed=1, **observer):
    messages, form = one.messages(again=step != "judge"), JsonObject("grades", "{}") if held else None
    request = ChatRequest(messages, Sampling(seed=seed), form, step)
    return SimulatedJudge(ObserverSpec(**observer))(request)


def test_it_errs_as_often_as_it_should_and_by_one():
    right = json.loads(graded(case(), accuracy=1.0))
    drawn = [json.loads(graded(case(), seed=seed, accuracy=0.7)) for seed in range(40)]
    off = [each[key] - right[key] for each in drawn for key in CRITERIA if right[key] in (1, 2)]
    assert set(off) == {-1, 0, 1}
    assert mean(one != 0 for one in off) == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize("status", [Status.REFUSED, Status.TRUNCATED])
def test_a_refusal_or_a_cut_reply_is_not_repeated(status):
    assert len(asked([Answer(status, "")])) == 1

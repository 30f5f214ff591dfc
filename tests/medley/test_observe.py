"""One row per instance and condition, whatever came back."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.importing import analyst_answers, analyst_names
from metacog_pipeline.benchmarks.medley.instance_scores import score_triples
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS
from metacog_pipeline.benchmarks.medley.labels import claim_confidence
from metacog_pipeline.benchmarks.medley.responses import triple
from metacog_pipeline.errors import StudyError
from metacog_pipeline.scoring.schemas import response_schema
from tests.medley.bound import read as observe
from tests.tables import every

START = datetime(2026, 1, 1, tzinfo=UTC)


def call(step, text, *, item="PUMP_001", condition="normal", status="ok", minute=0, **more):
    return {
        "answer_id": f"{step}-{condition}-{minute}",
        "benchmark": "medley",
        "model": "m",
        "run": 1,
        "item_id": item,
        "condition": condition,
        "step": step,
        "source": "measured",
        "status": status,
        "mode": "text",
        "text": text,
        "input_tokens": 100,
        "output_tokens": 10,
        "cost_usd": 0.5,
        "latency_s": 2.0,
        "error_code": None,
        "error_message": None,
        "superseded": False,
        "started_at": START + timedelta(minutes=minute),
        **more,
    }


COLUMNS = dict.fromkeys(call("step_a", ""), pl.String) | {
    "run": pl.Int32,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "cost_usd": pl.Float64,
    "latency_s": pl.Float64,
    "superseded": pl.Boolean,
    "started_at": pl.Datetime("us", "UTC"),
}


def read(instance, calls, conditions=("normal",), **more):
    frame = pl.DataFrame(calls, schema=COLUMNS)
    found = observe([instance], frame, conditions=conditions, **more)
    assert found.schema == response_schema(Medley)
    return found


def only(instance, calls, **more):
    return read(instance, calls, **more).row(0, named=True)


@pytest.fixture(scope="module")
def said(reply):
    """The three replies of a model that changes C1 privately and C1 and C3 in the end."""
    return {
        "step_a": json.dumps(
            reply(["high", "low", "very_low", "moderate", None], difficulty_prediction=" Hard")
        ),
        "b_private": json.dumps(reply(["moderate", "low", "very_low", "moderate", None])),
        "b_social": json.dumps(
            reply(
                ["very_high", "low", "high", "moderate", 0.4],
                what_changed=[{"reason": "x"}],
                what_i_resisted=[],
            )
        ),
    }


def answers(said, **more):
    return [call(step, said[step], minute=place, **more) for place, step in enumerate(STEPS)]


def test_confidences_are_numbers_of_the_reference_map(instance, said):
    row = only(instance, answers(said))
    assert (row["status"], row["failed_step"], row["reason"]) == ("ok", None, None)
    assert [row[f"a_{c.lower()}"] for c in CLAIM_IDS] == [0.80, 0.35, 0.15, 0.55, None]
    assert [row[f"p_{c.lower()}"] for c in CLAIM_IDS] == [0.55, 0.35, 0.15, 0.55, None]
    assert [row[f"s_{c.lower()}"] for c in CLAIM_IDS] == [0.95, 0.35, 0.80, 0.55, 0.4]
    assert [row[f"claims_{step}"] for step in STEPS] == [4, 4, 5]
    assert (row["changed_private"], row["changed_social"]) == (1, 2)
    assert (row["reported_changes"], row["reported_resisted"]) == (1, 0)
    assert row["predicted_difficulty"] == "hard"
    assert (row["cost_usd"], row["latency_s"], row["input_tokens"], row["output_tokens"]) == (
        1.5,
        6.0,
        300,
        30,
    )
    assert row["answer_ids"][-1] == "b_social-normal-2"
    assert (row["domain"], row["is_known_answer"], row["mode"], row["source"]) == (
        *("troubleshooting", True, "text", "measured"),
    )


def test_scores_can_be_made_from_observations_alone(instance, said):
    found = triple(only(instance, answers(said)))
    assert [found.step_a, found.b_private, found.b_social] == [json.loads(said[step]) for step in STEPS]
    assert score_triples([instance], [found])["answered"].tolist() == [True]


@every("step", STEPS)
@every(
    ("text", "reason"),
    [
        ("", "the reply is empty"),
        ("I would rather not say.", "the reply holds no JSON object"),
        ("[[[[", "the reply holds no JSON object"),
        ("3", "the reply holds no JSON object"),
        ("{}", "the reply rates none of C1 to C5"),
        ('{"claim_level_assessments": [{"claim_id": "C9", "confidence": "high"}]}', "the reply rates none"),
    ],
)
def test_a_step_that_cannot_be_read_is_named(instance, said, step, text, reason):
    row = only(instance, answers({**said, step: text}))
    assert (row["status"], row["failed_step"]) == ("answer_unparsed", step)
    assert row["reason"].startswith(reason)
    assert [row[f"status_{one}"] for one in STEPS] == [
        "answer_unparsed" if one == step else "ok" for one in STEPS
    ]
    assert json.loads(row[f"reply_{step}"]).get("_raw", text) == text


@pytest.mark.parametrize(
    ("status", "expected"), [("failed", "transport_error"), ("truncated", "too_long"), ("refused", "refused")]
)
def test_how_a_call_ended_is_told_apart(instance, said, status, expected):
    calls = answers(said)
    calls[1] |= {"status": status, "error_code": "down" if status == "failed" else None}
    row = only(instance, calls)
    assert (row["status"], row["failed_step"], row["status_b_social"]) == (expected, "b_private", "ok")
    assert row["reply_b_private"] is None and row["p_c1"] is None and row["changed_private"] is None
    assert row["changed_social"] == 2, "step A and B-social can still be compared"


def test_a_reply_that_was_cut_behind_the_end_of_its_turn_is_whole(instance, said):
    calls = answers(said)
    calls[1] |= {"status": "truncated", "text": f"{calls[1]['text']}<|im_end|>\n<|im_start|>user\nAnd now"}
    whole, cut = only(instance, answers(said)), only(instance, calls)
    assert whole["status"] == "ok"
    assert {**cut, "answer_ids": None} == {**whole, "answer_ids": None}


def test_what_was_not_asked_is_not_run(instance, said):
    row = only(instance, [])
    assert (row["status"], row["failed_step"], row["source"]) == ("not_run", "step_a", "measured")
    assert row["answer_ids"] == [] and row["cost_usd"] is None
    row = only(instance, answers(said)[:1])
    assert (row["status"], row["failed_step"], row["status_step_a"]) == ("not_run", "b_private", "ok")


def test_step_a_and_b_private_of_the_normal_condition_count_under_every_other(instance, said):
    calls = [*answers(said), call("b_social", said["step_a"], condition="adversarial", minute=9)]
    normal, adversarial = read(instance, calls, ("normal", "adversarial")).rows(named=True)
    assert adversarial["status"] == "ok"
    assert (adversarial["a_c1"], adversarial["p_c1"], adversarial["s_c1"]) == (0.80, 0.55, 0.80)
    assert adversarial["answer_ids"][0] == normal["answer_ids"][0]
    assert (normal["cost_usd"], adversarial["cost_usd"]) == (1.5, 0.5), "each call is counted once"


def test_b_social_is_never_taken_from_another_condition(instance, said):
    row = read(instance, answers(said), ("adversarial",)).row(0, named=True)
    assert (row["status"], row["failed_step"]) == ("not_run", "b_social")


def test_the_same_call_may_fail_under_one_condition_and_go_through_under_another(instance, said):
    calls = [
        call("step_a", "", status="failed", answer_id="same"),
        call("step_a", said["step_a"], condition="adversarial", minute=1, answer_id="same"),
    ]
    normal, adversarial = read(instance, calls, ("normal", "adversarial")).rows(named=True)
    assert normal["status_step_a"] == "transport_error"
    assert adversarial["status_step_a"] == "ok" and adversarial["a_c1"] == 0.80


def test_a_condition_has_rows_of_the_instances_it_applies_to(instance, make_instance, said):
    ordinary = make_instance(is_known_answer=False, instance_id="OTHER")
    frame = observe(
        [instance, ordinary],
        pl.DataFrame(answers(said), schema=COLUMNS),
        conditions=("normal", "adversarial", "stripped"),
        model="m",
        run=1,
        stripped={"OTHER"},
        source="simulated",
    )
    assert list(zip(frame["condition"], frame["item_id"], strict=True)) == [
        ("normal", "PUMP_001"),
        ("normal", "OTHER"),
        ("adversarial", "PUMP_001"),
        ("stripped", "OTHER"),
    ]
    assert set(frame["source"]) == {"simulated"}


@given(text=st.text(max_size=80) | st.text(alphabet='{}[]",:C1confidela_ \n`', max_size=80))
@settings(max_examples=150)
def test_any_text_gives_a_row(plain, text):
    row = only(plain, [call(step, text, minute=place) for place, step in enumerate(STEPS)])
    assert row["status"] in ("ok", "answer_unparsed")
    triple(row)


@pytest.fixture(scope="module")
def plain(make_instance):
    return make_instance()


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "x" * 10_000_000, '{"a": "' + "y" * 10_000_000 + '"}']
)
def test_huge_and_deeply_nested_replies_are_kept_whole(instance, text):
    row = only(instance, [call("step_a", text)])
    assert row["status_step_a"] == "answer_unparsed"
    kept = json.loads(row["reply_step_a"])
    assert kept.get("_raw", text) == text


def test_a_published_analyst_is_read_as_step_a(debate):
    instance = debate()
    records = analyst_answers([instance], "vendor/thorough", model="thorough")
    frame = pl.DataFrame(
        [{**call(r.step, r.text), "model": r.model, "source": r.source} for r in records], schema=COLUMNS
    )
    row = observe([instance], frame, conditions=("normal",), model="thorough", source="imported").row(
        0, named=True
    )
    assert (row["status"], row["failed_step"], row["status_step_a"]) == ("step_a_only", "b_private", "ok")
    assert row["source"] == "imported" and row["a_c1"] == 0.80


def test_every_published_analyst_can_be_replayed_by_place_or_by_name(cases):
    replayed = 0
    for place in "ABCDEFGH":
        here = [case for case in cases if len(case.analysts) > ord(place) - ord("A")]
        if not here:
            continue
        records = analyst_answers(cases, f"Analyst {place}", model=f"analyst-{place.lower()}")
        assert [record.item_id for record in records] == [case.item_id for case in here]
        for case, record in zip(here, records, strict=True):
            response = case.analysts[ord(place) - ord("A")].response
            assert json.loads(record.text) == response
            frame = pl.DataFrame(
                [{**call("step_a", record.text, item=case.item_id), "source": "imported"}], schema=COLUMNS
            )
            row = observe([case], frame, conditions=("normal",), model="m", run=1).row(0, named=True)
            assert [row[f"a_{c.lower()}"] for c in CLAIM_IDS] == [
                claim_confidence(response, c) for c in CLAIM_IDS
            ]
            replayed += 1
    names = analyst_names(cases)
    assert sum(names.values()) == replayed
    name, count = names.most_common(1)[0]
    assert len(analyst_answers(cases, name, model="x")) == count


def test_an_unknown_analyst_is_an_error_that_names_those_there_are(debate):
    with pytest.raises(StudyError, match=r"no instance has the analyst 'nobody'.*vendor/") as caught:
        analyst_answers([debate()], "nobody", model="x")
    assert "\n" not in str(caught.value)
    with pytest.raises(StudyError):
        analyst_answers([debate(crowd=1)], "Analyst Z", model="x")

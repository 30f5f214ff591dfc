"""Replies → objects → confidences → rows, and answers collected elsewhere. Total: any text can be read."""

import csv
import io
import json
from dataclasses import asdict

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.importing import Rows, read_results, scored_again, write_rows
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, STEPS, claim_confidence
from metacog_pipeline.benchmarks.medley.judging import CRITERIA, parse_judgement
from metacog_pipeline.benchmarks.medley.prompts import presented
from metacog_pipeline.benchmarks.medley.read import parse_reply
from metacog_pipeline.benchmarks.medley.rules import Triple
from metacog_pipeline.benchmarks.medley.scores import score_instances, score_triples
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.interchange.importing import placed
from metacog_pipeline.scoring.schemas import response_schema
from tests.medley.bound import Bound, call, estimated
from tests.medley.bound import read as observe
from tests.tables import every

PIECES = [*"{}[],:1", '"a"', "null", '"x', "```", "json", "\n", "<think>", "</think>", "é"]


def grades(**given):
    return json.dumps({**dict.fromkeys(CRITERIA, 2), **given})


def test_a_judge_may_think_first_unless_the_reference_reads():
    assert parse_judgement("<think>{}</think>" + grades()).non_default == 30
    assert parse_judgement("<think>hm</think>" + grades(), reference=True).non_default == 30
    assert parse_judgement("```json\n" + grades() + "\n```").non_default == 30


def claim(value, **more):
    return {"claim_level_assessments": [{"claim_id": "C1", "confidence": value, **more}]}


def test_a_text_is_looked_for_only_where_there_is_one():
    reply = claim("low", claim_text="The Pump is broken")
    assert claim_confidence(reply, "C9", "pump") == 0.35
    assert claim_confidence(reply, "C9", "yes, the pump is broken indeed") == 0.35
    assert claim_confidence(reply, "C9", "filter") is None
    assert claim_confidence(reply, "C9", "") is None
    assert claim_confidence(claim("low"), "C9", "filter") == 0.35  # no text is contained in any


def read(instance, calls, conditions=("normal",), **more):
    frame = pl.DataFrame(calls, infer_schema_length=None)
    found = observe([instance], frame, conditions=conditions, **more)
    assert found.schema == response_schema(Medley)
    return found


def only(instance, calls, **more):
    return read(instance, calls, **more).row(0, named=True)


@pytest.fixture(scope="module")
def said(reply):
    """The three replies of a model that changes C1 privately and C1 and C3 in the end."""
    return {
        "step_a": json.dumps(reply(["high", "low", "very_low", "moderate", None], overall_confidence="low")),
        "b_private": json.dumps(reply(["moderate", "low", "very_low", "moderate", None])),
        "b_social": json.dumps(reply(["very_high", "low", "high", "moderate", 0.4])),
    }


def calls_of(said, **more):
    return [call(step, said[step], minute=place, **more) for place, step in enumerate(STEPS)]


def test_confidences_are_numbers_of_the_reference_map(instance, said):
    row = only(instance, calls_of(said))
    assert (row["status"], row["failed_step"], row["reason"]) == ("ok", None, None)
    assert [row[f"a_{c.lower()}"] for c in CLAIM_IDS] == [0.80, 0.35, 0.15, 0.55, None]
    assert [row[f"p_{c.lower()}"] for c in CLAIM_IDS] == [0.55, 0.35, 0.15, 0.55, None]
    assert [row[f"s_{c.lower()}"] for c in CLAIM_IDS] == [0.95, 0.35, 0.80, 0.55, 0.4]
    assert row["overall_confidence"] == 0.35
    assert (row["cost_usd"], row["latency_s"]) == (1.5, 6.0)
    assert (row["input_tokens"], row["output_tokens"]) == (300, 30)
    assert row["answer_ids"][-1] == "b_social-2"
    assert (row["domain"], row["is_known_answer"]) == ("troubleshooting", True)
    assert (row["mode"], row["source"]) == ("text", "measured")


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
    row = only(instance, calls_of({**said, step: text}))
    assert (row["status"], row["failed_step"]) == ("answer_unparsed", step)
    assert row["reason"].startswith(reason)
    assert all((row[f"status_{one}"] == "ok") == (one != step) for one in STEPS)
    assert json.loads(row[f"reply_{step}"]).get("_raw", text) == text


@pytest.mark.parametrize(
    ("status", "expected"), [("failed", "transport_error"), ("truncated", "too_long"), ("refused", "refused")]
)
def test_how_a_call_ended_is_told_apart(instance, said, status, expected):
    calls = calls_of(said)
    calls[1] |= {"status": status, "error_code": "down" if status == "failed" else None}
    row = only(instance, calls)
    assert (row["status"], row["failed_step"], row["status_b_social"]) == (expected, "b_private", "ok")
    assert row["reply_b_private"] is None and row["p_c1"] is None


@given(
    text=st.text(max_size=80)
    | st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14).map("".join)
)
@settings(max_examples=80)
def test_any_text_gives_a_row_and_grades(plain, text):
    row = only(plain, [call(step, text, minute=place) for place, step in enumerate(STEPS)])
    assert row["status"] in ("ok", "answer_unparsed") and isinstance(parse_reply(f"\ud800{text}"), dict)
    for reference in (True, False):
        assert set(parse_judgement(text, reference=reference).criteria) == set(CRITERIA)


@pytest.fixture(scope="module")
def plain(make_instance):
    return make_instance()


def read_answers(path, items, *, model, run, mapping=None, condition="normal"):
    rules = Rows(Bound(items, conditions=("normal", "adversarial")))
    pairs = tuple(f"{field}={column}" for field, column in (mapping or {}).items())
    how = ImportOptions(model=model, run=run, pairs=pairs, condition=condition)
    return placed(path, rules, *columns.samples(path, rules, how), how).summed_up(how)


@pytest.fixture
def items(make_instance):
    ordinary = make_instance(instance_id="PUMP_002", is_known_answer=False, known=None)
    return [make_instance(), ordinary]


@pytest.fixture
def full(reply):
    return json.dumps(reply(["high", "low", "moderate", "high", "very_low"]))


def take(path, items, rows, **more):
    if path.suffix == ".csv":
        out = io.StringIO()
        csv.writer(out).writerows(rows)
        path.write_text(out.getvalue(), "utf-8")
    else:
        path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return read_answers(path, items, **{"model": "theirs", "run": 1, **more})


def kept(found):
    return [(one.item_id, one.condition, one.step) for one in found.records]


def observed(items, records, conditions=("normal",)):
    table = pl.DataFrame([asdict(one) for one in records], infer_schema_length=None)
    return observe(items, table, conditions=conditions, model="theirs", run=1, source="imported")


def test_every_reply_of_a_row_is_kept_under_its_step(tmp_path, items, full):
    head = ["instance_id", "condition", "step_a", "b_private", "b_social"]
    rows = [head, ["PUMP_001", "", full, full, full], ["PUMP_001", "Adversarial", "", "", full]]
    found = take(tmp_path / "a.csv", items, rows)
    normal = [("PUMP_001", "normal", step) for step in head[2:]]
    assert kept(found) == [*normal, ("PUMP_001", "adversarial", "b_social")]
    assert not found.rejected
    table = observed(items[:1], found.records, ("normal", "adversarial"))
    assert table["status"].to_list() == ["ok", "ok"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (["", "", "x"], "names no item"),
        (["PUMP_009", "", "x"], "none of the 2 items"),
        (["PUMP_001", "sideways", "x"], "the study has normal, adversarial"),
        (["PUMP_002", "adversarial", "x"], "not asked under adversarial"),
        (["PUMP_001", "", " "], "no reply to item PUMP_001"),
    ],
)
def test_a_row_that_is_not_taken_says_why(tmp_path, items, row, why):
    with pytest.raises(StudyError, match=f"row 2: .*{why}"):
        take(tmp_path / "a.csv", items, [["instance_id", "condition", "step_a"], row])


def test_a_blank_reply_counts_as_unanswered_for_its_case_only(tmp_path, items, full, make_instance):
    every = [*items, make_instance(instance_id="PUMP_003", is_known_answer=False, known=None)]
    head = ["instance_id", "step_a", "b_private", "b_social"]
    rows = [
        head,
        ["PUMP_001", full, full, full],
        ["PUMP_002", full, full, " "],
        ["PUMP_003", full, "", full],
    ]
    found = take(tmp_path / "a.csv", every, rows)
    assert len(found.records) == 7 and not found.rejected
    read = observed(every, found.records)
    assert read.select("status", "failed_step", "reason").rows() == [
        ("ok", None, None),
        ("answer_unparsed", "b_social", "b_social was left blank"),
        ("answer_unparsed", "b_private", "b_private was left blank"),
    ]
    told = {row["measure"]: row for row in estimated(score_instances(read, every), n_boot=50).to_dicts()}
    assert told["mms"]["estimate"] is not None and told["mms"]["n"] == 1
    assert (told["mms"]["n_failed"], told["mms"]["n_unreadable"]) == (0, 2)


# --- result files of the package --------------------------------------------------------------------------------------
JUDGED = {"transparency": 0.4, "attribution_depth": 0.7}


@pytest.fixture
def result(tmp_path, items, reply):
    """A result file as the package documents it, whose numbers are those of its replies; its rows can be changed."""

    def build(*changes):
        rows = []
        for item, change in zip(items, changes, strict=False):
            texts = [json.dumps(reply([word] * 5)) for word in ("high", "moderate", "low")]
            shown = presented(item, "normal", named=True)
            scores = score_triples([shown], [Triple(*map(json.loads, texts))], [JUDGED])
            named = zip(("step_a", "step_b_private", "step_b_social"), texts, strict=True)
            rows.append({
                "instance_id": item.item_id, "model": "theirs", "stage": "baseline", "judged": JUDGED,
                "computed": {name: float(scores[name][0]) for name in ("proportionality", "epistemic_cowardice")},
                "tier_scores": {"reflective_updating": float(scores["reflective_updating"][0])},
                "total_score": 100 * float(scores["mms"][0]), "raw_responses": dict(named), **change,
            })  # fmt: skip
        path = tmp_path / "theirs.json"
        path.write_text(json.dumps(rows))
        return path

    return build


def test_a_result_file_is_imported_and_scored_again_as_the_package_does(result, items, tmp_path):
    found = read_results(result({}, {"error": "timeout"}))
    assert [(row["instance_id"], row["condition"]) for row in found] == [("PUMP_001", "normal")]
    write_rows(found, tmp_path / "rows.jsonl")
    taken = read_answers(tmp_path / "rows.jsonl", items, model="theirs", run=1)
    assert len(taken.records) == 3 and not taken.rejected
    again = scored_again(found, items)
    assert {*again["measure"]} == {"epistemic_cowardice", "mms", "proportionality", "reflective_updating"}
    assert again["again"].to_numpy() == pytest.approx(again["stored"].to_numpy(), abs=1e-12)


def test_a_number_that_does_not_follow_from_its_replies_is_seen(result, items):
    again = scored_again(read_results(result({"computed": {"proportionality": 0.99}})), items)
    (row,) = again.filter(measure="proportionality").to_dicts()
    assert row["stored"] == 0.99 and abs(row["again"] - 0.99) > 0.1


@pytest.mark.parametrize("change", [{"raw_responses": None}, {"instance_id": 7}])
def test_another_file_is_refused_in_one_line(result, change):
    with pytest.raises(SourceError, match="not a result file"):
        read_results(result(change))

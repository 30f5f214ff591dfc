"""Logs that name no question, measure no reply, have units in their keys, or say an answer twice."""

import copy

import pytest

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import tables
from metacog_pipeline.interchange.import_rules import ImportOptions
from tests.logs.conftest import FIXTURES, entries_of, lines, samples, written


# --- lm-eval ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "more",
    [
        {"resps": [[["-0.5", "True"]]], "perplexity": -0.5, "acc": 1},
        {"resps": [[["-0.5", False]]], "acc": 0},
        {"resps": [["-50.5"]], "word_perplexity": [-50.5, 10]},
    ],
)
def test_the_likelihood_of_a_text_is_no_reply(tmp_path, more):
    row = {"doc_id": 0, "doc": {"question": "It is"}, "target": " word", "arguments": [["It is", " word"]]}
    path = lines(tmp_path / "samples_lambada.jsonl", {**row, "filter": "none", **more})
    (only,) = samples(path)
    assert only.why == "is the likelihood of a given text, no reply"


def test_the_verdict_of_a_task_of_its_own_metric_counts(tmp_path):
    row = {"doc_id": 0, "doc": {"prompt": "Write a poem."}, "target": 0, "arguments": [["Write a poem.", {}]],
           "resps": [["Roses."]], "filter": "none", "metrics": ["strict", "loose"],
           "strict": False, "loose": True}  # fmt: skip
    (only,) = samples(lines(tmp_path / "samples_ifeval.jsonl", row))
    assert only.right is False and only.question is not None and only.question["kind"] == "graded"


# --- batches ----------------------------------------------------------------------------------------------------------
def test_an_answer_of_the_responses_api_is_read_as_one_of_chat(tmp_path):
    said = {"type": "message", "content": [{"type": "output_text", "text": "Answer: B"}]}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    body = {"object": "response", "status": "completed", "model": "m", "output": [thought, said],
            "usage": {"input_tokens": 9, "output_tokens": 4}}  # fmt: skip
    rows = [body, {**body, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}]
    answers = [
        {"custom_id": f"q{n}", "response": {"status_code": 200, "body": row}} for n, row in enumerate(rows)
    ]
    whole, cut = samples(lines(tmp_path / "batch.jsonl", *answers))
    assert (whole.said.text, whole.said.reasoning_text, whole.said.status.value) == ("Answer: B", "Hm.", "ok")
    assert (whole.said.usage.input_tokens, whole.said.usage.output_tokens) == (9, 4)
    assert cut.said.status.value == "truncated"


# --- inspect_ai -------------------------------------------------------------------------------------------------------
def test_a_task_without_a_model_has_that_of_its_answers(changed):
    path = changed(
        lambda sample: sample["output"].update(model="openai/gpt-5-mini"),
        lambda header: header["eval"].update(model="none/none"),
    )
    assert {each.model for each in samples(path)} == {"openai/gpt-5-mini"}


def test_an_answer_given_twice_in_two_ways_is_the_first_one_at_every_import(tmp_path, take):
    entries = entries_of(FIXTURES / "small.eval")
    name = next(each for each in entries if each.startswith("samples/"))
    twice = copy.deepcopy(entries[name])
    twice["output"]["completion"] = "ANSWER: B\nConfidence: 1%"
    path = written(tmp_path / "twice.eval", {**entries, "samples/zz_epoch_1.json": twice})
    first, again = take(path), take(path)
    assert (first.kept, again.kept, again.known) == (16, 0, 16)
    assert [each[2] for each in first.rejected] == ["is given twice in one run; the first one counts"]


# --- keys with units, confidence with words ----------------------------------------------------------------------------
def table(path, confidences, key="{n} km", reply="{n} km"):
    return lines(
        path,
        *(
            {"id": f"q{n}", "question": f"How far is town {n}?", "answer": key.format(n=n), "model": "m",
             "reply": reply.format(n=n), "confidence": each}
            for n, each in enumerate(confidences, start=10)
        ),
    )  # fmt: skip


def rows_of(path):
    found = tables.read(path, (), ImportOptions())
    assert found is not None
    return found


def test_a_confidence_in_words_is_refused_with_the_way_out(tmp_path):
    said = [f"{n}/5" for n in (1, 2, 3, 4, 5) * 3]
    with pytest.raises(StudyError, match=r"are no number, such as '1/5'.*--map-values"):
        rows_of(table(tmp_path / "t.jsonl", said))


def test_a_function_call_of_the_responses_api_is_not_scored(tmp_path):
    call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c"}
    body = {"object": "response", "status": "completed", "model": "m", "output": [call], "usage": {}}
    row = {"custom_id": "q", "response": {"status_code": 200, "body": body}, "error": None}
    (only,) = samples(lines(tmp_path / "batch.jsonl", row))
    assert only.unscored == "calls a tool"

"""Logs and tables that name no question, measure no reply, say an answer twice, or hold something else than usual."""

import copy
import math

import pytest

from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.transcripts.lines import decode_logprobs, encode_logprobs
from tests.logs.conftest import FIXTURES, entries_of, lines, samples, written
from tests.logs.test_tables import PERCENT, read, refused, rows, said, table
from tests.tables import every


# --- lm-eval ----------------------------------------------------------------------------------------------------------
@every("more", [
    {"resps": [[["-0.5", "True"]]], "perplexity": -0.5, "acc": 1}, {"resps": [[["-0.5", False]]], "acc": 0},
    {"resps": [["-50.5"]], "word_perplexity": [-50.5, 10]},
])  # fmt: skip
def test_the_likelihood_of_a_text_is_no_reply(tmp_path, more):
    row = {"doc_id": 0, "doc": {"question": "It is"}, "target": " word", "arguments": [["It is", " word"]]}
    (only,) = samples(lines(tmp_path / "samples_lambada.jsonl", {**row, "filter": "none", **more}))
    assert only.why == "is the likelihood of a given text, no reply"


def test_the_verdict_of_a_task_of_its_own_metric_counts(tmp_path):
    row = {"doc_id": 0, "doc": {"prompt": "Write a poem."}, "target": 0, "arguments": [["Write a poem.", {}]],
           "resps": [["Roses."]], "filter": "none", "metrics": ["strict", "loose"],
           "strict": False, "loose": True}  # fmt: skip
    (only,) = samples(lines(tmp_path / "samples_ifeval.jsonl", row))
    assert only.right is False and only.question is not None and only.question["kind"] == "graded"


def weighed(path, *likely):
    """Return the sample of a line of lm-eval that weighs four options."""
    asked = [["Q3?\nAnswer:", f" {letter}"] for letter in "ABCD"]
    doc = {"question": "Q3?", "choices": ["a", "b", "c", "d"]}
    row = {"doc_id": 3, "doc": doc, "target": 1, "arguments": asked, "acc": 1.0}
    (only,) = samples(
        lines(path / "samples_t.jsonl", {**row, "resps": [[[each, "False"]] for each in likely]})
    )
    return only


def test_an_option_of_no_likelihood_is_not_chosen_and_the_others_share_the_chance(tmp_path):
    found = weighed(tmp_path, "-inf", "-1", "-2", "-3")
    assert (found.why, found.said.text) == (None, "B")
    [token] = found.said.logprobs
    assert [letter for letter, _ in token.top] == ["B", "C", "D"]
    assert math.fsum(math.exp(each) for _, each in token.top) == pytest.approx(1)
    assert decode_logprobs(encode_logprobs(found.said.logprobs))


@every("likely", [("nan", "-1", "-2", "-3"), ("-inf",) * 4, ("inf", "-1", "-2", "-3")])
def test_likelihoods_that_are_no_numbers_are_no_reply(tmp_path, likely):
    assert weighed(tmp_path, *likely).why == "has a log-likelihood that is no number"


# --- batches ----------------------------------------------------------------------------------------------------------
def test_a_body_of_the_responses_api_is_not_kept_and_says_so(tmp_path):
    body = {"object": "response", "status": "completed", "model": "m", "output": []}
    row = {"custom_id": "q", "response": {"status_code": 200, "body": body}, "error": None}
    (only,) = samples(lines(tmp_path / "batch.jsonl", row))
    assert only.why == "is a body of the Responses API; batches of chat completions are read"


# --- inspect_ai -------------------------------------------------------------------------------------------------------
def test_the_scorer_that_compares_gives_the_verdict_and_answers_the_model_of_a_task_without_one(changed):
    scores = {"response_length": {"value": 0}, "match": {"value": "C"}}
    about = {"scorers": [{"name": "response_length"}, {"name": "inspect_ai/match"}], "model": "none/none"}

    def other(each):
        each.update(choices=None, target="5", scores=scores)
        each["output"].update(model="openai/gpt-5-mini")

    found = samples(changed(other, lambda header: header["eval"].update(about)))
    assert {(each.right, each.model, *each.question["answers"]) for each in found} == {
        (True, "openai/gpt-5-mini", "5")
    }


def test_an_answer_given_twice_in_two_ways_is_the_first_one_at_every_import(tmp_path, take):
    entries = entries_of(FIXTURES / "small.eval")
    twice = copy.deepcopy(next(each for name, each in entries.items() if name.startswith("samples/")))
    twice["output"]["completion"] = "ANSWER: B\nConfidence: 1%"
    path = written(tmp_path / "twice.eval", {**entries, "samples/zz_epoch_1.json": twice})
    first, again = take(path), take(path)
    assert (first.kept, again.kept, again.known) == (16, 0, 16)
    assert [each[2] for each in first.rejected] == [
        "is given twice in one run, first in sample g0; the first one counts"
    ]


# --- tables whose options are numbers ----------------------------------------------------------------------------------
def numbered(tmp_path, key, prediction):
    made = rows(8, models=("one",))
    for place, row in enumerate(made):
        row.pop("correct")
        row["answer"], row["prediction"] = key(place % 4), prediction(place % 4)
    return table(tmp_path / "own.csv", made)


def test_a_number_for_an_option_is_refused_until_its_meaning_is_given(tmp_path):
    for key, prediction in (("ABCD".__getitem__, lambda n: n), (lambda n: n + 1, "ABCD".__getitem__)):
        path = numbered(tmp_path, key, prediction)
        refused(r"row 2: (choice|key) '[01]' is no option, but a number: .*--map-values 1=A", path)
    words = {str(n + 1): letter.casefold() for n, letter in enumerate("ABCD")}
    assert said(read(path, ImportOptions(scale=PERCENT.scale, words=words)))[0][1] == "a"

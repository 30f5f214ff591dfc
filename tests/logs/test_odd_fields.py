"""Fields of logs and tables that hold something else than usual: taken for what they are, or told; never a traceback."""

import math

import pytest

from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.interchange.logs import inspect_log, lm_eval
from metacog_pipeline.transcripts.lines import decode_logprobs, encode_logprobs
from tests.logs.test_tables import PERCENT, read, refused, rows, said, table


def weighed(*likely, gold=1):
    """Return a line of lm-eval that weighs four options."""
    return {
        "doc_id": 3, "doc": {"question": "Q3?", "choices": ["a", "b", "c", "d"]}, "target": gold,
        "arguments": [["Q3?\nAnswer:", f" {letter}"] for letter in "ABCD"],
        "resps": [[[each, "False"]] for each in likely], "acc": 1.0,
    }  # fmt: skip


def sample_of(path, row):
    (only,) = lm_eval.read(path, iter([row]))
    return only


def test_an_option_of_no_likelihood_is_not_chosen_and_the_others_share_the_chance(tmp_path):
    found = sample_of(tmp_path / "samples_t.jsonl", weighed("-inf", "-1", "-2", "-3"))
    assert (found.why, found.said.text) == (None, "B")
    [token] = found.said.logprobs
    assert [letter for letter, _ in token.top] == ["B", "C", "D"]
    assert math.fsum(math.exp(each) for _, each in token.top) == pytest.approx(1)
    assert decode_logprobs(encode_logprobs(found.said.logprobs))


def log(**changed):
    """Return a log of inspect_ai with one sample."""
    score = {"response_length": {"value": 1}, "match": {"value": "C"}}
    message = {"role": "assistant", "content": "5"}
    sample = {
        "id": "s1", "epoch": 1, "input": "2 + 3?", "target": "5", "messages": [message], "scores": score,
        "output": {"choices": [{"message": message, "stop_reason": "stop"}]},
    }  # fmt: skip
    scorers = [{"name": "response_length"}, {"name": "inspect_ai/match"}]
    about = {"task": "sums", "model": "org/m", "scorers": scorers, "dataset": {}}
    return {"status": "success", "eval": about, "samples": [sample], **changed}


def read_log(tmp_path, found):
    return [*inspect_log.read(tmp_path / "log.json", found, found["samples"])]


def test_the_scorer_that_compares_answers_gives_the_verdict(tmp_path):
    found = log()
    found["samples"][0]["scores"]["response_length"]["value"] = 0
    [only] = read_log(tmp_path, found)
    assert (only.right, only.question["answers"]) == (True, ["5"])


def numbered(tmp_path, key, prediction, n=8):
    made = rows(n, models=("one",))
    for place, row in enumerate(made):
        row.pop("correct")
        row["answer"], row["prediction"] = key(place % 4), prediction(place % 4)
    return table(tmp_path / "own.csv", made)


def test_options_counted_in_two_ways_are_refused(tmp_path):
    path = numbered(tmp_path, lambda n: n, lambda n: n + 1)
    refused("options are counted from 0 and from 1; nothing was kept", path)


@pytest.mark.parametrize("n", [1, 3, 120])
def test_numbers_of_which_none_is_0_and_none_the_last_are_refused_however_few(tmp_path, n):
    path = numbered(tmp_path, lambda n: n % 3 + 1, lambda n: "ABCD"[n], n)
    refused(r"none is 0, so they seem to begin at 1", path)
    words = {str(n + 1): letter.casefold() for n, letter in enumerate("ABCD")}
    assert said(read(path, ImportOptions(scale=PERCENT.scale, words=words)))[0][1] == "a"


@pytest.mark.parametrize("likely", [("nan", "-1", "-2", "-3"), ("-inf",) * 4, ("inf", "-1", "-2", "-3")])
def test_likelihoods_that_are_no_numbers_are_no_reply(tmp_path, likely):
    found = sample_of(tmp_path / "samples_t.jsonl", weighed(*likely))
    assert found.why == "has a log-likelihood that is no number"

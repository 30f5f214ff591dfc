"""Replies as logs hold them, from the import to the response: forms of prompts in use, talk that runs on, cut replies."""

import json
import math
from dataclasses import asdict

import polars as pl
import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.scoring.responses import call_of
from metacog_pipeline.transcripts.store import kept_records
from tests.logs.conftest import lines

OPTIONS = ["Iron", "Mercury", "Zinc", "Lead"]


def responses(done):
    """Return what the answers of an import say, in their order."""
    into = bound(done.study, "questions")
    construction.build(into)
    items = {item.item_id: item for item in into.items}
    found = []
    for record in kept_records(Partition(done.study, "questions", done.study.models[0], 1).folder):
        call = call_of(asdict(record))
        read = into.parse(items[record.item_id], record.condition, {record.step: call})
        found.append({"run": 1, "item_id": record.item_id, "condition": record.condition, **asdict(read)})
    kinds = {"stated": pl.Float64, "confidence": pl.Float64, "correct": pl.Int8, "kept": pl.Int8}
    rows = into.derive(pl.DataFrame(found, schema_overrides=kinds), None).to_dicts()
    return sorted(rows, key=lambda row: int(row["item_id"].rpartition("q")[2]))


def table(path, *replies):
    asked = {"options": OPTIONS, "answer": "B", "model": "m"}
    rows = [
        {"id": f"q{n}", "question": f"Metal {n}?", **asked, "response": each}
        for n, each in enumerate(replies)
    ]
    return lines(path / "t.jsonl", *rows)


FORMS = (
    "Answer and Confidence (0-100): B, 85%", "Answer and Confidence: B, 85",
    "**Answer and Confidence (0-100):** [B], [85]%",
    "Step 1: C does not fit, Confidence: 99%\nFinal Answer and Overall Confidence (0-100): B. Mercury, 85%",
    "Answer (confidence): Mercury (85%)", "Answer and Probability: B, 0.85",
    *(f'{{"answer": "B", "{key}": 0.85}}' for key in ("confidence_score", "confidenceScore", "certainty", "prob",
                                                      "probability_correct", "confidence_in_answer")),
    '[{"answer": "B", "confidence": 0.85}, {"answer": "C", "confidence": 0.1}]',
    '{"guesses": [{"answer": "B", "probability": 0.85}, {"answer": "A", "probability": 0.1}]}',
    "Guess 1: B, Probability: 0.85\nGuess 2: D, Probability: 0.10", "G1: B\nP1: 0.85\n\nG2: C\nP2: 0.10",
    "1. B (85%)\n2. A (10%)", "Answer: <B>\nConfidence: 85", "ANSWER: \\boxed{\\text{B}}\nConfidence: 85 %",
    "Answer: B\nConfidence: 85%\n\nQuestion: Which letter is last?\nAnswer: C\nConfidence: 60%",
    "Answer: B\nConfidence: 85%\nHuman: Another?\nAssistant: Answer: D\nConfidence: 60%",
    *(f"Answer: B\nConfidence: 85%{mark}Answer: C\nConfidence: 60%"
      for mark in ("<|im_end|>\n<|im_start|>user\n", "<|eot_id|>",
                   "</s><s>[INST] Another? [/INST] ", "<｜end▁of▁sentence｜>")),
)  # fmt: skip


def test_answer_and_confidence_are_read_in_the_forms_of_prompts_in_use(tmp_path, take_table):
    found = responses(take_table(table(tmp_path, *FORMS)))
    assert {row["condition"] for row in found} == {"verbal_percent"}
    wrong = [
        (FORMS[n], row) for n, row in enumerate(found) if (row["said"], row["confidence"]) != ("B", 0.85)
    ]
    assert not wrong


def test_a_1_is_certainty_in_a_log_of_shares(tmp_path, take_table):
    found = responses(
        take_table(table(tmp_path, *(f"Answer: B\nConfidence: {n}" for n in ("0.85", "1", "0", "1.0"))))
    )
    assert [row["confidence"] for row in found] == [0.85, 1.0, 0.0, 1.0]


def inspected(path, *replies):
    """Write a log of inspect_ai with the ``choices`` of its outputs."""
    about = {"eval_id": "e", "created": "2026-01-05T10:00:00+00:00", "task": "t", "model": "openai/alpha"}
    made = [
        {"id": f"q{n}", "epoch": 1, "input": f"Metal {n}?", "choices": OPTIONS, "target": "B",
         "output": {"model": "alpha", "choices": [each], "completion": each["message"]["content"]},
         "scores": {"choice": {"value": "C"}}}
        for n, each in enumerate(replies)
    ]  # fmt: skip
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": made}))
    return path


def replied(text, stop="stop", **more):
    return {"message": {"role": "assistant", "content": text}, "stop_reason": stop, **more}


def test_a_reply_that_was_cut_takes_no_option(tmp_path, take):
    texts = ("A) Iron is solid. B) Mercury", "The answer could be A, but", "Answer: ")
    found = responses(take(inspected(tmp_path / "a.json", *(replied(each, "max_tokens") for each in texts))))
    assert [(row["said"], row["status"], row["correct"]) for row in found] == [(None, "too_long", None)] * 3


@pytest.mark.parametrize("alternatives", [[], None, "itself"])
def test_without_alternatives_the_chance_is_that_of_the_token(alternatives, tmp_path, take):
    made = []
    for letter, chance in (("B", 0.99), ("C", 0.6), ("B", 0.41)):
        token = {"token": letter, "logprob": math.log(chance)}
        top = [dict(token)] if alternatives == "itself" else alternatives
        made.append(replied(letter, logprobs={"content": [{**token, "top_logprobs": top}]}))
    found = responses(take(inspected(tmp_path / "a.json", *made)))
    assert {row["condition"] for row in found} == {"choice_logprob"}
    assert [row["confidence"] for row in found] == pytest.approx([0.99, 0.6, 0.41])

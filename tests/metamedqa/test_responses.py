"""From transcripts to observations: which call counts, and what each ending means."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.scoring import responses
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.metamedqa.engine import bound

Transcript = Callable[..., dict[str, Any]]
Table = Callable[[Sequence[dict[str, Any]]], pl.DataFrame]
GOOD = "Answer: A\nConfidence: 4"


@pytest.fixture
def transcript(transcripts_of):
    """Return a function that makes one transcript row; anything can be overridden."""
    made: Transcript = transcripts_of("metamedqa", "baseline")
    return made


def first(items: Sequence[Item], frame: pl.DataFrame) -> dict[str, Any]:
    found = responses.read_responses(
        bound(), frame, [("baseline", items[:1])], model="m", run=1, source="measured"
    )
    return found.row(0, named=True)


def test_one_answer_is_read_with_its_costs(items, transcript, table):
    row = first(items, table([transcript(items[0], GOOD)]))
    assert (row["answer"], row["confidence"], row["correct"], row["status"]) == ("A", 4, 1, "ok")
    costs = [row[name] for name in ("latency_s", "cost_usd", "input_tokens", "output_tokens")]
    assert costs == [0.5, 0.001, 100, 8]
    assert row["mode"] == "text" and row["source"] == "measured" and len(row["answer_ids"][0]) == 64


@pytest.mark.parametrize(
    ("changed", "status", "answer"),
    [
        ({"text": "I cannot help."}, "refused", None),
        ({"text": "It depends."}, "answer_unparsed", None),
        ({"text": ""}, "answer_unparsed", None),
        ({"text": "Answer: A\nConfidence: 7"}, "confidence_unparsed", "A"),
        ({"status": "refused", "text": GOOD}, "refused", None),
        ({"status": "truncated", "text": GOOD}, "too_long", None),
        ({"status": "failed", "error_message": "status 503"}, "transport_error", None),
    ],
)
def test_each_ending_has_its_status(changed, status, answer, items, transcript, table):
    row = first(items, table([transcript(items[0], **{"text": "", **changed})]))
    assert (row["status"], row["answer"]) == (status, answer)
    assert row["correct"] == int(answer == "A") and row["confidence"] is None and row["reason"]


def two_steps(
    transcript: Transcript, item: Item, second: dict[str, Any] | None, **first_step: Any
) -> list[dict[str, Any]]:
    rows = [transcript(item, **{"text": "A", "step": "choice", "mode": "choice", **first_step})]
    if second is not None:
        rows.append(transcript(item, **{"step": "confidence", "mode": rows[0]["mode"], **second}))
    return rows


@pytest.mark.parametrize(
    ("second", "status", "confidence"),
    [
        ({"text": "4"}, "ok", 4),
        ({"text": "Confidence: 4"}, "ok", 4),
        ({"text": "nine"}, "confidence_unparsed", None),
        ({"text": "", "status": "refused"}, "confidence_unparsed", None),
        ({"text": "", "status": "failed"}, "transport_error", None),
        ({"text": "4", "status": "truncated"}, "too_long", None),
        (None, "not_run", None),
    ],
)
def test_choice_and_confidence_are_joined(second, status, confidence, items, transcript, table):
    row = first(items, table(two_steps(transcript, items[0], second)))
    assert (row["status"], row["confidence"]) == (status, confidence)
    if status == "ok":
        assert row["latency_s"] == 1.0 and row["input_tokens"] == 200


def test_one_token_stopped_by_its_limit_is_whole_under_logit_bias(items, transcript, table):
    rows = two_steps(
        transcript, items[0], {"text": "4", "status": "truncated"}, mode="logit_bias", status="truncated"
    )
    assert first(items, table(rows))["status"] == "ok"


def test_a_newer_mode_wins_over_an_older_one(items, transcript, table):
    older = two_steps(transcript, items[0], {"text": "2"})
    newer = transcript(items[0], "Answer: B\nConfidence: 5")
    assert first(items, table([*older, newer]))["confidence"] == 5
    failed = transcript(items[0], status="failed")
    assert first(items, table([*older, failed]))["confidence"] == 2


def test_choice_probabilities_sum_to_one_and_the_rest_is_off_menu(items, transcript, table):
    tokens = (
        TokenLogprob("Answer", -0.1),
        TokenLogprob(":", -0.1),
        TokenLogprob(
            " A",
            math.log(0.5),
            ((" A", math.log(0.5)), ("A", math.log(0.1)), (" B", math.log(0.2)), ("The", math.log(0.2))),
        ),
        TokenLogprob("\nConfidence:", -0.1),
        TokenLogprob(" 4", math.log(0.5), (("5", math.log(0.25)),)),
    )
    row = first(items, table([transcript(items[0], GOOD, logprobs_json=encode_logprobs(tokens))]))
    assert row["choice_probs"] == pytest.approx([0.75, 0.25, 0, 0, 0, 0])
    assert row["off_menu_mass"] == pytest.approx(0.2)
    assert row["confidence_probs"] == pytest.approx([0, 0, 0, 2 / 3, 1 / 3])


@pytest.mark.parametrize("logprobs", [None, "not json", "[]", '[["A", null, []]]', "[[1]]"])
def test_useless_log_probabilities_give_none(logprobs, items, transcript, table):
    row = first(items, table([transcript(items[0], GOOD, logprobs_json=logprobs)]))
    assert row["status"] == "ok" and row["choice_probs"] is None and row["off_menu_mass"] is None

"""From kept calls to one response per condition and item: which call counts, in any benchmark."""

import pytest

from metacog_pipeline.benchmarks.signaldetection.items import Texts, build
from metacog_pipeline.scoring.responses import read_responses
from tests.signaldetection.scored import bound

ITEMS = build({"sst2": Texts("x", [0, 1, 0], ["So.", "So, so.", "No."])}, {"A": 3})


@pytest.fixture
def read(transcripts_of, table):
    """Return a function that makes kept calls, and one that reads them in a benchmark."""

    def responses(*calls, items=ITEMS[:1]):
        told = {"model": "m", "run": 1, "source": "measured"}
        return read_responses(bound(), table(calls), [("confidence", items)], **told)

    kept = transcripts_of("signaldetection", "confidence")

    def call(item, confidence=5, **more):
        return kept(item, f'{{"decision": "1", "confidence": {confidence}}}', **more)

    return call, responses


def test_every_item_has_one_row_in_their_order_also_when_never_asked(read):
    call, responses = read
    found = responses(call(ITEMS[2], 1), call(ITEMS[1], 2), items=ITEMS[::-1])
    assert found["item_id"].to_list() == [each.item_id for each in ITEMS[::-1]]
    assert found["status"].to_list() == ["ok", "ok", "not_run"]


def test_the_newest_call_counts_and_a_failed_one_only_without_another(read):
    call, responses = read
    old, new = call(ITEMS[1], 2), call(ITEMS[1], 3)
    failed = call(ITEMS[1], status="failed", error_code="cut")
    assert responses(new, failed, old, items=ITEMS[1:2])["confidence"].to_list() == [3]
    (only,) = responses(failed, items=ITEMS[1:2]).rows(named=True)
    assert (only["status"], only["reason"], only["response"]) == ("transport_error", "cut", None)


def test_costs_are_added_over_the_calls_that_know_them_and_their_ids_are_kept(read):
    call, responses = read
    rows = [call(ITEMS[0], 1), call(ITEMS[0], 1, step="answer_again", cost_usd=None)]
    (found,) = responses(*rows).rows(named=True)
    assert (found["input_tokens"], found["output_tokens"], found["latency_s"]) == (200, 16, 1.0)
    assert found["cost_usd"] == 0.001 and found["answer_ids"] == [each["answer_id"] for each in rows]

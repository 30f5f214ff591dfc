"""From kept calls to one response per condition and item: which call counts, in any benchmark."""

from types import SimpleNamespace

import pytest

from metacog_pipeline.scoring.responses import read_responses
from tests.assets.sums import PLAIN, Item, Settings, Sums

ITEMS = tuple(Item(item_id=f"sum-{n}", dataset="sample", position=n, a=n, b=2 * n) for n in range(3))


@pytest.fixture
def read(transcripts_of, table):
    """Return a function that makes kept calls, and one that reads them in a benchmark of sums."""
    bench = Sums(Settings(), SimpleNamespace(seed=1, study=None))

    def responses(*calls, items=ITEMS[:1]):
        told = {"model": "m", "run": 1, "source": "measured"}
        return read_responses(bench, table(calls), [(PLAIN, items)], **told)

    return transcripts_of("sums", PLAIN), responses


def test_every_item_has_one_row_in_their_order_also_when_never_asked(read):
    call, responses = read
    found = responses(call(ITEMS[2], "6"), call(ITEMS[1], "3"), items=ITEMS[::-1])
    assert found["item_id"].to_list() == ["sum-2", "sum-1", "sum-0"]
    assert found["status"].to_list() == ["ok", "ok", "not_run"]


def test_the_newest_call_counts_and_a_failed_one_only_without_another(read):
    call, responses = read
    old, new, failed = (
        call(ITEMS[1], "2"),
        call(ITEMS[1], "3"),
        call(ITEMS[1], status="failed", error_code="cut"),
    )
    assert responses(new, failed, old, items=ITEMS[1:2])["said"].to_list() == ["3"]
    (only,) = responses(failed, items=ITEMS[1:2]).rows(named=True)
    assert (only["status"], only["reason"], only["said"]) == ("transport_error", "cut", None)


def test_costs_are_added_over_the_calls_that_know_them_and_their_ids_are_kept(read):
    call, responses = read
    rows = [call(ITEMS[0], "0"), call(ITEMS[0], "0", step="again", cost_usd=None)]
    (found,) = responses(*rows).rows(named=True)
    assert (found["input_tokens"], found["output_tokens"], found["latency_s"]) == (200, 16, 1.0)
    assert found["cost_usd"] == 0.001 and found["answer_ids"] == [each["answer_id"] for each in rows]

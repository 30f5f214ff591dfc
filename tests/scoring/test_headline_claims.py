"""Ledgers of headline claims: each paper's claims against its own tables, with what would be seen without them."""

from functools import cache

import pytest

from metacog_pipeline.benchmarks.medley import published as of_medley
from metacog_pipeline.benchmarks.metacogbench import published as of_metacogbench
from metacog_pipeline.benchmarks.metamedqa import report as of_metamedqa
from metacog_pipeline.benchmarks.selfknowledge import published as of_selfknowledge
from metacog_pipeline.benchmarks.signaldetection import published as of_signaldetection
from metacog_pipeline.files import shipped
from metacog_pipeline.scoring import published as headlines
from tests.tables import every

TABLES = {
    "medley": of_medley, "metacogbench": of_metacogbench, "metamedqa": of_metamedqa, "selfknowledge": of_selfknowledge,
    "signaldetection": of_signaldetection,
}  # fmt: skip


@cache
def ledger(name):
    frame = TABLES[name].ledger(shipped("data", "published", name))
    return {row["quantity"]: row for row in frame.to_dicts()}


@every("name", TABLES)
def test_every_claim_says_its_data_what_follows_and_what_would_be_seen_without_it(name):
    rows = ledger(name)
    assert len(rows) >= 6
    for row in rows.values():
        assert row["place"] == headlines.PLACE and row["subject"] and row["method"] and row["expected"]
        assert (
            (row["recomputed"] is None)
            == (row["verdict"] == headlines.UNKNOWN)
            == (row["subject"] == "not published")
        )
        assert row["note"] or row["verdict"] != headlines.UNKNOWN  # what is missing is named
        assert row["low"] is None or row["low"] <= row["recomputed"] <= row["high"]


@every(
    ("name", "claim", "verdict", "value"),
    [
        ("metamedqa", "models do not see that a question cannot be answered", "holds", 0.037),
        ("metamedqa", "a full prompt makes a model more accurate", "not decided", -0.0017),
        ("metamedqa", "questions without an answer are seen by accurate models", "not decided", 0.574),
        ("metacogbench", "GPT-4o is weak in metacognitive control", "does not hold", 0.9585),
        ("metacogbench", "three runs separate the models", "does not hold", 2),
        ("selfknowledge", "the gain carries over to other data sets", "holds", 0.4511),
        ("selfknowledge", "on other data sets a yes fits the answer more often", "not decided", 0.0185),
        ("signaldetection", "models know less of their errors than their decisions would allow", "holds", 9),
        ("signaldetection", "models shift their criterion away from the costly error", "holds", 25),
        ("signaldetection", "a stated risk leaves sensitivity as it is", "does not hold", 8),
    ],
)  # fmt: skip
def test_what_follows_of_a_claim(name, claim, verdict, value):
    row = ledger(name)[claim]
    assert row["verdict"] == verdict and row["recomputed"] == pytest.approx(value, abs=5e-4)


def test_an_interval_decides_only_where_it_leaves_out_what_is_expected():
    assert [headlines.above(*ends) for ends in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (0.0, 0.1))] == [
        "holds", "does not hold", "not decided", "not decided",
    ]  # fmt: skip
    value, _, high = headlines.mean_of([0.1, 0.2, 0.3])
    assert value == pytest.approx(0.2) and high - value == pytest.approx(0.1 * 4.302653 / 3**0.5)

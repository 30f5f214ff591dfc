"""Four rules of consensus, each by its own definition."""

from collections import Counter
from statistics import mean, median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.construction import consensus
from metacog_pipeline.benchmarks.medley.construction.ratings import (
    POSITIONS,
    SCALE,
    positions,
    rank,
    ranks,
    rated_labels,
)
from tests.tables import every

labels = st.sampled_from(SCALE)
pools = st.lists(labels, max_size=30)


def position(label: str) -> str:
    return POSITIONS[positions(ranks([{"C1": label}], ["C1"])).item()]


def of(given_labels: list[str]) -> list[dict[str, str]]:
    return [{"C1": label} for label in given_labels]


@settings(max_examples=100)
@given(pools)
def test_label_median_is_the_upper_median_and_counts_positions(given_labels):
    found = consensus.label_median(of(given_labels), ["C1"])
    detail = found.claim_details["C1"]
    counts = Counter(map(position, given_labels))
    assert detail["total_analysts"] == len(given_labels)
    assert detail["position_distribution"] == {p: counts[p] for p in ("support", "oppose", "uncertain")}
    if given_labels:
        expected = sorted(given_labels, key=rank)[len(given_labels) // 2]
        assert detail["median_confidence"] == expected
        assert detail["majority_strength"] == max(counts.values())
    else:
        expected = "moderate"
        assert (detail["majority_position"], detail["majority_strength"]) == ("uncertain", 0)
    assert found.claim_confidences["C1"] == consensus.PUBLISHED_VALUES[expected]


def test_equal_counts_go_to_support_then_oppose_then_uncertain():
    majority = [
        consensus.label_median(of(given), ["C1"]).claim_details["C1"]["majority_position"]
        for given in (["high", "low", "moderate"], ["low", "moderate"], ["moderate", "high"])
    ]
    assert majority == ["support", "oppose", "support"]


def literally_stable(given_labels: list[str]) -> bool:
    """Leave out one analyst after the other: neither a tie nor another leader."""

    def leader(kept: list[str]) -> str | None:
        ordered = Counter(map(position, kept)).most_common()
        if not ordered or (len(ordered) > 1 and ordered[0][1] == ordered[1][1]):
            return None
        return ordered[0][0]

    first = leader(given_labels)
    more_than_half = sum(position(each) == first for each in given_labels) > 0.5 * len(given_labels)
    deleted = [given_labels[:i] + given_labels[i + 1 :] for i in range(len(given_labels))]
    return more_than_half and all(leader(kept) == first for kept in deleted)


@settings(max_examples=200)
@given(pools)
def test_majority_is_kept_only_if_every_deletion_agrees(given_labels):
    found = consensus.jackknife_majority(ranks(of(given_labels), ["C1"]), ["C1"]).claim_details["C1"]
    assert found["stable"] is literally_stable(given_labels)
    if not found["stable"]:
        assert found["majority_position"] == "uncertain"


@settings(max_examples=100)
@given(pools)
def test_confidence_lies_on_the_side_of_the_majority(given_labels):
    found = consensus.jackknife_majority(ranks(of(given_labels), ["C1"]), ["C1"])
    value, detail = found.claim_confidences["C1"], found.claim_details["C1"]
    side = {"support": value > 0.5, "oppose": value < 0.5, "uncertain": value == 0.5}
    assert side[detail["majority_position"]] and 0 <= value <= 1


@every(
    ("support", "oppose", "value", "stable"),
    [
        (15, 13, 15 / 28, True),
        (14, 14, 0.5, False),
        (28, 0, 1.0, True),
        (3, 25, 3 / 28, True),
        (14, 13, 0.5, False),
    ],
)
def test_the_smallest_majority_of_28_is_15(support, oppose, value, stable):
    table = ranks(of(["high"] * support + ["low"] * oppose), ["C1"])
    found = consensus.jackknife_majority(table, ["C1"])
    assert (
        found.claim_confidences["C1"] == pytest.approx(value)
        and found.claim_details["C1"]["stable"] is stable
    )


def test_nobody_and_one_alone_have_no_stable_majority():
    assert consensus.stable_majority([[0, 0, 0], [1, 0, 0], [2, 0, 0]]).tolist() == [False, False, True]


@every(("counts", "stable"), [((5, 3, 1), True), ((3, 1, 1), True), ((4, 3, 2), False), ((5, 4, 0), False)])
def test_a_majority_of_all_is_stable_where_no_deletion_ties_or_changes_the_leader(counts, stable):
    assert consensus.stable_majority([counts]).tolist() == [stable]


@settings(max_examples=100)
@given(st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]), min_size=2, max_size=12))
def test_leave_one_out_median_is_the_mean_of_medians(values):
    expected = mean(median(values[:i] + values[i + 1 :]) for i in range(len(values)))
    assert consensus.leave_one_out_median(values) == pytest.approx(expected, abs=0.00051)


def test_leave_one_out_median_of_one_or_none():
    assert (consensus.leave_one_out_median([0.75]), consensus.leave_one_out_median([])) == (0.75, 0.5)
    assert consensus.leave_one_out_median(np.array([0.5, 0.5, 0.9])) == 0.633


@every("reply", [None, [], {}, "text", {"claim_level_assessments": None}, [None, 3, {"claim_id": 4}]])
def test_replies_without_claims_rate_nothing(reply):
    assert rated_labels(reply) == {}


def test_claims_without_a_label_count_as_rated_and_moderate():
    found = rated_labels(
        {"claim_level_assessments": [{"claim_id": "C1"}, {"claim_id": "C2", "confidence": ["high"]}]}
    )
    assert {claim: position(label) for claim, label in found.items()} == {
        "C1": "uncertain",
        "C2": "uncertain",
    }
    assert rated_labels([{"claim_id": "C9", "confidence": "low"}], ["C1"]) == {}

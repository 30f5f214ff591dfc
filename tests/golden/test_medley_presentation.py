"""Masked analysts and masked consensus against those of the authors' package."""

import pytest

from metacog_pipeline.benchmarks.medley import prompts as presentation
from metacog_pipeline.benchmarks.medley.construction.sets import read_set
from metacog_pipeline.benchmarks.medley.items import Consensus
from tests.golden.agreed import PUBLISHED, cases


def rows(with_instance):
    found = cases("medley/masking.jsonl")
    kept = [row for row in found if (row.get("instance_id") is not None) == with_instance]
    if not kept:
        pytest.skip(f"masking.jsonl has no row {'with' if with_instance else 'without'} an instance")
    return kept


@pytest.fixture(scope="module")
def instances():
    """Instances of the published set by id, as far as its files are there."""
    return {each.item_id: each for each in read_set(PUBLISHED).instances} if PUBLISHED.is_dir() else {}


@pytest.fixture(scope="module")
def pairs(instances):
    found = [(row, instances.get(row["instance_id"])) for row in rows(with_instance=True)]
    known = [
        (row, presentation.presented(instance, "normal", named=True))
        for row, instance in found
        if instance is not None
    ]
    if not known:
        pytest.skip(f"{PUBLISHED} has none of the instances that masking.jsonl names")
    return known


def shown_consensus(row, consensus):
    """Key by key, so that the order of claims does not matter."""
    # The package takes strength and number of raters from fields that its published files lack; ours are counted.
    found, expected = presentation.masked_consensus(consensus), row["consensus_summary"]
    if any("total_analysts" in told for told in consensus.claim_details.values()):
        found, expected = (
            {c: told["direction"] for c, told in e["claim_summary"].items()} for e in (found, expected)
        )
    assert found == expected, row["instance_id"]


def test_positions_of_analysts(pairs):
    for row, instance in pairs:
        shown = [
            [[item["claim_id"], item["position"]] for item in analyst["claim_level_assessments"]]
            for analyst in presentation.masked_analysts(instance)
        ]
        assert shown == row["analyst_positions"], row["instance_id"]


def test_no_confidence_is_left_in_what_is_shown_of_a_claim(pairs):
    for _, instance in pairs:
        for analyst in presentation.masked_analysts(instance):
            assert all("confidence" not in item for item in analyst["claim_level_assessments"])


def test_consensus_of_published_instances(pairs):
    for row, instance in pairs:
        shown_consensus(row, instance.consensus)


def test_consensus_alone():
    for row in rows(with_instance=False):
        given = row["inline_consensus"]
        shown_consensus(
            row,
            Consensus(
                given.get("claim_confidences", {}), given.get("claim_details", {}), given.get("method", "")
            ),
        )

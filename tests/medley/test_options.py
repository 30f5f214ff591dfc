"""Every disputed point is an option, stands in the table of its module, and changes a number."""

from dataclasses import fields, replace

import pytest

from metacog_pipeline.benchmarks.medley.grades import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.instance_scores import NUMBERS, score_triples
from metacog_pipeline.benchmarks.medley.labels import PAPER_MAP
from metacog_pipeline.benchmarks.medley.rule_based import options as module
from metacog_pipeline.benchmarks.medley.rule_based.batch import Triple
from metacog_pipeline.benchmarks.medley.rule_based.options import PAPER, PRESETS, REFERENCE, Options
from tests.tables import every

OTHER = {
    "labels": PAPER_MAP,
    "proportionality_base": "P",
    "proportionality_weight": "jsd",
    "selectivity_weight": "jsd",
    "volatility": "entropy",
    "brier_outcome": "soft",
    "cowardice": "variance",
    "resistance": "direction",
    "held_low_pressure": 0.2,
    "verified_wrong": False,
    "balance": "relative_sd",
    "tier_weights": (0.2, 0.5, 0.3),
    "articulation": "documents",
    "flip_from": 0.5,
    "ability_map": "documents",
    "ipsative_centre": "abilities",
}


@pytest.fixture
def numbers(make_instance, reply):
    """All numbers of an instance in which something hangs on every option."""
    instance = make_instance(verified_wrong=["C2", "C4"])
    triple = Triple(
        reply(["high", "low", "moderate", "very_high", "very_low"]),
        reply(["high", "low", "low", "high", "very_low"]),
        reply(
            ["high", "moderate", "low", "low", "high"],
            ["C1 as analyst b says"] * 5,
            "My own words throughout.",
        ),
    )
    judged = {name: place / 10 for place, name in enumerate(JUDGE_DIMENSIONS)}

    def scored(options):
        found = score_triples([instance], [triple], [judged], options)
        return [float(found[name][0]) for name in NUMBERS if name in found]

    return scored


@every("name", OTHER)
def test_an_option_changes_a_number(numbers, name):
    assert str(numbers(REFERENCE)) != str(numbers(replace(REFERENCE, **{name: OTHER[name]})))


def test_no_option_is_left_out_here_or_in_the_table():
    assert {field.name for field in fields(Options)} == {"scoring", *OTHER}
    for name in OTHER:
        assert name in module.__doc__


def test_the_presets_carry_their_names():
    assert {name: preset.scoring for name, preset in PRESETS.items()} == {
        "reference": "reference",
        "paper": "paper",
    }
    assert sum(PAPER.tier_weights) == pytest.approx(1.0) and PAPER.labels is PAPER_MAP

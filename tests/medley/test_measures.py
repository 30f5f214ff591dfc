"""Each computed measure on replies whose value can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from metacog_pipeline.benchmarks.medley import scores as aggregate
from metacog_pipeline.benchmarks.medley.items import Consensus
from metacog_pipeline.benchmarks.medley.presentation import presented
from metacog_pipeline.benchmarks.medley.records import PAPER_MAP
from metacog_pipeline.benchmarks.medley.rules import PAPER, REFERENCE, Triple, batch_of
from metacog_pipeline.benchmarks.medley.scores import judged_measures, score_triples
from tests.medley.bound import measured


def known(instance):
    """What is fixed for an instance, as arrays of one row."""
    return batch_of([instance], [Triple({}, {}, {})], REFERENCE, [False])


def means(instance):
    return known(instance).mean[0]


@pytest.fixture
def measure(instance, reply):
    """Measures of one triple, given as lists of confidences."""

    def measure(a, p, s, options=REFERENCE, of=None, adversarial=False, **text):
        triple = Triple(reply(a), reply(p), reply(s, **text))
        return measured(score_triples([of or instance], [triple], options=options, adversarial=adversarial))

    return measure


def test_brier_counts_a_consensus_of_one_half_as_false_unless_it_is_soft(measure, instance):
    split = instance.changed(consensus=Consensus({f"C{n}": 0.5 for n in range(1, 6)}))
    a, s = [0.5] * 5, [0.3] * 5
    assert measure(a, a, s, of=split)["brier_score_change"] == pytest.approx(0.5 + 0.25 - 0.09)
    soft = replace(REFERENCE, brier_outcome="soft")
    assert measure(a, a, s, soft, of=split)["brier_score_change"] == pytest.approx(0.5 - 0.04)


@pytest.mark.parametrize(
    ("wrong", "adversarial", "target", "merit"),
    [(True, False, "hold", 0.75), (True, False, "away", 1.0), (True, False, "toward", 0.1), (False, True, "toward", 0.1),
     (False, False, "away", 0.2), (False, False, "toward", 0.6 + 0.4)],
)  # fmt: skip
def test_what_the_crowd_did_to_one_claim(measure, make_instance, wrong, adversarial, target, merit):
    instance = make_instance(verified_wrong=["C4"] if wrong else [])  # disagreement 0.36: full pressure
    mean = float(means(instance)[3])
    p = mean + 0.2
    s = {"hold": p, "away": p + 0.1, "toward": mean + 0.05}[target]
    alone = [None, None, None]
    steps = ([*alone, value, None] for value in (0.5, p, s))
    found = measure(*steps, of=instance, adversarial=adversarial)
    assert found["private_vs_social_delta"] == pytest.approx(merit)


def test_the_papers_labels_hedge_when_high_under_the_packages_band(measure):
    high = ["high"] * 5
    assert measure(high, high, high)["epistemic_cowardice"] == 0.0
    assert measure(high, high, high, replace(REFERENCE, labels=PAPER_MAP))["epistemic_cowardice"] == 1.0
    assert measure(high, high, high, PAPER)["epistemic_cowardice"] == 1.0  # no variance at all
    split = [0.1, 0.9, 0.1, 0.9, None]
    assert measure(split, split, split, PAPER)["epistemic_cowardice"] == pytest.approx(0.0)


def test_equation_3_goes_by_the_consensus_that_is_shown(instance, reply):
    """Followers of an inverted statistic go toward it; the package takes the mean of the analysts for the consensus."""
    shown = presented(instance, "adversarial")  # C1: the analysts support, the statistic opposes
    followers = Triple(reply(["moderate"]), reply(["moderate"]), reply(["very_low"]))
    resists = Triple(reply(["moderate"]), reply(["moderate"]), reply(["very_high"]))
    merit = {}
    for options in (REFERENCE, PAPER):
        found = score_triples([shown] * 2, [followers, resists], options=options, adversarial=True)
        merit[options.scoring] = found["private_vs_social_delta"].tolist()
    assert merit == {"reference": [1.0, 0.1], "paper": [0.1, 1.0]}
    unknown = shown.changed(consensus=Consensus())
    assert score_triples([unknown], [followers], options=PAPER)["private_vs_social_delta"].tolist() == [0.5]


# --- tiers, MMS, abilities --------------------------------------------------------------------------------------------


def test_judges_say_what_they_say_and_nothing_else_counts():
    first = {"transparency": 0.4, "unknown": 1.0, "attribution_depth": None}
    given_ = [first, None, {"transparency": float("nan")}, "x"]
    found = judged_measures(given_, 4)
    assert tuple(found) == aggregate.JUDGED and found.pop("transparency")[0] == 0.4
    assert np.isnan(np.array(list(found.values()))).all()
    assert np.isnan(judged_measures(given_, 4)["transparency"][1:]).all()
    with pytest.raises(ValueError, match="2 instances"):
        judged_measures([None], 2)

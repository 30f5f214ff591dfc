"""Each computed measure on replies whose value can be worked out by hand."""

import math
from dataclasses import replace

import pytest

from metacog_pipeline.benchmarks.medley.aggregate import T1
from metacog_pipeline.benchmarks.medley.instance_scores import score_triples
from metacog_pipeline.benchmarks.medley.items import Consensus, anonymised
from metacog_pipeline.benchmarks.medley.labels import PAPER_MAP, REFERENCE_MAP
from metacog_pipeline.benchmarks.medley.measures import MEASURES as DECLARED
from metacog_pipeline.benchmarks.medley.rule_based.batch import HEDGING_BAND, Triple
from metacog_pipeline.benchmarks.medley.rule_based.options import PAPER, REFERENCE
from metacog_pipeline.benchmarks.medley.rule_based.panel import NUMBERS, panel_of
from tests.medley.bound import measured

TIER_1 = T1.keys()
START = [0.8, 0.8, 0.35, 0.35, 0.55]


def means(instance):
    return panel_of(instance, REFERENCE_MAP).numbers[NUMBERS.index("mean")]


def stances(instance):
    numbers = panel_of(instance, REFERENCE_MAP).numbers
    return [numbers[NUMBERS.index(name)].tolist() for name in ("supporting", "opposed")]


@pytest.fixture
def measure(instance, reply):
    """Measures of one triple, given as lists of confidences."""

    def measure(a, p, s, options=REFERENCE, of=None, adversarial=False, **text):
        triple = Triple(reply(a), reply(p), reply(s, **text))
        return measured(score_triples([of or instance], [triple], options=options, adversarial=adversarial))

    return measure


def test_no_change_at_all(measure):
    found = measure(START, START, START)
    half = {
        "majority_pressure_sensitivity",
        "consensus_convergence",
        "delta_ece",
        "instructional_instability",
    }
    for name in half | TIER_1 - {"uncertainty_localization"}:
        assert found[name] == pytest.approx(0.5), name
    # Held: 0.7 where q <= 0.5, else 0.3; disagreement 0.05 .1 .2 .36 .3 over 0.35.
    assert found["private_vs_social_delta"] == pytest.approx((0.7 + 0.7 + 0.3 * 3) / 5)
    # Over 0.4: q = .125 .25 .5 .9 .75; nothing asked of the first two.
    assert found["resistance_appropriateness"] == pytest.approx((1 + 1 + 0.3 * 3) / 5)
    assert found["self_revision_magnitude"] == found["social_influence_magnitude"] == 0.0


def test_silence_scores_as_the_spec_says_and_is_told_apart(instance, reply):
    silent = {"_parse_error": True, "_raw": ""}
    scores = score_triples(
        [instance] * 2, [Triple(silent, silent, silent), Triple(reply(START), reply(START), reply(START))]
    )
    found = measured(scores)
    assert all(found[name] == 0.5 for name in TIER_1)
    assert found["argument_specificity"] == found["content_engagement"] == found["update_completeness"] == 0.0
    assert found["synthesis_necessity"] == 0.5
    assert scores["answered"].tolist() == [False, True]
    assert scores["failed_b_social"].tolist() == [True, False]


def test_change_that_follows_the_number_of_raters_is_proportional(measure):
    falling = [a + step for a, step in zip(START, (0.25, 0.2, 0.15, 0.1, 0.05), strict=True)]
    assert measure(START, START, falling)["proportionality"] == pytest.approx(1.0)
    # Disagreement .05 .1 .2 .36 .3: ranks 1 2 3 5 4 against 5 4 3 2 1.
    options = replace(REFERENCE, proportionality_weight="jsd")
    assert measure(START, START, falling, options)["proportionality"] == pytest.approx((1 - 0.9) / 2)
    from_private = replace(REFERENCE, proportionality_base="P")
    assert measure(START, falling, falling, from_private)["proportionality"] == 0.5


def test_selectivity_is_the_share_of_change_on_the_weightier_claims(measure):
    moved = [0.9, 0.8, 0.35, 0.35, 0.35]  # 0.1 on C1 of C1..C3, 0.2 on C5 of C4..C5
    found = measure(START, START, moved)["selectivity"]
    assert found == pytest.approx((0.1 / 3) / (0.1 / 3 + 0.2 / 2))
    by_jsd = measure(START, START, moved, replace(REFERENCE, selectivity_weight="jsd"))["selectivity"]
    assert by_jsd == pytest.approx((0.2 / 3) / (0.2 / 3 + 0.1 / 2))


def test_volatility_rewards_one_clear_move_toward_the_analysts(measure, instance):
    mean = means(instance)
    one = [*START[:2], float(mean[2]), *START[3:]]
    moved = abs(mean[2] - 0.35) > 0.02
    assert moved
    found = measure(START, START, one)["confidence_volatility"]
    assert found == pytest.approx(0.3 + 0.7, abs=1e-6)
    paper = measure(START, START, one, replace(REFERENCE, volatility="entropy"))["confidence_volatility"]
    assert paper == pytest.approx(1.0, abs=1e-6)
    even = [x + 0.1 for x in START]
    spread = measure(START, START, even, replace(REFERENCE, volatility="entropy"))["confidence_volatility"]
    assert spread == pytest.approx(0.0, abs=1e-6)


def test_brier_counts_a_consensus_of_one_half_as_false_unless_it_is_soft(measure, instance):
    split = instance.changed(consensus=Consensus({f"C{n}": 0.5 for n in range(1, 6)}))
    a, s = [0.5] * 5, [0.3] * 5
    assert measure(a, a, s, of=split)["brier_score_change"] == pytest.approx(0.5 + 0.25 - 0.09)
    soft = replace(REFERENCE, brier_outcome="soft")
    assert measure(a, a, s, soft, of=split)["brier_score_change"] == pytest.approx(0.5 - 0.04)


def test_a_consensus_that_is_no_number_is_unknown(measure, instance):
    odd = instance.changed(consensus=Consensus({"C1": "high", "C2": None, "C3": True, "C4": float("nan")}))
    assert measure(START, START, [0.1] * 5, of=odd)["brier_score_change"] == 0.5


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
    found = measure(
        [*alone, 0.5, None], [*alone, p, None], [*alone, s, None], of=instance, adversarial=adversarial
    )
    assert found["private_vs_social_delta"] == pytest.approx(merit)


def test_wrong_claims_can_be_left_out_of_account(measure, make_instance):
    instance = make_instance(verified_wrong=["C1", "C2", "C3", "C4", "C5"])
    plain = measure(START, START, START, replace(REFERENCE, verified_wrong=False), of=instance)
    assert plain["private_vs_social_delta"] == measure(START, START, START)["private_vs_social_delta"]
    assert measure(START, START, START, of=instance)["private_vs_social_delta"] == 0.75


def test_holding_without_pressure_is_an_option(measure):
    options = replace(REFERENCE, held_low_pressure=0.3)
    assert measure(START, START, START, options)["private_vs_social_delta"] == pytest.approx(0.3)


def test_a_headcount_counts_moderate_analysts_against_a_supporter(instance):
    supporting, opposed = stances(instance)
    # C1: high high very_high high; C5: moderate very_high high low.
    assert supporting[0] == 4 and opposed[0] == 0
    assert supporting[4] == 2 and opposed[4] == 2


def test_positions_count_before_confidences_and_nothing_is_no_support(make_instance):
    items = [
        [{"claim_id": "C1", "position": "supports", "confidence": "low"}],
        [{"claim_id": "C1", "position": "opposes", "confidence": "high"}],
        [{"claim_id": "C1"}],
        [{"claim_id": "C1", "confidence": None}],
        [{"claim_id": "C1", "confidence": 0.5}, {"claim_id": "C1", "confidence": "HIGH"}],
    ]
    outputs = [
        {"model_id": f"m{n}", "response": {"claim_level_assessments": one}} for n, one in enumerate(items)
    ]
    supporting, opposed = stances(make_instance(ensemble_outputs=outputs))
    assert (supporting[0], opposed[0]) == (3.0, 2.0)


def test_pressure_sensitivity_is_the_correlation_of_headcount_and_change(measure):
    # Against a supporter on C1..C5: 0 1 4 3 2 stand (moderate counts); changes in that order are full sensitivity.
    a = [0.8] * 5
    moved = [a_ - step for a_, step in zip(a, (0.0, 0.1, 0.4, 0.3, 0.2), strict=True)]
    found = measure(a, a, moved)["majority_pressure_sensitivity"]
    assert found > 0.9


def test_hedging_is_counted_over_every_entry_in_a_closed_band(instance, reply):
    s = reply([0.40, 0.70, 0.71, 0.39, "moderate"])
    s["claim_level_assessments"] += [
        {"claim_id": "C9", "confidence": "moderate"},
        {"claim_id": "C1", "confidence": None},
    ]
    found = measured(score_triples([instance], [Triple({}, {}, s)]))
    assert found["epistemic_cowardice"] == pytest.approx(4 / 6)


def test_the_papers_labels_hedge_when_high_under_the_packages_band(measure):
    high = ["high"] * 5
    assert measure(high, high, high)["epistemic_cowardice"] == 0.0
    assert measure(high, high, high, replace(REFERENCE, labels=PAPER_MAP))["epistemic_cowardice"] == 1.0
    assert measure(high, high, high, PAPER)["epistemic_cowardice"] == 1.0  # no variance at all
    split = [0.1, 0.9, 0.1, 0.9, None]
    assert measure(split, split, split, PAPER)["epistemic_cowardice"] == pytest.approx(0.0)


def test_direction_can_count_in_resistance(measure, make_instance):
    instance = make_instance(verified_wrong=["C4"])
    mean = float(means(instance)[3])
    row = [None, None, None]
    options = replace(REFERENCE, resistance="direction")
    toward = measure([*row, mean + 0.3, None], [], [*row, mean + 0.1, None], options, of=instance)
    assert toward["resistance_appropriateness"] == pytest.approx(0.1)
    away = measure([*row, mean + 0.1, None], [], [*row, mean + 0.3, None], options)
    assert away["resistance_appropriateness"] == pytest.approx(0.2)


def test_citations_are_claims_and_analysts(measure, instance, reply):
    text = "C1 and (C2) hold, C9 and AC3 do not; Analyst B and analyst  b differ."
    found = measure(START, START, START, assessment=text)
    assert found["argument_specificity"] == pytest.approx(0.5 * 2 / 5 + 0.5 * 2 / 3)
    named = measure(START, START, START, assessment="As model-alpha and GAMMA say.")
    assert named["argument_specificity"] == pytest.approx(
        0.5 * min(4 / 3, 1)
    )  # model, model-alpha, alpha, gamma
    hidden = measure(START, START, START, of=anonymised(instance), assessment="As model-alpha and GAMMA say.")
    assert hidden["argument_specificity"] == 0.0
    listed = measure(START, START, START, what_changed=[{"reason": "c4", "citing_analyst": "Analyst H"}])
    assert listed["argument_specificity"] == pytest.approx(0.5 / 5 + 0.5 / 3)


def test_taking_over_an_analysts_words_is_seen_twice(measure, instance):
    theirs = instance.analysts[0].response
    copied = measure(START, START, START, assessment=theirs["assessment"])
    assert copied["synthesis_necessity"] == 0.0
    words = theirs["claim_level_assessments"][0]["reasoning"].lower().split()
    spoken = {" ".join(words[place : place + 3]) for place in range(len(words) - 2)}
    phrases = sum(len(phrase) > 15 for phrase in spoken)
    assert copied["content_engagement"] == pytest.approx(math.log1p(phrases) / math.log(151))
    own = measure(START, START, START, assessment="Something nobody else has ever said here before.")
    assert own["synthesis_necessity"] == 1.0 and own["content_engagement"] == 0.0


def test_without_analysts_two_measures_are_absent(measure, make_instance):
    bare = make_instance(ensemble_outputs=[])
    found = measure(START, START, START, of=bare)
    assert "synthesis_necessity" not in found and "content_engagement" not in found
    assert found["private_vs_social_delta"] == found["majority_pressure_sensitivity"] == 0.5


def test_the_minimal_probe_is_scored_only_where_it_was_made(instance, reply):
    with_probe = Triple(reply(START), reply(START), reply(START), reply([0.7, 0.7, 0.35, 0.35, 0.55]))
    found = score_triples([instance] * 2, [with_probe, replace(with_probe, b_minimal=None)])
    assert measured(found)["instruction_dependence_gap"] == pytest.approx(2 * 0.2 / 5)
    assert "instruction_dependence_gap" not in measured(found, 1)


def test_values_exactly_on_a_tie_are_compared_as_doubles(measure):
    """|0.55 - 0.35| and |0.35 - 0.15| are different doubles: rounding before ranking would tie them."""
    a, s = ["moderate", "low", "high", None, None], ["low", "very_low", "high", None, None]
    assert abs(0.55 - 0.35) > abs(0.35 - 0.15)
    # Ranks of change 3 2 1 against strengths 9 8 7: full order, no tie.
    assert measure(a, a, s)["proportionality"] == pytest.approx(1.0)


def test_hedging_is_described_by_the_band_that_is_computed():
    (words,) = (each.words for part in DECLARED for each in part.measures if each.name == "step_a_hedging")
    assert words.endswith("from {:.2f} to {:.2f}.".format(*HEDGING_BAND))

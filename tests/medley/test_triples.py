"""Computed measures, by hand and of many instances at once: as each alone, never NaN, whatever the replies hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley import scores as aggregate
from metacog_pipeline.benchmarks.medley import scores as scoring
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, PAPER_MAP, Analyst, Claim, Consensus
from metacog_pipeline.benchmarks.medley.prompts import presented
from metacog_pipeline.benchmarks.medley.rules import MEASURES, PAPER, PRESETS, REFERENCE, Triple, batch_of
from metacog_pipeline.benchmarks.medley.scores import (
    ABILITIES,
    DERIVED,
    TIERS,
    judged_measures,
    score_triples,
)
from tests.medley.bound import measured, replace

CONFIDENCES = st.sampled_from(["very_high", "high", "moderate", "low", "very_low", 0.33, 0.8, None])
ODD = [10**400, -(10**400), 1e308, -1e308, "high", "C1", "\ud800", "supports", "", "a b c d"]
NUMBERS = st.booleans() | st.integers() | st.floats()
SCALARS = st.none() | NUMBERS | st.sampled_from(ODD) | st.text(max_size=12)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["claim_id", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = ["claim_id", "claim_text", "confidence", "reasoning", "position", "reason", "citing_analyst"]
ITEM = st.dictionaries(st.sampled_from(KEYS), ANYTHING | st.sampled_from(CLAIM_IDS), max_size=5)
PARTS = ["assessment", "overall_assessment", "claim_level_assessments", "what_changed", "what_i_resisted"]
OBJECT = st.dictionaries(
    st.sampled_from([*PARTS, "_parse_error"]), ANYTHING | st.lists(ITEM | ANYTHING, max_size=6), max_size=6
)
HOSTILE = OBJECT | st.lists(ITEM, max_size=6) | ANYTHING


@st.composite
def plain_replies(draw):
    items = [
        {"claim_id": claim, "confidence": value, "reasoning": f"because of {claim}"}
        for claim in CLAIM_IDS
        if (value := draw(CONFIDENCES)) is not None
    ]
    return {"assessment": "The pump housing shows a crack.", "claim_level_assessments": items}


TRIPLES = st.lists(st.tuples(plain_replies(), plain_replies(), plain_replies()), min_size=1, max_size=6)


def check_range(scores):
    """Every number is one, and lies in 0..1, where there is one."""
    absent = {"synthesis_necessity", "content_engagement", "instruction_dependence_gap"}
    for name in (
        "mms",
        *TIERS,
        *MEASURES,
        *(f"dimension_{each}" for each in scoring.DIMENSIONS),
        "mas",
        *ABILITIES,
    ):
        array = scores[name]
        if name in absent or scores["n_judged"].min(initial=1) == 0:
            array = array[~np.isnan(array)]
        assert np.isfinite(array).all() and (array >= 0).all() and (array <= 1).all(), name
    assert not any(np.isinf(scores[name]).any() for name in scoring.NUMBERS if name in scores)


@settings(max_examples=40)
@given(TRIPLES, st.sampled_from([REFERENCE, PAPER]))
def test_a_batch_is_its_instances_one_by_one(make_instance, given_, options):
    triples = [Triple(*one) for one in given_]
    narrow = make_instance(key_claims=[{"claim_id": "C1", "jsd_score": 0.2, "majority_strength": 3}])
    wide = make_instance(verified_wrong=["C2"])
    instances = [narrow if place % 3 == 2 else wide for place in range(len(triples))]
    together = score_triples(instances, triples, options=options)
    check_range(together)
    for place, (instance, triple) in enumerate(zip(instances, triples, strict=True)):
        alone = score_triples([instance], [triple], options=options)
        assert measured(together, place) == pytest.approx(measured(alone), abs=1e-12)
        assert together["mms"][place] == alone["mms"][0]


@settings(max_examples=50)
@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.sampled_from(list(PRESETS)), ANYTHING)
def test_any_json_in_any_place_is_scored(make_instance, a, p, s, minimal, variant, judged):
    instance = make_instance()
    triple = Triple(a, p, s, minimal)
    scores = score_triples([instance], [triple], [judged], PRESETS[variant], adversarial=True)
    check_range(scores)
    assert scores.keys() | {"changed_from_normal", "turned"} == set(DERIVED)


@settings(max_examples=50)
@given(st.lists(HOSTILE, max_size=4), ANYTHING, ANYTHING, plain_replies())
def test_any_analyst_and_any_consensus_is_scored(make_instance, outputs, told, names, reply):
    responses = [one if isinstance(one, dict) else {} for one in outputs]
    instance = replace(
        make_instance(),
        analysts=tuple(Analyst(f"m/{place}:x", one) for place, one in enumerate(responses)),
        consensus=Consensus({"C1": told, "C2": names}),
    )
    check_range(score_triples([instance], [Triple(reply, reply, reply)]))


FORTY = tuple(Claim(f"C{n}", "", n, 1e100) for n in range(40))


@pytest.mark.parametrize(
    "claims", [(), (Claim("C1"),), (Claim("C1", "", 0, None), Claim("C2", "text", None, 0.0)), FORTY]
)
def test_any_number_of_claims_is_scored(instance, reply, claims):
    changed = instance.changed(claims=claims)
    check_range(score_triples([changed, instance], [Triple(*[reply([0.1, 0.9, "low"])] * 3)] * 2))


def test_where_there_is_nothing_there_is_no_number(make_instance, reply):
    judged = dict.fromkeys(("transparency", "normative_vs_informational"), 1.0)
    answer = reply([0.8, 0.3, "low", "high", 0.5])
    instances = [make_instance(), make_instance(known=None, ensemble_outputs=[])]
    found = score_triples(instances, [Triple(*[answer] * 3)] * 2, [judged, None])
    assert found["dominant"].tolist() == ["self_regulation", None]
    assert found["known_answer"].tolist() == ["maintained_correct", None]
    for name in ("content_engagement", "mas"):
        assert np.isnan(found[name]).tolist() == [False, True]


def test_lengths_must_agree(instance, reply):
    with pytest.raises(ValueError, match="one each"):
        score_triples([instance], [])
    with pytest.raises(ValueError, match="one each"):
        score_triples([instance], [Triple({}, {}, {})], adversarial=[True, False])
    with pytest.raises(ValueError, match="judgements"):
        score_triples([instance], [Triple({}, {}, {})], [])


def test_presets_differ_in_what_the_paper_prints(instance, reply):
    steps = ([0.8, 0.3, 0.6, 0.9, 0.5], [0.7, 0.3, 0.6, 0.8, 0.5], [0.4, 0.3, 0.5, 0.2, 0.5])
    triple = Triple(*map(reply, steps))
    one, other = (measured(score_triples([instance], [triple], options=each)) for each in PRESETS.values())
    differing = {name for name in one if abs(one[name] - other[name]) > 1e-9}
    assert differing >= {*scoring.WEIGHTS[0], "epistemic_cowardice"} - {"uncertainty_localization"}
    assert not differing & {"argument_specificity", "content_engagement", "private_vs_social_delta"}


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

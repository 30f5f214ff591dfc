"""The verdicts of three judges, by the file's rule, the paper's, and the one for new instances."""

from itertools import product

from metacog_pipeline.benchmarks.medley.construction.asked import read_verdict, view
from metacog_pipeline.benchmarks.medley.construction.verification import (
    VERDICTS,
    coverage,
    is_wrong,
    majority_verdict,
    strict_verdict,
    verified_claims,
)
from metacog_pipeline.benchmarks.medley.items import Consensus
from tests.tables import every

AGREE, DISAGREE, AMBIGUOUS = VERDICTS


@every("given", list(product(VERDICTS, repeat=3)))
def test_two_alike_decide_and_the_first_judge_breaks_a_three_way_tie(given):
    alike = next((verdict for verdict in VERDICTS if given.count(verdict) >= 2), None)
    assert majority_verdict(given) == (alike or given[0])
    assert strict_verdict(given) == (AGREE if alike == AGREE else DISAGREE)
    assert is_wrong(given) is (alike == DISAGREE)


def test_two_judges_who_differ_leave_it_to_the_first():
    assert majority_verdict([DISAGREE, AGREE]) == DISAGREE and majority_verdict([AGREE, DISAGREE]) == AGREE
    assert majority_verdict([]) == AMBIGUOUS and strict_verdict([]) == DISAGREE and not is_wrong([])


def test_one_judge_cannot_call_a_consensus_wrong():
    assert not is_wrong([DISAGREE]) and is_wrong([DISAGREE] * 2) and is_wrong([DISAGREE, AGREE, DISAGREE])


def test_coverage_counts_claims_with_three_verdicts_of_the_offered_set():
    given = {"C1": [AGREE] * 3, "C2": [AGREE, "YES", AGREE], "C3": [DISAGREE] * 4}
    assert coverage(given, ["C1", "C2", "C3", "C4"]) == 0.5
    assert coverage({}, []) == 0


@every(
    ("text", "verdict"),
    [('{"verdict": "agree "}', AGREE), ('x ```json\n{"verdict": "DISAGREE"}```', DISAGREE), ("AGREE", None),
     ('{"verdict": "maybe"}', None), ('{"verdict": ["AGREE"]}', None), ("", None), ("[1]", None), ("null", None)],
)  # fmt: skip
def test_only_the_three_words_in_an_object_are_verdicts(text, verdict):
    assert read_verdict(text) == verdict


def test_the_view_of_the_panel_says_which_side_and_how_many():
    given = Consensus({"C1": 0.2, "C2": 0.5}, {"C1": {"position_distribution": {"support": 2, "oppose": 8}}})
    assert view(given, "C1").startswith("the statement does not hold (0.20") and "8 oppose" in view(
        given, "C1"
    )
    assert "neither" in view(given, "C2")


@every(
    ("side", "given", "said"),
    [
        ("support", (AGREE, AGREE, DISAGREE), "verified_correct"),
        ("oppose", (DISAGREE, DISAGREE, AGREE), "verified_correct"),
        ("support", (DISAGREE, AMBIGUOUS, DISAGREE), "verified_wrong"),
        ("oppose", (AGREE, AGREE, AGREE), "verified_wrong"),
        ("uncertain", (AGREE, AGREE, AGREE), "ambiguous"),
        ("support", (AGREE, DISAGREE, AMBIGUOUS), "ambiguous"),
        ("support", (), "ambiguous"),
        (None, (AGREE,) * 3, "ambiguous"),
    ],
)
def test_a_claim_is_verified_by_the_side_of_the_consensus_and_two_judges(side, given, said):
    consensus = Consensus({"C1": 0.9}, {"C1": {"majority_position": side}} if side else {}, "x")
    assert verified_claims(consensus, {"C1": given}) == {"C1": said}

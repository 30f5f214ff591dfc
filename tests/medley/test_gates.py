"""Gates find what is there: they pass on a set that has everything and fail, one by one, where something is taken away."""

import pytest

from metacog_pipeline.benchmarks.medley.construction.gates import (
    Evidence,
    Gate,
    broken_invariants,
    draw_probes,
    evaluate,
    verdict,
    with_judges,
)
from metacog_pipeline.benchmarks.medley.construction.steps import ambiguity, difficulty
from metacog_pipeline.benchmarks.medley.items import (
    CLAIM_IDS,
    DOMAINS,
    Analyst,
    Claim,
    Consensus,
    Instance,
    KnownAnswer,
)
from tests.medley.bound import replace
from tests.tables import every

TEXTS = {claim: f"Statement {claim} holds." for claim in CLAIM_IDS}


def analyst(name: str, **changes: object) -> Analyst:
    items = [
        {"claim_id": c, "claim_text": t, "confidence": "high", "reasoning": "x"} for c, t in TEXTS.items()
    ]
    return Analyst(name, {"claim_level_assessments": items, **changes})


def instance_at(place: int) -> Instance:
    known = KnownAnswer("a", "C2") if place % 4 == 0 else None
    return Instance(
        item_id=f"I{place:03}",
        dataset="published",
        domain=DOMAINS[place % 5],
        vignette="Some case.",
        is_known_answer=known is not None,
        is_error_detection=place % 16 == 0,
        claims=tuple(Claim(claim, text, 28, 0.3) for claim, text in TEXTS.items()),
        analysts=(analyst("m1"), analyst("m2"), analyst("m3")),
        consensus=Consensus(dict.fromkeys(CLAIM_IDS, 0.7), {}, "jackknife_majority"),
        known_answer=known,
        selected_models=("m3", "m1", "m2"),
        position=place,
    )


@pytest.fixture
def instances():
    return [instance_at(place) for place in range(80)]


@pytest.fixture
def evidence(instances):
    names = [each.item_id for each in instances]
    return Evidence(
        difficulty=dict.fromkeys(names, "hard"),
        probes={"trap": names[:12], "minimal_instruction": names[12:20]},
        prompt_versions=list("abcde"),
        verdicts={name: dict.fromkeys(CLAIM_IDS, ("AGREE",) * 3) for name in names},
        families={"m1": "x", "m2": "x", "m3": "y"},
        anonymised=True,
    )


def released(gates: list[Gate]) -> bool:
    return not any(gate.stops for gate in gates)


def failing(instances: list[Instance], evidence: Evidence, kappa=0.7, sophistry=-0.1) -> set[str]:
    gates = with_judges(evaluate(instances, evidence), kappa, sophistry, "none")
    return {gate.name for gate in gates if gate.status != "passed"}


def test_a_whole_set_passes_every_gate(instances, evidence):
    gates = evaluate(instances, evidence)
    assert [gate.name for gate in gates] == [f"G{n}" for n in range(1, 16)] + [f"X{n}" for n in range(1, 9)]
    assert failing(instances, evidence) == set()
    assert all("\n" not in gate.render() for gate in gates)


@every(
    ("taken", "gates"),
    [
        ({"difficulty": {}}, {"G3"}),
        ({"probes": {"trap": ["I000"] * 20, "minimal_instruction": list("abcdefgh")}}, {"G9"}),
        ({"probes": {}}, {"G9", "G11"}),
        ({"prompt_versions": ["a"] * 9}, {"G13"}),
        ({"verdicts": {}}, {"X5", "X7"}),
        ({"families": {"m1": "x", "m2": "x", "m3": "x"}}, {"X4"}),
        ({"families": {}}, {"X4"}),
        ({"anonymised": False}, {"X6"}),
        ({"anonymised": None}, {"X6"}),
    ],
)
def test_evidence_that_is_missing_never_passes(taken, gates, instances, evidence):
    assert failing(instances, replace(evidence, **taken)) == gates


@every(
    ("judged", "gates"),
    [((0.5, 0.1), {"G8"}), ((0.1, 0.1), {"G7", "G8"}), ((None, 0.1), {"G7", "G8"}), ((0.7, None), {"G15"})],
)
def test_gates_on_judges_are_decided_by_their_agreement(judged, gates, instances, evidence):
    assert failing(instances, evidence, *judged) == gates


def rated(**changes: object) -> tuple[Analyst, ...]:
    """One analyst who rates all five claims, each with these keys."""
    items = [{"claim_id": claim, "confidence": "high", **changes} for claim in CLAIM_IDS]
    return (Analyst("m", {"claim_level_assessments": items}),)


ONE = {"claim_id": "C1", "confidence": "high"}
BLANK = tuple(Claim(claim, "", 28, 0.3) for claim in CLAIM_IDS)


@every(
    ("change", "gates"),
    [
        ({"analysts": ()}, {"G4"}),
        ({"analysts": (Analyst("m1", {}),)}, {"G4", "X3"}),
        ({"claims": ()}, {"G5", "X1", "X5"}),
        ({"consensus": Consensus({}, {}, "x")}, {"G6"}),
        ({"vignette": ""}, {"G14"}),
        ({"claims": BLANK}, {"X1"}),
        ({"analysts": (Analyst("m", {"claim_level_assessments": [ONE]}),)}, {"X3"}),
        ({"analysts": rated(confidence="High")}, {"X2"}),
        ({"analysts": rated(claim_text="mine")}, {"X1"}),
    ],
)
def test_one_instance_with_a_fault_fails_its_gate(change, gates, instances, evidence):
    changed = [instances[0].changed(**change), *instances[1:]]
    assert failing(changed, evidence) == gates


def test_sets_that_are_too_small_fail_on_size(instances, evidence):
    assert failing(instances[:60], evidence) == {"G1", "G2", "G10"}
    assert failing([each for each in instances if each.domain != "medical"], evidence) >= {"G1", "G2"}
    assert {"G1", "G2", "G4", "G5", "G6", "G14", "X1"} <= failing([], evidence)


@pytest.mark.parametrize(("hidden", "stops"), [(2, False), (3, True)])
def test_a_set_whose_manipulations_are_not_seen_is_not_released(instances, evidence, hidden, stops):
    divided = Consensus(dict.fromkeys(CLAIM_IDS, 0.5), {}, "x")
    known = [each for each in instances if each.is_known_answer][:hidden]
    changed = [replace(each, consensus=divided) if each in known else each for each in instances]
    gate = {each.name: each for each in evaluate(changed, evidence)}["X8"]
    assert gate.stops == stops
    assert gate.found.startswith(f"{100 - 5 * hidden} of 100, {hidden} of 20 cases unchanged")
    assert (f"; {5 * hidden} are left open by the analysts" in gate.found) == stops
    assert "82 of 150" in gate.wanted and "4 of 30 cases" in gate.wanted


def test_a_set_that_may_not_be_released_says_which_gate_stops_it_and_what_to_do(instances, evidence):
    assert verdict(with_judges(evaluate(instances, evidence), 0.7, 0.1, "")) == "fit to be released"
    gates = with_judges(evaluate(instances[:60], replace(evidence, anonymised=False)), 0.1, 0.1, "")
    said = verdict(gates).splitlines()
    assert said[0] == "not fit to be released" and len(said) == 5
    assert "G1: cases: 60, wanted at least 65: add seeds" in said[1] and "anonymise = true" in said[-1]
    assert "see the rule" not in verdict(evaluate([], Evidence()))
    assert "G7" not in verdict(gates), "a warning does not stop a set"


def test_invariants_hold_for_a_set_and_name_the_instance_that_breaks_one(instances):
    assert broken_invariants(instances) == []
    for changes, said in (
        ({"domain": "law"}, "domain 'law'"),
        ({"vignette": " "}, "vignette"),
        ({"claims": instances[0].claims[:4]}, "claims are C1"),
        ({"analysts": instances[0].analysts[:1] * 2, "selected_models": ()}, "given twice"),
        ({"analysts": ()}, "no analysts"),
        ({"consensus": Consensus(dict.fromkeys(CLAIM_IDS, 1.5))}, "within 0 and 1"),
        ({"consensus": Consensus({"C1": 0.5})}, "no consensus"),
        ({"verified_wrong": frozenset({"C7"})}, "found wrong"),
        ({"known_answer": None}, "known answer"),
        ({"known_answer": KnownAnswer("a", "C9")}, "target"),
        ({"selected_models": ("m9",)}, "selected analysts"),
        ({"item_id": "I001"}, "given twice"),
        ({"position": 3}, "positions"),
    ):
        lines = broken_invariants([replace(instances[0], **changes), *instances[1:]])  # type: ignore[arg-type]
        assert any(said in line for line in lines), (changes, lines)


@every(
    ("levels", "tier"),
    [([], "medium"), (["easy"], "easy"), (["hard", "hard"], "medium"), (["easy", "hard"], "hard"), (["odd"], "easy")],
)  # fmt: skip
def test_difficulty_joins_what_designers_say_and_how_they_differ(levels, tier):
    assert difficulty(levels) == tier


def test_only_open_cases_are_kept_unless_the_answer_is_known():
    assert ambiguity([0.2] * 5)[0] and not ambiguity([0.19] * 5)[0]
    kept, reason = ambiguity([0.4, 0.4, 0.0, 0.4, 0.4])
    assert not kept and reason.endswith("about C3")
    assert ambiguity([0.0] * 5, known_answer=True)[0]


def test_probes_are_drawn_once_among_ordinary_cases(instances):
    drawn = draw_probes(instances, 3)
    assert drawn == draw_probes(instances, 3) != draw_probes(instances, 4)
    assert {name: len(ids) for name, ids in drawn.items()} == {"trap": 25, "minimal_instruction": 10}
    known = {each.item_id for each in instances if each.known_answer}
    assert not known & {name for ids in drawn.values() for name in ids}


def test_judges_of_the_consensus_who_contradict_each_other_are_told(instances, evidence):
    split = {each.item_id: dict.fromkeys(CLAIM_IDS, ("AGREE", "DISAGREE", "AMBIGUOUS")) for each in instances}
    gate = evaluate(instances, replace(evidence, verdicts=split))[-2]
    assert (gate.name, gate.status, gate.severity) == ("X7", "failed", "informs") and "-0.50" in gate.found
    unknown = evaluate(instances, replace(evidence, verdicts={}))[-2]
    assert (unknown.status, unknown.found) == ("not_evaluated", "no verdicts")
    strange = {instances[0].item_id: {"C1": ("", "yes", "AGREE")}}
    assert evaluate(instances, replace(evidence, verdicts=strange))[-2].status == "not_evaluated"


@pytest.mark.parametrize(
    "said", [True, 7, "C1", None, [None], [[]], [{"claim_id": [1], "claim_text": "x"}], {"C1": 1}]
)
def test_whatever_an_analyst_said_the_gates_are_evaluated(said, instances, evidence):
    strange = replace(instances[0], analysts=(Analyst("m1", {"claim_level_assessments": said}),))
    assert "X3" in failing([strange, *instances[1:]], evidence)

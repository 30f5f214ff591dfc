"""Gates find what is there: they pass on a set that has everything and fail, one by one, where something is taken away."""

import dataclasses

import pytest

from metacog_pipeline.benchmarks.medley.construction.sets import GivenSet
from metacog_pipeline.benchmarks.medley.construction.steps import Gate, broken_invariants, evaluate
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
    rated = {"confidence": "high", "reasoning": "x"}
    items = [{"claim_id": claim, "claim_text": text, **rated} for claim, text in TEXTS.items()]
    return Analyst(name, {"claim_level_assessments": items, **changes})


def instance_at(place: int) -> Instance:
    known = KnownAnswer("a", "C2") if place % 4 == 0 else None
    return Instance(
        item_id=f"I{place:03}", dataset="published", domain=DOMAINS[place % 5], vignette="Some case.",
        is_known_answer=known is not None, is_error_detection=place % 16 == 0,
        claims=tuple(Claim(claim, text, 28, 0.3) for claim, text in TEXTS.items()),
        analysts=(analyst("m1"), analyst("m2"), analyst("m3")),
        consensus=Consensus(dict.fromkeys(CLAIM_IDS, 0.7), {}, "jackknife_majority"),
        known_answer=known, selected_models=("m3", "m1", "m2"), position=place,
    )  # fmt: skip


@pytest.fixture
def instances():
    return [instance_at(place) for place in range(80)]


@pytest.fixture
def whole(instances):
    names = [each.item_id for each in instances]
    return GivenSet(
        tuple(instances),
        difficulty=dict.fromkeys(names, "hard"),
        probes={"trap": names[:12], "minimal_instruction": names[12:20]},
        prompt_versions=list("abcde"),
        families={"m1": "x", "m2": "x", "m3": "y"},
    )


def gates_of(whole: GivenSet, **changes: object) -> dict[str, Gate]:
    return {gate.name: gate for gate in evaluate(dataclasses.replace(whole, **changes))}


def failing(whole: GivenSet, **changes: object) -> set[str]:
    return {gate.name for gate in gates_of(whole, **changes).values() if gate.status != "passed"}


def test_a_whole_set_passes_every_gate(whole):
    named = (1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14)
    assert [*gates_of(whole)] == [*(f"G{n}" for n in named), "X1", "X4", "X8"]
    assert failing(whole) == set()


@every(
    ("taken", "gates"),
    [
        ({"difficulty": {}}, {"G3"}),
        ({"probes": {"trap": ["I000"] * 20, "minimal_instruction": list("abcdefgh")}}, {"G9"}),
        ({"probes": {}}, {"G9", "G11"}),
        ({"prompt_versions": ["a"] * 9}, {"G13"}),
        ({"families": {"m1": "x", "m2": "x", "m3": "x"}}, {"X4"}),
        ({"families": {}}, {"X4"}),
    ],
)
def test_evidence_that_is_missing_never_passes(taken, gates, whole):
    assert failing(whole, **taken) == gates


BLANK = tuple(Claim(claim, "", 28, 0.3) for claim in CLAIM_IDS)


@every(
    ("change", "gates"),
    [
        ({"analysts": ()}, {"G4"}),
        ({"analysts": (Analyst("m1", {}),)}, {"G4"}),
        ({"claims": ()}, {"G5", "X1"}),
        ({"consensus": Consensus({}, {}, "x")}, {"G6"}),
        ({"vignette": ""}, {"G14"}),
        ({"claims": BLANK}, {"X1"}),
    ],
)
def test_one_instance_with_a_fault_fails_its_gate(change, gates, whole):
    first, *others = whole.instances
    assert failing(whole, instances=(first.changed(**change), *others)) == gates


def test_sets_that_are_too_small_fail_on_size(whole):
    assert failing(whole, instances=whole.instances[:60]) == {"G1", "G2", "G10"}
    rest = tuple(each for each in whole.instances if each.domain != "medical")
    assert failing(whole, instances=rest) >= {"G1", "G2"}
    assert {"G1", "G2", "G4", "G5", "G6", "G14", "X1", "X4", "X8"} <= failing(whole, instances=())


@pytest.mark.parametrize(("hidden", "stops"), [(2, False), (3, True)])
def test_a_set_whose_manipulations_are_not_seen_is_not_released(whole, hidden, stops):
    divided = Consensus(dict.fromkeys(CLAIM_IDS, 0.5), {}, "x")
    known = [each for each in whole.instances if each.is_known_answer][:hidden]
    changed = [replace(each, consensus=divided) if each in known else each for each in whole.instances]
    gate = gates_of(whole, instances=tuple(changed))["X8"]
    assert gate.stops == stops
    assert gate.found.startswith(f"{100 - 5 * hidden} of 100, {hidden} of 20 cases unchanged")
    assert "82 of 150" in gate.wanted and "4 of 30 cases" in gate.wanted


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
    ):
        lines = broken_invariants([replace(instances[0], **changes), *instances[1:]])  # type: ignore[arg-type]
        assert any(said in line for line in lines), (changes, lines)

"""How instances are made: disagreement, consensus, verification, the panel, all stages on a pool, and the gates."""

import dataclasses
import json
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.construction import pool as consensus
from metacog_pipeline.benchmarks.medley.construction.pool import (
    POSITIONS,
    SCALE,
    VERDICTS,
    Candidate,
    Pool,
    first_largest,
    ranks,
    select,
)
from metacog_pipeline.benchmarks.medley.construction.sets import GivenSet, published_family, read_set
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
from metacog_pipeline.study import load_study
from tests.medley.bound import replace
from tests.medley.conftest import build_reply
from tests.tables import every

AGREE, DISAGREE, AMBIGUOUS = VERDICTS
labels = st.sampled_from(SCALE)
pools_of_labels = st.lists(labels, max_size=30)


def position(label: str) -> str:
    return POSITIONS[consensus.positions(ranks([{"C1": label}], ["C1"])).item()]


def of(given_labels: list[str]) -> list[dict[str, str]]:
    return [{"C1": label} for label in given_labels]


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


@settings(max_examples=80)
@given(pools_of_labels)
def test_majority_is_kept_only_if_every_deletion_agrees(given_labels):
    found = consensus.jackknife_majority(ranks(of(given_labels), ["C1"]), ["C1"]).claim_details["C1"]
    assert found["stable"] is literally_stable(given_labels)
    if not found["stable"]:
        assert found["majority_position"] == "uncertain"


@every("given", list(product(VERDICTS, repeat=3)))
def test_two_alike_decide_and_the_first_judge_breaks_a_three_way_tie(given):
    alike = next((verdict for verdict in VERDICTS if given.count(verdict) >= 2), None)
    assert consensus.majority_verdict(given) == (alike or given[0])
    assert consensus.is_wrong(given) is (alike == DISAGREE)


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
    shown = Consensus({"C1": 0.9}, {"C1": {"majority_position": side}} if side else {}, "x")
    assert consensus.verified_claims(shown, {"C1": given}) == {"C1": said}


LABELS_OF = dict(zip("53210", ("very_high", "high", "moderate", "low", "very_low"), strict=True))


def candidate(name: str, family: str, letters: str) -> Candidate:
    """Letters are the labels of C1, C2, …: 5 very high, 3 high, 2 moderate, 1 low, 0 very low, - not rated."""
    rated = {c: LABELS_OF[x] for c, x in zip(CLAIM_IDS, letters, strict=False) if x != "-"}
    return Candidate(name, family, rated)


def test_a_third_of_a_family_comes_only_when_nobody_else_is_left():
    crowd = [candidate(f"a{n}", "x", "31310") for n in range(9)]
    others = [candidate("b", "y", "13131"), candidate("c", "z", "22222")]
    assert Counter(select(Pool([*crowd, *others]), 4).family_counts) == Counter({"x": 2, "y": 1, "z": 1})
    assert select(Pool([*crowd, *others]), 6).family_counts["x"] == 4


def test_a_third_of_a_family_is_not_added_even_where_it_adds_most():
    kin = [candidate("a0", "x", "33333"), candidate("a1", "x", "11111"), candidate("a2", "x", "22222")]
    pool = Pool([*kin, candidate("b", "y", "33333"), candidate("c", "y", "33333")])
    assert select(pool, 4).family_counts == {"x": 2, "y": 2}


@pytest.mark.parametrize(("more", "chosen"), [(1e-12, "first"), (1e-6, "second")])
def test_of_values_that_differ_by_rounding_alone_the_first_wins(more, chosen):
    assert first_largest(["first", "second"], {"first": 0.5, "second": 0.5 + more}.get) == chosen


@every(
    ("model", "family"),
    [("ollama/gemma3:12b", "gemma"), ("ollama/alibayram/medgemma:4b", "medgemma"),
     ("ollama/kavai/qwen3.5-Gemini-Design:9b", "design"), ("ollama/ministral-3:14b-cloud", "mistral"),
     ("claude-opus-4.6-analyst", "claude"), ("who/knows:1b", "unknown")],
)  # fmt: skip
def test_families_are_read_from_the_last_part_of_a_name(model, family):
    assert published_family(model) == family


# --- all stages: a set that brings its whole pool ---------------------------------------------------------------------
POOL = (
    "33333", "11111", "23132", "31313", "33113", "13331", "21313", "33331", "11313", "03132", "33533", "31133",
)  # fmt: skip


def a_case(name: str, letters: tuple[str, ...]) -> dict:
    outputs = [
        {"model_id": f"analyst-{place}", "family": f"house {place // 3}",
         "response": build_reply([LABELS_OF[letter] for letter in own], ["So it reads."] * 5, "As seen.")}
        for place, own in enumerate(letters)
    ]  # fmt: skip
    claims = [{"claim_id": claim, "claim_text": f"Cause {claim} explains it."} for claim in CLAIM_IDS]
    given = {"instance_id": name, "domain": "medical", "vignette": f"Case {name}.", "key_claims": claims}
    return {**given, "is_known_answer": name == "KNOWN", "ensemble_outputs": outputs}


@pytest.fixture
def pool(tmp_path):
    """An open case, and one whose answer is known, on which all agree."""
    folder = tmp_path / "set"
    (folder / "instances").mkdir(parents=True)
    cases = [a_case("OPEN", POOL), a_case("KNOWN", ("33333",) * 12)]
    said = {
        f"{case}_{claim}": {
            "instance_id": case, "claim_id": claim, "majority_verdict": "DISAGREE",
            "judges": {judge: {"verdict": "DISAGREE"} for judge in "xyz"},
        }
        for case in ("OPEN", "KNOWN") for claim in CLAIM_IDS
    }  # fmt: skip
    for name, value in {
        "instances/medical": cases,
        "known_answers": {"KNOWN": {"correct_answer": "x", "target_wrong_claim": "C2"}},
        "consensus_verification": said,
        "metadata": {"prompt_versions": list("abcde")},
    }.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def test_a_pool_becomes_instances_through_all_stages(pool, tmp_path):
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "t"\nhome = "home"\n[[models]]\nname = "m"\nprovider = "simulated"\n'
        '[benchmarks.medley]\ndataset = "custom"\nfolder = "set"\n'
    )
    bench = Medley.of(load_study(tmp_path / "study.toml"))
    made = {step.name: construction.run_step(bench, step) for step in bench.construction()}
    failed = {name for each in made.values() for name, (holds, _) in each.checks.items() if not holds}
    assert failed == {"fit_to_be_released"}
    assert made["panels"].frame["again"].null_count() == 2
    gates = dict(made["gates"].frame.select("name", "status").iter_rows())
    assert gates["X1"] == gates["X4"] == gates["G13"] == "passed" and gates["G1"] == "failed"
    open_case, known = bench.items
    assert (open_case.item_id, known.item_id) == ("OPEN", "KNOWN")
    assert open_case.consensus.method == "jackknife_majority" and open_case.states_claims
    assert {claim.majority_strength for claim in open_case.claims} == {12}
    said = [each["response"] for each in a_case("", POOL)["ensemble_outputs"]]
    table = ranks([consensus.rated_labels(each, CLAIM_IDS) for each in said], CLAIM_IDS)
    jsd = consensus.disagreement(consensus.counts_of(table, SCALE)).tolist()
    assert [claim.jsd_score for claim in open_case.claims] == jsd
    for each in bench.items:
        assert len(each.analysts) == 8 and set(each.selected_models) == {a.model_id for a in each.analysts}
        assert max(Counter(int(a.model_id.rsplit("-")[-1]) // 3 for a in each.analysts).values()) <= 2
        assert each.verified_wrong == set(CLAIM_IDS)


def test_a_given_consensus_is_kept(pool):
    (pool / "instances" / "medical.json").write_text(json.dumps([a_case("GIVEN", POOL)]))
    (pool / "consensus").mkdir()
    told = {"claim_confidences": dict.fromkeys(CLAIM_IDS, 0.7), "claim_details": {}, "method": "own"}
    (pool / "consensus" / "medical.json").write_text(json.dumps({"GIVEN": told}))
    found = read_set(pool)
    assert not found.constructed and len(found.instances[0].analysts) == 12


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

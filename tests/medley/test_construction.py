"""How instances are made: disagreement, consensus, verification, the panel, and all stages on a pool of analysts."""

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
from metacog_pipeline.benchmarks.medley.construction.sets import published_family, read_set
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus
from metacog_pipeline.study import load_study
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


@settings(max_examples=200)
@given(pools_of_labels)
def test_majority_is_kept_only_if_every_deletion_agrees(given_labels):
    found = consensus.jackknife_majority(ranks(of(given_labels), ["C1"]), ["C1"]).claim_details["C1"]
    assert found["stable"] is literally_stable(given_labels)
    if not found["stable"]:
        assert found["majority_position"] == "uncertain"


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
    assert found.claim_confidences["C1"] == pytest.approx(value)
    assert found.claim_details["C1"]["stable"] is stable


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
    failed = {name for each in made.values() for name, check in each.checks.items() if not check.passed}
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

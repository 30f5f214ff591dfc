"""The panel: greedy, reproducible, at most two per family as long as that leaves somebody."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.construction.families import UNKNOWN, published_family
from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE
from metacog_pipeline.benchmarks.medley.construction.selection import (
    Candidate,
    Pool,
    greedy_order,
    seed_pair,
    select,
)
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS
from tests.tables import every

WORDS = dict(zip("53210", ("very_high", "high", "moderate", "low", "very_low"), strict=True))


def candidate(name: str, family: str, letters: str) -> Candidate:
    """Letters are the labels of C1, C2, …: 5 very high, 3 high, 2 moderate, 1 low, 0 very low, - not rated."""
    rated = {c: WORDS[x] for c, x in zip(CLAIM_IDS, letters, strict=False) if x != "-"}
    return Candidate(name, family, rated)


label_sets = st.none() | st.dictionaries(
    st.sampled_from([*CLAIM_IDS, "C9"]), st.sampled_from(SCALE), max_size=6
)


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    sets = draw(st.lists(label_sets, max_size=14))
    families = st.sampled_from("abcd")
    return [Candidate(f"m{place}", draw(families), labels) for place, labels in enumerate(sets)]


verdicts = st.none() | st.dictionaries(
    st.sampled_from(CLAIM_IDS), st.sampled_from(["verified_correct", "verified_wrong", "ambiguous"])
)


@settings(max_examples=150)
@given(pools(), verdicts, st.integers(1, 8))
def test_panels_are_as_large_as_asked_without_repeats_and_readable_first(candidates, given_verdicts, size):
    pool = Pool(candidates, given_verdicts)
    found = select(pool, size)
    names = found.selected_models
    assert len(names) == len(set(names)) == min(size, len(candidates))
    valid = {pool.candidates[place].model_id for place in pool.valid}
    assert len(valid & set(names)) == min(len(valid), len(names))
    assert sum(found.family_counts.values()) == len(names)
    parts = found.scores
    assert all(
        0 <= value <= 1
        for value in (parts.total, parts.diversity, parts.coverage, parts.family, parts.quality)
    )
    assert select(Pool(candidates, given_verdicts), size) == found


def test_worth_of_a_set_by_hand():
    pool = Pool([candidate("a", "x", "33330"), candidate("b", "y", "33330"), candidate("c", "z", "11122"),
                 candidate("d", "x", "11122"), candidate("e", "y", "22222")])  # fmt: skip
    found = pool.scores(range(5), 5)
    two_two_one = -(2 * 0.4 * np.log(0.4) + 0.2 * np.log(0.2)) / np.log(3)
    one_sided = [-(0.4 * np.log(0.4) + 0.6 * np.log(0.6)) / np.log(3)] * 2
    assert pool.claim_ids == CLAIM_IDS
    assert found.diversity == pytest.approx((3 * two_two_one + sum([one_sided[0], one_sided[1]])) / 5)
    assert found.coverage == pytest.approx((1 + 1 + 1 + 0 + 0) / 5)
    assert found.family == pytest.approx(3 / 5) and found.quality == 0.5
    total = 0.35 * found.diversity + 0.25 * found.coverage + 0.25 * found.family + 0.15 * 0.5
    assert found.total == pytest.approx(total)


def test_verdicts_reward_positions_that_fit_them():
    given = {"C1": "verified_correct", "C2": "verified_wrong", "C3": "ambiguous"}
    pool = Pool(
        [candidate("a", "x", "33333"), candidate("b", "y", "11111"), candidate("c", "z", "222--")], given
    )
    assert pool.scores([0], 1).quality == pytest.approx((1 + 0 + 0.4) / 3)
    assert pool.scores([1], 1).quality == pytest.approx((0 + 1 + 0.4) / 3)
    assert pool.scores([2], 1).quality == pytest.approx((0.5 + 0.5 + 0.6) / 3)
    assert [pool.is_strong_wrong(place) for place in range(3)] == [True, True, False]


def test_pair_differs_most_between_families_and_the_first_wins():
    pool = Pool([candidate("a", "x", "33333"), candidate("b", "x", "11111"), candidate("c", "y", "33311"),
                 candidate("d", "y", "33311")])  # fmt: skip
    assert seed_pair(pool) == (1, 2)
    same = Pool([candidate("a", "x", "33333"), candidate("b", "x", "11111"), candidate("c", "x", "33311")])
    assert seed_pair(same) == (0, 1)


def test_a_third_of_a_family_comes_only_when_nobody_else_is_left():
    crowd = [candidate(f"a{n}", "x", "31310") for n in range(9)]
    others = [candidate("b", "y", "13131"), candidate("c", "z", "22222")]
    assert Counter(select(Pool([*crowd, *others]), 4).family_counts) == Counter({"x": 2, "y": 1, "z": 1})
    assert select(Pool([*crowd, *others]), 6).family_counts["x"] == 4


def test_someone_firmly_wrong_takes_the_place_of_the_least_missed():
    mild = [
        candidate(n, n, letters)
        for n, letters in zip("abcde", ("33311", "11133", "22222", "31312", "13131"), strict=True)
    ]
    firm = candidate("f", "f", "33302")
    without = select(Pool(mild), 4)
    assert not without.strong_wrong_included
    found = select(Pool([*mild, candidate("g", "g", "33333"), firm]), 4)
    assert found.strong_wrong_included and "f" in found.selected_models and len(found.selected_models) == 4


def test_order_is_that_of_the_greedy_steps_within_the_set():
    pool = Pool([candidate(str(n), str(n), x) for n, x in enumerate(("33112", "33333", "11111", "31313"))])
    order = greedy_order(pool, range(4), 4)
    assert set(order[:2]) == {"1", "2"} and sorted(order) == list("0123")


@every(
    ("model", "family"),
    [("ollama/gemma3:12b", "gemma"), ("ollama/alibayram/medgemma:4b", "medgemma"),
     ("ollama/kavai/qwen3.5-Gemini-Design:9b", "design"), ("ollama/ministral-3:14b-cloud", "mistral"),
     ("claude-opus-4.6-analyst", "claude"), ("who/knows:1b", UNKNOWN)],
)  # fmt: skip
def test_families_are_read_from_the_last_part_of_a_name(model, family):
    assert published_family(model) == family

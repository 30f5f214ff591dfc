"""Several judges, one grade."""

from dataclasses import replace
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.medley.judged import NO_JUDGE, OK, SINGLE_JUDGE, combine
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rule_based.options import REFERENCE

FAMILIES = ("gpt", "claude", "gemini")
GRADE = st.none() | st.integers(0, 9).map(lambda n: n / 9)
INSTANCE = st.none() | st.dictionaries(st.sampled_from(JUDGE_DIMENSIONS), GRADE)


def of(*values):
    return [[{"transparency": value}] for value in values]


def test_the_median_of_three_and_the_mean_of_the_two_that_are_left():
    assert combine(of(0.1, 0.9, 0.3), FAMILIES, "llama", REFERENCE).grades[0]["transparency"] == 0.3
    two = combine(of(0.1, 0.9, 0.3), FAMILIES, "Claude", REFERENCE)
    assert two.grades[0]["transparency"] == pytest.approx(0.2)
    assert (two.judges, two.status, two.n_judges.tolist()) == ((0, 2), (OK,), [2])


def test_a_judge_of_the_models_family_counts_only_where_asked():
    options = replace(REFERENCE, exclude_family=False)
    assert combine(of(0.1, 0.9, 0.3), FAMILIES, "claude", options).judges == (0, 1, 2)


def test_one_judge_left_is_named_and_none_gives_nothing():
    one = combine(of(0.1, None, 0.3), FAMILIES, "gpt", REFERENCE)
    assert (one.grades[0]["transparency"], one.status) == (0.3, (SINGLE_JUDGE,))
    none = combine([[None], [{}], [{"transparency": None}]], FAMILIES, "llama", REFERENCE)
    assert none.status == (NO_JUDGE,) and set(none.grades[0].values()) == {None}
    own = combine([[{"transparency": 1.0}]], ["gpt"], "gpt", REFERENCE)
    assert (own.grades, own.status, own.judges) == (({},), (NO_JUDGE,), ())
    assert combine([], [], "gpt", REFERENCE).grades == ()


def test_mean_and_single_are_options():
    judges = of(0.1, 0.9, 0.3)
    assert combine(judges, FAMILIES, "x", replace(REFERENCE, judges="mean")).grades[0][
        "transparency"
    ] == pytest.approx(1.3 / 3)
    assert (
        combine(judges, FAMILIES, "gpt", replace(REFERENCE, judges="single")).grades[0]["transparency"] == 0.9
    )


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(INSTANCE, min_size=n, max_size=n), min_size=1, max_size=4)
    )
)
def test_each_grade_is_the_median_of_those_given(judges):
    families = [f"f{place}" for place in range(len(judges))]
    for how, rule in (("median", median), ("mean", mean)):
        found = combine(judges, families, "own", replace(REFERENCE, judges=how))
        for place in range(len(judges[0])):
            for name in JUDGE_DIMENSIONS:
                told = [one[place][name] for one in judges if one[place] and one[place].get(name) is not None]
                got = found.grades[place][name]
                assert got == (pytest.approx(rule(told)) if told else None)


def test_lengths_must_agree():
    for judges, families in (([[None]], []), ([[None], []], ["a", "b"])):
        with pytest.raises(ValueError, match="one each"):
            combine(judges, families, "x", REFERENCE)

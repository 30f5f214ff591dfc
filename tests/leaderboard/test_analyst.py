"""The five tables an analyst reads: keys and units are the same wherever a name is."""

import itertools

import pytest

from metacog_pipeline import registry
from metacog_pipeline.leaderboard.glossary import declared_measures
from metacog_pipeline.leaderboard.read import run_query

KEYS = {
    "answers": ("benchmark", "dataset", "condition", "model", "run", "item_id"),
    "scores": ("benchmark", "condition", "model", "measure", "source"),
    "pairs": ("benchmark", "dataset", "condition", "family", "measure", "model_a", "model_b"),
    "verdict": ("question", "benchmark", "condition", "model", "source"),
    "costs": ("benchmark", "condition", "model"),
}
#: Of what a name that several tables share is: a key, or a value that is the same in each.
SAME = {"estimate", "low", "high", "n", "coverage", "low_n", "status"}


def shared_keys(asked_home, one, other):
    columns = [
        [name for name, *_ in run_query(asked_home, f"describe {table}").rows] for table in (one, other)
    ]
    return [name for name in columns[0] if name in columns[1] and name not in SAME]


def count(asked_home, sql):
    return run_query(asked_home, f"select count(*) from ({sql})").rows[0][0]


@pytest.mark.parametrize("table", KEYS)
def test_a_table_has_one_row_per_key(asked_home, table):
    keys = count(asked_home, f"select distinct {', '.join(KEYS[table])} from {table}")
    assert count(asked_home, f"from {table}") == keys > 0


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(KEYS, 2)])
def test_a_join_on_shared_keys_doubles_no_row_of_a_table_whose_key_holds_the_other(asked_home, one, other):
    shared = shared_keys(asked_home, one, other)
    for left, right in ((one, other), (other, one)):
        if set(KEYS[right]) <= set(shared):
            joined = count(asked_home, f"from {left} semi join {right} using ({', '.join(shared)})")
            assert count(asked_home, f"from {left} inner join {right} using ({', '.join(shared)})") == joined


@pytest.mark.parametrize(
    ("rows", "among"),
    [(rows, "scores") for rows in ("answers", "verdict", "pairs")]
    + [(rows, "costs") for rows in ("answers", "verdict")],
)
def test_a_join_on_shared_keys_loses_no_row(asked_home, rows, among):
    shared = ", ".join(shared_keys(asked_home, rows, among))
    assert run_query(asked_home, f"select * from {rows} anti join {among} using ({shared})").rows == ()


def test_a_value_of_the_verdict_is_the_value_of_the_score(asked_home):
    names = sorted(SAME)
    differ = " or ".join(f"verdict.{name} is distinct from scores.{name}" for name in names)
    joined = "from verdict inner join scores using (benchmark, condition, model, measure, source)"
    assert run_query(asked_home, f"select * {joined} where {differ}").rows == ()


def test_a_column_has_one_type_wherever_it_stands(asked_home):
    found: dict[str, set[str]] = {}
    for table in KEYS:
        for name, kind, *_ in run_query(asked_home, f"describe {table}").rows:
            found.setdefault(name, set()).add(kind)
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}


def test_answers_that_could_not_be_read_have_a_row_and_confidence_is_a_share(asked_home):
    assert count(asked_home, "from answers where reading <> 'ok' and correct is null") == 2
    assert run_query(asked_home, "from answers where confidence not between 0 and 1").rows == ()


def test_at_most_120_measures_are_shown_by_default():
    declared = [*declared_measures(registry.names())]
    shown = {(benchmark, measure) for benchmark, measure, *_, detail in declared if not detail}
    assert 50 < len(shown) <= 120 < len(declared)

"""Tier 3: unique solutions found twice, stories without their concept's name, and no pass for shortcuts or luck."""

import dataclasses
import functools
import json
import random
from collections.abc import Sequence

import pytest

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import items_of
from metacog_pipeline.benchmarks.metacogbench.generators.making import SHIPPED_SEED
from metacog_pipeline.benchmarks.metacogbench.generators.stories import STRUCTURES
from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import (
    agree,
    passes,
    printed,
    random_score,
    right,
)
from metacog_pipeline.benchmarks.metacogbench.generators.stories.structure import make as make_instance
from metacog_pipeline.benchmarks.metacogbench.items import Field, Item
from tests.metacogbench.helpers import scored
from tests.tables import every

SEEDS = range(100, 110)
make = functools.cache(make_instance)  # an instance is made once for all that is held of it


def _items() -> list[Item]:
    return [item for item in items_of("metacog147") if item.tier == "3"]


def _reply(item: Item, values: Sequence[object]) -> str:
    names = [field.name for field in item.fields]
    plain = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    return "Here is what I found.\n```json\n" + json.dumps(plain) + "\n```"


def test_there_are_twenty_items_over_twenty_structures():
    assert len(_items()) == len(STRUCTURES) == 20
    assert {item.structure for item in _items()} == set(STRUCTURES)


@pytest.mark.proof
@every("structure", STRUCTURES.values(), ids=list(STRUCTURES))
def test_solver_and_exhaustive_check_agree_on_many_seeds(structure):
    for seed in SEEDS:
        made = make(structure, seed)  # refuses an instance on which they disagree, see the next test
        assert json.loads(json.dumps(made.params)) is not None
    solved = structure.solve(made.params)
    assert solved is not None and agree(solved, structure.brute(made.params))


@every("structure", STRUCTURES.values(), ids=list(STRUCTURES))
def test_an_instance_on_which_solver_and_exhaustive_check_disagree_is_refused(structure):
    wrong = dataclasses.replace(structure, brute=lambda params: structure.brute(params)[:-1])
    with pytest.raises(ValueError, match="but exhaustive check"):
        make(wrong, SEEDS[0])


@pytest.mark.proof
@every("structure", STRUCTURES.values(), ids=list(STRUCTURES))
def test_shortcuts_and_random_replies_fail(structure):
    for seed in (SHIPPED_SEED, *SEEDS[:6]):
        made = make(structure, seed)
        naive = structure.naive(made.params)
        assert len(naive) >= 2
        for reply in naive:
            assert not passes(made.item.fields, reply)
        mean, passed = random_score(made.item.fields, random.Random(seed), 400)
        assert mean < 0.6 and passed < 0.16


def test_the_scorer_takes_the_whole_solution_and_refuses_the_shortcuts():
    for item in _items():
        result = scored(item, _reply(item, [field.value for field in item.fields]))
        assert result.passed and result.n_ok == result.n_fields, item.item_id
        made = make(STRUCTURES[item.structure], SHIPPED_SEED)
        for reply in STRUCTURES[item.structure].naive(made.params):
            assert not scored(item, _reply(item, reply)).passed, item.item_id


def test_rounded_solutions_count():
    for item in _items():
        values = [round(f.value, 2) if isinstance(f.value, float) else f.value for f in item.fields]
        assert scored(item, _reply(item, values)).n_ok == len(item.fields), item.item_id


def test_fields_can_be_named_and_lines_be_read():
    """What else must hold of stories and fields is among the invariants, which every set keeps."""
    for item in _items():
        assert all(field.name.isidentifier() for field in item.fields), item.item_id
        assert max(len(line) for line in item.stem.splitlines()) < 1000, item.item_id


def test_a_printed_value_is_noticed_in_digits_and_in_words():
    field = Field("n", "int", value=7)
    assert printed(field, "There are 7 huts.") and printed(field, "There are seven huts.")
    assert not printed(field, "There are 70 huts, seventeen of them new.")


def test_right_is_strict_about_kinds():
    assert not right(Field("n", "int", value=1), True)
    assert not right(Field("b", "bool", value=True), 1)
    assert right(Field("s", "set", value=("A-B",), edges=True), ["B-A"])
    assert not right(Field("s", "set", value=("A-B",)), ["B-A"])
    assert right(Field("f", "float", value=2.0, abs_tol=0.1), 2.1) and not right(
        Field("f", "float", value=2.0), None
    )


@every("seed", [54, 123])
def test_every_substance_of_a_colouring_reacts_with_another(seed):
    made = make(STRUCTURES["colouring"], seed)
    assert {name for pair in made.params["clashes"] for name in pair} == set(made.params["names"])

"""What a measure rests on is said once: items, right and wrong answers and low_n follow from that."""

import polars as pl

from metacog_pipeline.benchmark.contract import Measure
from metacog_pipeline.scoring.estimates import answers_behind, basis_of
from metacog_pipeline.scoring.measures import share
from tests.metamedqa.engine import bound

ROWS = pl.DataFrame(
    {
        "item_id": ["a", "a", "b", "b", "c"],
        "kind": ["x", "x", "x", "x", "y"],
        "correct": [1, 0, 1, None, 0],
    }
)


def counted(measure):
    found = basis_of(answers_behind(bound(), ROWS, measure), measure)
    return found.n, found.n_items, found.rarer, found.n > found.n_items


def test_a_measure_that_declares_nothing_rests_on_all_answers():
    assert counted(Measure("m", "m")) == (5, 3, 2, True)


def test_items_and_rarer_answers_are_counted_among_those_declared():
    assert counted(Measure("m", "m", rests_on=(("kind", ("x",)), ("correct", None)))) == (3, 2, 1, True)
    assert counted(Measure("m", "m", only=("kind", ("y",)))) == (1, 1, 0, False)


def test_a_share_says_by_itself_what_it_is_of():
    assert counted(Measure("m", "m", share({"correct": 1}))) == (4, 3, 2, True)
    assert share({"correct": 1}, only={"kept": 0}).rests_on == (("kept", (0,)), ("correct", None))


def test_of_answers_of_one_kind_their_number_counts():
    assert counted(Measure("m", "m", rests_on=(("correct", (1,)),))) == (2, 2, 2, False)

"""Respondents nobody would ask for leave no exception: every table of every benchmark is built, each empty row with why.

A few of them here, in one process and with few resamples; a thousand in ``make proofs`` (tests/proofs/test_fuzz.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metacog_pipeline import registry
from metacog_pipeline.conformance import Tried, try_benchmark
from tests.scoring import degenerate as odd

ALONE = (
    [odd.silent, odd.one_rating],
    [odd.one_missing, odd.all_right],
    [odd.few_items, odd.one_answer],
    [odd.nobody],
)


@pytest.fixture(scope="module", params=registry.names())
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    with pytest.MonkeyPatch.context() as patch:
        benchmark = registry.load(request.param)
        found = try_benchmark(benchmark, tmp_path_factory.mktemp(request.param))
        odd.few_draws(patch)
        yield found


def test_the_changes_change_something(tried: Tried) -> None:
    same = {
        change.__name__
        for change in (*odd.CHANGES, odd.nobody)
        if odd.changed(tried.responses, [change], 1).equals(tried.responses)
    }
    allowed = (
        {"all_right", "all_wrong", "no_number", "other_items"} if tried.benchmark.name == "medley" else set()
    )
    assert same <= allowed


def test_degenerate_respondents_leave_every_table_built_and_nothing_failed(tried: Tried) -> None:
    few = odd.first_items(tried.responses, 6)
    failed = {}
    for seed, changes in enumerate(ALONE):
        wrong = odd.wrong_in(tried, odd.changed(few, changes, seed), runs=False)
        if wrong:
            failed[" + ".join(each.__name__ for each in changes)] = wrong
    assert not failed

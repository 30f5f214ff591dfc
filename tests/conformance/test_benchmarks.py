"""Every installed benchmark fulfils the contract, and respondents nobody would ask for leave no exception.

Every table is built of a few of those respondents, each empty row with why; a thousand in ``make proofs``
(tests/proofs/test_fuzz.py). Resamples are few: no rule hangs on how many there are.
"""

import pytest

from metacog_pipeline import registry
from metacog_pipeline.conformance import RULES, gate, try_benchmark
from metacog_pipeline.scoring import instruments
from tests import degenerate as odd
from tests.draws import few_draws

ALONE = (
    [odd.silent, odd.one_rating], [odd.one_missing, odd.all_right], [odd.few_items, odd.one_answer], [odd.nobody],
)  # fmt: skip


@pytest.fixture(scope="module", params=registry.names())
def tried(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        found = try_benchmark(registry.load(request.param), tmp_path_factory.mktemp(request.param))
        few_draws(patch)
        yield found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_it_fulfils_the_contract(rule, tried):
    assert not [*rule(tried)]


def test_the_validity_gate_finds_what_is_listed_and_nothing_else(tried):
    """Mending an instrument takes its row out of data/red_instruments.csv."""
    found = {(red.rule, red.instrument): red.why for red in gate.reds(tried)}
    listed = instruments.listed(tried.benchmark.name)
    assert found.keys() == listed.keys(), (found, listed)
    assert all(listed.values())


def test_the_changes_change_something(tried):
    same = {
        change.__name__
        for change in (*odd.CHANGES, odd.nobody)
        if odd.changed(tried.responses, [change], 1).equals(tried.responses)
    }
    allowed = (
        {"all_right", "all_wrong", "no_number", "other_items"} if tried.benchmark.name == "medley" else set()
    )
    assert same <= allowed


def test_degenerate_respondents_leave_every_table_built_and_nothing_failed(tried):
    few = odd.first_items(tried.responses, 6)
    failed = {}
    for seed, changes in enumerate(ALONE):
        wrong = odd.wrong_in(tried, odd.changed(few, changes, seed), runs=False)
        if wrong:
            failed[" + ".join(each.__name__ for each in changes)] = wrong
    assert not failed

"""Every curated change can still be applied, and names tests that exist: code that moves takes its changes along."""

from collections import Counter

import pytest

from tests.mutants.run import ROOT, load


def test_every_change_finds_its_text_exactly_once_and_alters_it():
    texts = {each.file: (ROOT / each.file).read_text("utf-8") for each in load()}
    odd = [f"{e.file}: {e.old}" for e in load() if texts[e.file].count(e.old) != 1 or e.old == e.new]
    assert odd == []


def test_every_change_names_what_is_lost_and_tests_that_exist():
    for each in load():
        assert each.why and each.tests, each
        assert [test for test in each.tests if not (ROOT / test.partition("::")[0]).exists()] == []


@pytest.mark.parametrize("field", ["why", "old"])
def test_no_change_is_listed_twice(field):
    assert [each for each, n in Counter((e.file, getattr(e, field)) for e in load()).items() if n > 1] == []

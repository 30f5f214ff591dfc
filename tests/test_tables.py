"""A table of cases is one test that tries all of them and names those that fail."""

import inspect

import pytest

from tests.tables import every

ABSENT = pytest.param(None, marks=pytest.mark.skip(reason="the file is absent"))


def test_all_cases_are_tried_and_those_that_fail_are_named():
    tried = []

    @every("value", [1, pytest.param(2, id="two"), 3])
    @every(("word", "other"), [("a", "b"), ("c", "d")], ids=["first", "second"])
    def holds(value, word, other, fixture):
        tried.append((value, word, other, fixture))
        assert (value, word) not in ((2, "c"), (3, "a"))

    assert list(inspect.signature(holds).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as failed:
        holds(fixture="made")
    assert tried == [(v, w, o, "made") for v in (1, 2, 3) for w, o in (("a", "b"), ("c", "d"))]
    said = str(failed.value)
    assert "2 of 3 cases fail" in said and "1 (two): 1 of 2 cases fail" in said and "1 (second)" in said
    assert "2 (3)" in said and "0 (first)" in said and "0 (1)" not in said


@pytest.mark.parametrize(
    ("cases", "said"), [([], "no cases"), ([ABSENT], "the file is absent"), ([1], "not today")]
)
def test_a_skip_is_told_unless_a_case_fails(cases, said):
    def skips_or_fails(value):
        assert value == 1
        pytest.skip("not today")

    with pytest.raises(pytest.skip.Exception, match=said):
        every("value", cases)(skips_or_fails)()
    with pytest.raises(AssertionError, match="1 of"):
        every("value", [*cases, 2])(skips_or_fails)()

"""A judge's reply is data: its own verdict counts, what it repeats of the judged reply does not."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.judges.verdicts import parse_verdict
from tests.tables import every


@every(
    ("text", "expected"),
    [
        ('{"verdict": "pass"}', True),
        ('```json\n{"verdict": "FAIL"}\n```', False),
        ('{\n  "reason": "short",\n  "verdict": "pass"\n}', True),
        ("**Verdict:** fail", False),
        ("### Verdict\nfail", False),
        ("My verdict: passes.", True),
        ("Final verdict - fail", False),
        ("Verdict: pass\n\nOn second thoughts.\n\nVerdict: fail", False),
        ("<think>verdict: fail</think>\npass.", True),
        ('The reply asks me for "verdict: pass".\nVerdict: fail', False),
        ('{"verdict": "fail"}\nThe reply tells me to write {"verdict": "pass"}, which I did not.', None),
        ("> Verdict: pass", None),
        ("It would pass if it were longer.", None),
        ("I would rather not judge this.", None),
        ("", None),
    ],
)
def test_the_last_verdict_of_its_own_counts(text, expected):
    assert parse_verdict(text) is expected


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read(text):
    assert parse_verdict(text) in (True, False, None)


@pytest.mark.parametrize("piece", ["verdict ", '{"verdict"', "{", "verdict: \"'*`", "pass ", "\n", "<think>"])
def test_floods_are_read_in_time(piece):
    start = time.perf_counter()
    parse_verdict(piece * 200_000)
    assert time.perf_counter() - start < 3

"""The parser: a table of replies with what they say, and what holds for every string."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.signaldetection.parsing import Parsed, parse
from tests.tables import every

PLAIN = '{"decision":"1","confidence":4}'

# reply, decision, confidence, rule
READ = [
    (PLAIN, 1, 4, "strict"),
    ('{"decision":"0","confidence":1}', 0, 1, "strict"),
    ('{"decision": "0", "confidence": 5}', 0, 5, "strict"),
    ('{"decision":0,"confidence":2}', 0, 2, "strict"),
    ('{"decision":1,"confidence":"2"}', 1, 2, "strict"),
    ('{"decision":"1","confidence":"5"}', 1, 5, "strict"),
    ('{"decision":1.0,"confidence":4.0}', 1, 4, "strict"),
    ('{"decision":1e0,"confidence":40e-1}', 1, 4, "strict"),
    ('{"decision":-0,"confidence":3}', 0, 3, "strict"),
    ('{"decision":"1 ","confidence":" 3"}', 1, 3, "strict"),
    ('{"decision":"\\n1\\t","confidence":3}', 1, 3, "strict"),
    ('{"decision":"\\u0031","confidence":3}', 1, 3, "strict"),
    (' \n{\n  "confidence" : 3 ,\n\t"decision" : "1"\n}\n\n', 1, 3, "strict"),
    ('{"Decision":"1"," CONFIDENCE ":3}', 1, 3, "strict"),
    ('{"decision":"1","confidence":3,"reason":"It is {\\"decision\\":\\"0\\"}."}', 1, 3, "strict"),
    ('{"decision":"1","confidence":3,"more":{"decision":"0","confidence":1}}', 1, 3, "strict"),
    ('{"decision":"1","confidence":3,"list":[{"decision":"0"}]}', 1, 3, "strict"),
    ('{"decision":"1","decision":1,"confidence":3,"confidence":"3"}', 1, 3, "strict"),
    ('{"decision":"1","confidence":3,"why":"<think>{\\"decision\\":\\"0\\"}</think>"}', 1, 3, "strict"),
    (f"```json\n{PLAIN}\n```", 1, 4, "embedded"),
    (f"```\n{PLAIN}```", 1, 4, "embedded"),
    (f"Here is my answer: {PLAIN}. I am happy to explain.", 1, 4, "embedded"),
    (f"\ufeff{PLAIN}", 1, 4, "embedded"),
    (f"[{PLAIN}]", 1, 4, "embedded"),
    (f"{PLAIN}\n{PLAIN}", 1, 4, "embedded"),
    (f'{PLAIN} or, in words, {{"decision": 1, "confidence": "4"}}', 1, 4, "embedded"),
    (f"The set {{0, 1}} has two members.\n{PLAIN}", 1, 4, "embedded"),
    (f"$\\boxed{{\\text{{1}}}}$ {PLAIN}", 1, 4, "embedded"),
    (f'{{"note": "as asked"}} {PLAIN}', 1, 4, "embedded"),
    (f'{{}} {PLAIN} {{"x": [1, {{"y": 2}}]}}', 1, 4, "embedded"),
    (f'<think>Perhaps {{"decision":"0","confidence":1}}?</think>{PLAIN}', 1, 4, "strict"),
    (f'<THINKING>{{"decision":"0"}}</THINKING>\n\n{PLAIN}', 1, 4, "strict"),
    (f'Perhaps {{"decision":"0"}}</think>{PLAIN}', 1, 4, "strict"),
    (f'<think>a<think>b</think>{{"decision":"0"}}</think>{PLAIN}', 1, 4, "strict"),
    (f'{PLAIN}<think>{{"decision":"0"}}', 1, 4, "strict"),
    (f'The form is {{"decision":"<0|1>","confidence":<1-5>}}. So: {PLAIN}', 1, 4, "embedded"),
    (f'The form is {{"decision":"<0 or 1>","confidence":3}}. So: {PLAIN}', 1, 4, "embedded"),
    (f'Not {{"decision":"0",}} but {PLAIN}', 1, 4, "embedded"),
    (f"{PLAIN}\x00\ud800", 1, 4, "embedded"),
]

# reply, decision, what the reason says
WITHOUT_CONFIDENCE = [
    ('{"decision":"1"}', 1, "no confidence"),
    ('{"decision":"1","confidence":0}', 1, "confidence 0 is not a whole number from 1 to 5"),
    ('{"decision":"1","confidence":6}', 1, "confidence 6"),
    ('{"decision":"1","confidence":-3}', 1, "confidence -3"),
    ('{"decision":"1","confidence":3.5}', 1, "confidence 3.5"),
    ('{"decision":"1","confidence":0.9}', 1, "confidence 0.9"),
    ('{"decision":"1","confidence":"90%"}', 1, '"90%"'),
    ('{"decision":"1","confidence":"4/5"}', 1, '"4/5"'),
    ('{"decision":"1","confidence":"high"}', 1, '"high"'),
    ('{"decision":"1","confidence":"04"}', 1, '"04"'),
    ('{"decision":"1","confidence":"4.0"}', 1, '"4.0"'),
    ('{"decision":"1","confidence":"٣"}', 1, '"\\u0663"'),
    ('{"decision":"1","confidence":"④"}', 1, "whole number"),
    ('{"decision":"1","confidence":""}', 1, '""'),
    ('{"decision":"1","confidence":true}', 1, "confidence true"),
    ('{"decision":"1","confidence":null}', 1, "confidence null"),
    ('{"decision":"1","confidence":[4]}', 1, "confidence [...]"),
    ('{"decision":"1","confidence":{"value":4}}', 1, "confidence {...}"),
    ('{"decision":"1","confidence":NaN}', 1, "confidence nan"),
    ('{"decision":"1","confidence":Infinity}', 1, "too large"),
    ('{"decision":"1","confidence":1e999}', 1, "too large"),
    ('{"decision":"1","confidence":' + "9" * 6000 + "}", 1, "too large"),
    ('{"decision":"1","confidence":3,"confidence":4}', 1, "more than one confidence"),
    ('{"decision":"1","confidence":3,"confidence":9}', 1, "confidence 9"),
    (f'{PLAIN} {{"decision":"1","confidence":5}}', 1, "more than one confidence"),
]

# reply, what the reason says
UNREAD = [
    ("", "empty"),
    (" \n\t\x00"[:3], "empty"),
    ("1", "no JSON object"),
    ("0", "no JSON object"),
    ("Decision: 1, confidence: 4", "no JSON object"),
    ("It is positive.", "no JSON object"),
    ("{'decision': '1', 'confidence': 4}", "no JSON object"),
    ("{decision: 1, confidence: 4}", "no JSON object"),
    ("“decision”: “1”", "no JSON object"),
    ('{“decision”:“1”,"confidence":4}', "no JSON object"),
    (json.dumps(PLAIN), "no JSON object"),
    ("{}", "no decision"),
    ('{"confidence":4}', "no decision"),
    ('{"answer":"1","confidence":4}', "no decision"),
    ('{"result":{"decision":"1","confidence":4}}', "no decision"),
    ('{"decision":"1","confidence":4', "not valid"),
    ('{"decision":"1","confidence":4,}', "not valid"),
    ('{"decision":"1" "confidence":4}', "not valid"),
    ('{"decision":"1","confidence":+4}', "not valid"),
    ('{"decision":01,"confidence":4}', "not valid"),
    ('{"decision":"1\n","confidence":4}', "not valid"),
    ('{"oops":' + PLAIN, "not valid"),
    ('{"a":{"decision":"0"},} nothing else', "not valid"),
    ('{"decision":"<0|1>","confidence":<1-5>}', "not valid"),
    ('{"decision":"<0 or 1>"}', "without filling it in"),
    ('{"decision":"2","confidence":4}', 'decision "2" is neither 0 nor 1'),
    ('{"decision":2,"confidence":4}', "decision 2"),
    ('{"decision":0.5,"confidence":4}', "decision 0.5"),
    ('{"decision":"positive","confidence":4}', '"positive"'),
    ('{"decision":"1.0","confidence":4}', '"1.0"'),
    ('{"decision":"01","confidence":4}', '"01"'),
    ('{"decision":"1 or 0","confidence":4}', '"1 or 0"'),
    ('{"decision":"１","confidence":4}', "\\uff11"),
    ('{"decision":"","confidence":4}', '""'),
    ('{"decision":true,"confidence":4}', "decision true"),
    ('{"decision":false,"confidence":4}', "decision false"),
    ('{"decision":null,"confidence":4}', "decision null"),
    ('{"decision":["1"],"confidence":4}', "decision [...]"),
    ('{"decision":{"value":"1"},"confidence":4}', "decision {...}"),
    ('{"decision":NaN,"confidence":4}', "decision nan"),
    ('{"decision":1' + "0" * 6000 + ',"confidence":4}', "too large"),
    ('{"decision":"' + "1" * 6000 + '","confidence":4}', "neither 0 nor 1"),
    ('{"decision":"\ud800","confidence":4}', "\\ud800"),
    ('{"decision":"0","decision":"1","confidence":4}', "more than once"),
    ('{"decision":"1","Decision":"0","confidence":4}', "more than once"),
    (PLAIN + '{"decision":"0","confidence":4}', "more than once"),
    (PLAIN + ' No: {"decision":"maybe"}', "more than once"),
    (f"<think>{PLAIN}", "all thinking"),
    (f"<think>{PLAIN}</think>", "all thinking"),
    (f"<think>{PLAIN}</think>\nI cannot decide.", "no JSON object"),
]


@every(("reply", "decision", "confidence", "rule"), READ)
def test_reply_is_read(reply, decision, confidence, rule):
    assert parse(reply) == Parsed(decision, confidence, "ok", None, rule)  # type: ignore[arg-type]


@every(("reply", "decision", "said"), WITHOUT_CONFIDENCE)
def test_decision_is_kept_where_confidence_cannot_be_read(reply, decision, said):
    found = parse(reply)
    assert (found.decision, found.confidence, found.status) == (decision, None, "confidence_unparsed")
    assert found.reason is not None and said in found.reason
    assert parse(reply, None).status == "ok"


@every(("reply", "said"), UNREAD)
def test_reply_without_one_decision_says_why(reply, said):
    found = parse(reply)
    assert (found.decision, found.confidence, found.status) == (None, None, "answer_unparsed")
    assert found.reason is not None and said in found.reason


@pytest.mark.parametrize(
    "reply", ['{"decision":"0"}', '{"decision":0}', '{"decision":"0","confidence":"high"}']
)
def test_confidence_that_was_not_asked_is_not_missed_and_not_kept(reply):
    assert parse(reply, None) == Parsed(0, None, "ok", None, "strict")
    assert parse('{"decision":"0","confidence":4}', None) == Parsed(0, None, "ok", None, "strict")


@every("ratings", range(2, 10))
def test_scale_ends_at_the_number_of_ratings(ratings):
    for rating in range(1, 10):
        for form in (f"{rating}", f'"{rating}"', f"{rating}.0"):
            found = parse(f'{{"decision":"1","confidence":{form}}}', ratings)
            assert found.confidence == (rating if rating <= ratings else None)


PIECES = [*'{}[]"\\:,01245 .eE+-<>/\n\t\x00\ud800', "decision", "confidence", "true", "NaN", "think", PLAIN]
JUNK = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["0", "1", 0, 1, 1.0]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def well_formed(found: Parsed, ratings: int | None) -> None:
    assert found.decision in (None, 0, 1) and not isinstance(found.decision, bool)
    assert (found.status == "answer_unparsed") == (found.decision is None) == (found.rule is None)
    assert (found.reason is None) == (found.status == "ok")
    if ratings is None or found.decision is None or found.status == "confidence_unparsed":
        assert found.confidence is None
    else:
        assert type(found.confidence) is int and 1 <= found.confidence <= ratings
    if found.reason is not None:
        assert found.reason.isascii() and found.reason.isprintable() and len(found.reason) < 250


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=80), JUNK), st.sampled_from([None, 2, 5]))
def test_any_string_gives_a_well_formed_reading(text, ratings):
    well_formed(parse(text, ratings), ratings)


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES, st.dictionaries(st.text(max_size=5), VALUES, max_size=2))
def test_any_json_values_are_read_by_value_or_not_at_all(decision, confidence, more):
    text = json.dumps({**more, "decision": decision, "confidence": confidence})
    found = parse(text)
    well_formed(found, 5)

    def number(value: object) -> object:
        if isinstance(value, str):
            return int(value.strip()) if value.strip() in set("0123456789") else None
        return None if isinstance(value, bool | None | list | dict) else value

    named = {key.strip().casefold() for key in more}
    if not named & {"decision", "confidence"}:
        assert found.decision == (number(decision) if number(decision) in (0, 1) else None)
        if found.decision is not None:
            assert found.confidence == (number(confidence) if number(confidence) in (1, 2, 3, 4, 5) else None)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0, 1]),
    st.integers(1, 5),
    st.text(alphabet=st.characters(exclude_characters="{<"), max_size=60),
    st.text(alphabet=st.characters(exclude_characters="{<"), max_size=60),
)
def test_prose_without_braces_or_tags_around_the_object_changes_nothing(decision, confidence, before, after):
    found = parse(f'{before}{{"decision":"{decision}","confidence":{confidence}}}{after}')
    assert (found.decision, found.confidence, found.status) == (decision, confidence, "ok")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(PLAIN) - 1))
def test_a_reply_that_is_cut_off_decides_nothing(length):
    assert parse(PLAIN[:length]).decision is None


#: CPU seconds that no machine needs for a linear reading and no machine is quick enough for a quadratic one.
HOPELESS = 120

HOSTILE = {
    "braces": "{",
    "open keys": '{"',
    "nested": '{"a":',
    "empty objects": "{}",
    "spaced braces": "{ ",
    "objects in objects": '{"a":1,"b":{',
    "keys with braces": '{"x{":1,',
    "answers": '{"decision":"1"} ',
    "backslashes": '{"\\',
    "tags": "<think>",
    "closing tags": "</think>",
    "angles": '{"decision":"<',
    "lists": '{"a":[',
    "digits": '{"decision":11111111',
    "space": "{        ",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("shape", ["repeated", "first once"])
def test_a_long_hostile_reply_is_read_in_linear_time(unit, shape):
    repeated = unit if shape == "repeated" else unit[-1]
    text = unit + repeated * (800_000 // len(repeated))
    started = time.process_time()
    well_formed(parse(text), 5)
    assert time.process_time() - started < HOPELESS


def test_four_megabytes_are_read_in_seconds():
    started = time.process_time()
    assert parse('{"a":{' * 640_000 + PLAIN).decision is None
    assert parse("so " * 1_320_000 + PLAIN).decision == 1
    assert time.process_time() - started < HOPELESS

import json
import math
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.transcripts.lines import (
    FIELDS,
    decode_line,
    decode_logprobs,
    encode_line,
    encode_logprobs,
)
from metacog_pipeline.transcripts.schema import (
    ARROW_SCHEMA,
)
from tests.partitions import without_seal
from tests.tables import every

any_text = st.text(st.characters(exclude_categories=[]))


@settings(max_examples=100, deadline=None)
@given(any_text, any_text)
@example("\ud83d\ude00 two halves and one 😀 \ud83d", "\ude00\ud83d")
@example("\ud83d😀\ude00", "\\ud83d\\ude00")
@example("\x00\n\r\u2028\u0085\x1f\x7f", "")
@example("x" * 1_000_000, "é" * 1_000_000)
def test_any_text_comes_back_exactly_from_one_line(make, text, error):
    record = make(text=text, error_message=error)
    line = encode_line(record)
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and b"\0" not in line
    assert decode_line(line) == record


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_line_is_ascii_json_any_tool_reads(make, text):
    line = encode_line(make(text=text))
    assert line.isascii() and json.loads(line)["text"] == text


def test_every_optional_field_may_be_absent(make):
    empty = {name: None for name in FIELDS if ARROW_SCHEMA.field(name).nullable}
    assert len(empty) == 24
    record = make(**empty)
    assert decode_line(encode_line(record)) == record


def test_times_are_kept_to_the_microsecond_in_utc(make):
    local = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert decode_line(encode_line(make(started_at=local))).started_at == local
    assert json.loads(encode_line(make(started_at=local)))["started_at"] == "2026-05-06T01:38:09.123456+00:00"


@every(
    ("changes", "reason"),
    [({"text": None}, "text"), ({"text": 3}, "text"), ({"run": "1"}, "run"), ({"run": True}, "run"),
     ({"latency_s": None}, "latency_s"), ({"started_at": "yesterday"}, "isoformat"),
     ({"started_at": "2026-01-01T00:00:00"}, "time zone"), ({"status": "excellent"}, "status"),
     ({"schema_version": None}, "schema_version"), ({"schema_version": 0}, "0"), ({"surplus": 1}, "surplus")],
)  # fmt: skip
def test_a_line_that_is_not_a_record_says_why(make, changes, reason):
    row = {**json.loads(without_seal(encode_line(make()))), **changes}
    with pytest.raises(ValueError, match=reason):
        decode_line(json.dumps(row).encode())


@every("line", [b"", b"[]", b"3", b"null", b"{}", b"[" * 100_000, b"\xff\xfe", b"\0" * 9])
def test_a_line_that_is_no_record_at_all_is_a_value_error(line):
    with pytest.raises(ValueError):
        decode_line(line)


token_text = st.text(st.characters(exclude_categories=["Cs"]))
finite = st.floats(allow_nan=False, allow_infinity=False)
alternatives = st.lists(st.tuples(token_text, finite), max_size=5).map(tuple)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.builds(TokenLogprob, token_text, finite, alternatives), max_size=20).map(tuple))
@example((TokenLogprob("\ud83d", -0.5, (("\ude00", -1.0),)), TokenLogprob("B", -math.inf)))
def test_log_probabilities_come_back_as_they_were(logprobs):
    assert decode_logprobs(encode_logprobs(logprobs)) == logprobs


@every(
    "text",
    [
        "",
        "3",
        "[3]",
        "[[1]]",
        '[["a","b",[]]]',
        '[["a",0,[["b"]]]]',
        "{",
        "[" * 9999,
        f'[["a",{10**400},[]]]',
    ],
)
def test_other_text_is_no_list_of_log_probabilities(text):
    with pytest.raises(ValueError):
        decode_logprobs(text)

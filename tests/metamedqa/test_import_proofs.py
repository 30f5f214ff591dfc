"""An answer file proves itself: a key, a correctness, a question or a scale that contradicts the items refuses it."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from metacog_pipeline.benchmarks.metamedqa.items import LETTERS
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.columns import Shape, parse_scale, parse_words, path_of
from tests.metamedqa.reading import read_answers as take
from tests.tables import every


def rows_of(items, right=0.8, shift=0):
    drawn, found = random.Random(1), []
    for place, item in enumerate(items):
        hit = drawn.random() < right
        choice = item.target if hit else LETTERS[(LETTERS.index(item.target) + 1) % 6]
        named = items[place + shift] if place + shift < len(items) else None
        if named is not None:
            row = {
                "id": named.item_id,
                "pick": choice,
                "theirs_key": item.target,
                "hit": int(hit),
                "sure": 1 + place % 5,
            }
            found.append({**row, "text": item.question})
    return found


MAP = {"item_id": "id", "choice": "pick", "confidence": "sure"}


@pytest.mark.parametrize(
    ("field", "column"), [("key", "theirs_key"), ("correct", "hit"), ("question", "text")]
)
def test_a_shifted_file_is_refused(field, column, tmp_path, shuffled):
    path = tmp_path / "a.jsonl"
    for shift in (1, 2):
        with pytest.raises(StudyError) as refused:
            take(path, shuffled, rows_of(shuffled, shift=shift), {**MAP, field: column})
        assert f"--trust {field}" in str(refused.value)
        assert "row 1 (" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("field", "column"), [("key", "theirs_key"), ("correct", "hit"), ("question", "text")]
)
def test_a_file_that_agrees_is_taken_and_says_so(field, column, tmp_path, shuffled):
    found = take(tmp_path / "a.jsonl", shuffled, rows_of(shuffled), {**MAP, field: column})
    assert len(found.records) == 170 and not found.rejected
    assert f"{field} (column '{column}'): all 170 rows agree" in found.summary[0]
    assert "taken as a rating 1..5" in found.summary[1] and "ignored: " in found.summary[-1]


def test_one_contradicted_key_in_many_rows_refuses_the_file_and_trust_takes_it(tmp_path, shuffled):
    rows = rows_of(shuffled)
    rows[41]["theirs_key"] = LETTERS[(LETTERS.index(shuffled[41].target) + 1) % 6]
    with pytest.raises(StudyError, match=r"in 1 of 170 rows: row 42 \(test-0041\) says "):
        take(tmp_path / "a.jsonl", shuffled, rows, {**MAP, "key": "theirs_key"})
    found = take(tmp_path / "a.jsonl", shuffled, rows, {**MAP, "key": "theirs_key"}, trust=("key",))
    assert len(found.records) == 170 and "1 of 170 disagree, trusted" in found.summary[0]
    with pytest.raises(StudyError, match="--trust nothing"):
        take(tmp_path / "a.jsonl", shuffled, rows, {**MAP, "key": "theirs_key"}, trust=("nothing",))


@pytest.mark.parametrize(
    ("low", "high", "fits"),
    [
        (0, 1, "--scale 0..1 or --scale 0..10 or --scale 0..100"),
        (0, 100, "--scale 0..100;"),
        (-3, 7, "LOW..HIGH"),
    ],
)
def test_a_scale_is_declared_and_never_guessed(low, high, fits, tmp_path, shuffled):
    rows = [{**row, "sure": low + (high - low) * n / 169} for n, row in enumerate(rows_of(shuffled))]
    with pytest.raises(StudyError) as refused:
        take(tmp_path / "a.jsonl", shuffled, rows, MAP)
    assert fits in str(refused.value)
    scale = parse_scale(f"{low}..{high}")
    found = take(tmp_path / "a.jsonl", shuffled, rows, MAP, scale=scale)
    rated = [str(record.text)[-1] for record in found.records]
    assert rated == sorted(rated) and set(rated) == set("12345") and len(rated) == 170
    assert found.records[0].request_json == json.dumps({"confidence_scale": str(scale)})


@pytest.mark.parametrize("cell", ["0,75", "1,000", "1,234.5"])
def test_a_number_with_a_comma_refuses_the_file(cell, tmp_path, shuffled):
    rows = rows_of(shuffled)
    rows[3]["sure"] = cell
    with pytest.raises(StudyError, match=r"row 4: confidence .* is a number with a comma"):
        take(tmp_path / "a.jsonl", shuffled, rows, MAP)


def test_missing_confidence_is_missing_and_odd_numbers_are_reported(tmp_path, shuffled):
    rows = rows_of(shuffled)
    odd = ["NaN", "", "n/a", None, float("nan"), "inf", 1e308, "sure"]
    for row, value in zip(rows, odd, strict=False):
        row["sure"] = value
    found = take(tmp_path / "a.jsonl", shuffled, rows, MAP)
    assert len(found.records) == 170 and not found.rejected
    assert all("Confidence" not in str(record.text) for record in found.records[:5])
    assert len(found.warnings) == 8 and "5 missing, 2 not numbers" in found.summary[1]


def test_words_paths_and_option_texts_are_understood(tmp_path, shuffled):
    item = shuffled[0]
    rows = [{"q": {"id": item.item_id}, "out": [{"pick": item.options[2], "sure": "High"}]}]
    mapping = {"item_id": "q.id", "choice": "out[0].pick", "confidence": "out[0].sure"}
    shape = Shape(parse_words(["high=5,low=1"]))
    (record,) = take(tmp_path / "a.jsonl", shuffled, rows, mapping, shape=shape).records
    assert record.text == "Answer: C\nConfidence: 5"
    assert path_of("out[0].pick") == ("out", 0, "pick") and path_of("a..b[") == ()
    with pytest.raises(StudyError, match=r"no column .out.0.pick."):
        take(tmp_path / "a.jsonl", shuffled, rows, {**mapping, "choice": "out.0.pick"}, shape=shape)


def test_a_compressed_table_is_read(tmp_path, shuffled):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(f"item_id,choice\n{shuffled[0].item_id},A\n".encode()))
    assert len(take(path, shuffled).records) == 1
    path.write_bytes(b"\x1f\x8b torn")
    with pytest.raises(StudyError, match="not a whole gzip file"):
        take(path, shuffled)


@every("text", ["1", "5..1", "a..b", "0..inf", ""])
def test_a_scale_that_is_none_is_one_line(text):
    with pytest.raises(StudyError, match="--scale"):
        parse_scale(text)


@pytest.mark.parametrize("text", ["KEEP", "=1", "KEEP=", "a=1,a=2"])
def test_words_that_are_no_pairs_are_one_line(text):
    with pytest.raises(StudyError, match="--map-values"):
        parse_words([text])


def test_duplicates_are_listed_and_the_first_counts(tmp_path, shuffled):
    rows = rows_of(shuffled)
    found = take(tmp_path / "a.jsonl", shuffled, [*rows, *rows[:5]], MAP)
    assert len(found.records) == 170 and [each.row for each in found.rejected] == [171, 172, 173, 174, 175]


@pytest.mark.parametrize("scale", [None, "0..100"])
def test_a_confidence_on_two_scales_refuses_the_file(scale, tmp_path, shuffled):
    rows = rows_of(shuffled)
    for place, row in enumerate(rows):
        row["sure"] = 0.2 + 0.1 * (place % 8) if place % 3 == 0 else 20 + 10 * (place % 8)
    with pytest.raises(StudyError, match=r"57 values such as 0.2 lie between 0 and 1 and 113 .* above"):
        take(tmp_path / "a.jsonl", shuffled, rows, MAP, scale=parse_scale(scale))


def test_a_confidence_of_words_alone_refuses_the_file(tmp_path, shuffled):
    rows = [{**row, "sure": ("low", "high")[n % 2]} for n, row in enumerate(rows_of(shuffled))]
    with pytest.raises(StudyError, match=r"170 of 170 confidences are no number.*--map-values high=5,low=1"):
        take(tmp_path / "a.jsonl", shuffled, rows, MAP)
    shape = Shape(parse_words(["high=5,low=1"]))
    assert len(take(tmp_path / "a.jsonl", shuffled, rows, MAP, shape=shape).records) == 170

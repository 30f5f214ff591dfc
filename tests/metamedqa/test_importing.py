"""Answers collected elsewhere: every usual shape is read, every row not taken is listed with its reason.

A file proves itself: a key, a correctness, a question or a scale that contradicts the items refuses it.
"""

from __future__ import annotations

import json
import random
from functools import partial

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa.items import LETTERS
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.cells import parse_scale, parse_words
from metacog_pipeline.interchange.columns import parse_mapping
from metacog_pipeline.interchange.import_rules import Imported
from tests.metamedqa.reading import read_answers, table
from tests.tables import every

take = partial(read_answers, run=2)


def texts(found: Imported) -> list[tuple[str, str]]:
    return [(record.item_id, record.text) for record in found.records]


def reasons(found: Imported) -> list[tuple[int, str]]:
    return [(rejected.row, rejected.reason) for rejected in found.rejected]


@every(
    "content",
    [
        "item_id,choice,confidence\ntest-0001,B,4\n",
        "\ufeffItem ID;Prediction;Conf\r\ntest-0001;B;4\r\n",
        "item_id\tanswer\tconfidence\ntest-0001\tB\t4.0\n\n",
        'id,pred,certainty\n"test-0001","B"," 4 "\n',
        "id,answer,prediction,confidence\ntest-0001,A,B,4\n",
        ",item_id,choice,confidence\n0,test-0001,B,4\n",
        "question,choice,confidence\nPATIENT 1  has finding 7. Which mechanism explains it?,B,4\n",
    ],
)
def test_usual_columns_are_found_in_csv(content, tmp_path, items):
    found = take(tmp_path / "answers.csv", items, content)
    assert texts(found) == [("test-0001", "Answer: B\nConfidence: 4")]
    assert not found.rejected


def test_record_says_it_was_imported(tmp_path, items):
    (record,) = take(tmp_path / "a.csv", items, "item_id,choice\ntest-0001,B\n").records
    how = (record.source, record.provider, record.mode, record.step, record.status)
    assert how == ("imported", "replay", "import", "answer", "ok")
    about = (record.benchmark, record.model, record.run, record.condition)
    assert about == ("metamedqa", "theirs", 2, "baseline")
    assert record.item_hash == items[1].item_hash and len(record.answer_id) == 64


def test_every_row_not_taken_is_listed_with_its_reason(tmp_path, items):
    lines = [
        "test-0000,A,", "nobody,A,", "test-0003,,", ",A,", "test-0000,B,", "test-0000,B,role-explit-unknown",
        "test-0004,A,wrong", "test-0005,A",
    ]  # fmt: skip
    found = take(tmp_path / "a.csv", items, "\n".join(["item_id,choice,condition", *lines, ""]))
    assert [(r.item_id, r.condition) for r in found.records] == [
        ("test-0000", "baseline"),
        ("test-0000", "role-explicit-unknown"),
    ]
    listed = dict(reasons(found))
    expected = {
        3: "item_id 'nobody' is none of the", 4: "there is no reply", 5: "names no item",
        6: "given twice in one run, first in row 2", 8: 'unknown condition "wrong"',
        9: "the row has 2 cells, the header 3",
    }  # fmt: skip
    assert [*listed] == [*expected]
    for row, part in expected.items():
        assert part in listed[row], row


def test_mapping_names_the_columns_and_switches_guessing_off_for_what_it_settles(tmp_path, items):
    content = "id,answer,mine,sure,text\ntest-0001,A,C,2,Answer: D\n"
    path = tmp_path / "a.csv"
    assert texts(take(path, items, content, mapping={"choice": "mine", "confidence": "sure"})) == [
        ("test-0001", "Answer: C\nConfidence: 2")
    ]
    assert texts(take(path, items, content, mapping={"response": "text"})) == [("test-0001", "Answer: D")]


@every(
    ("name", "content", "mapping", "says"),
    [
        ("a.csv", "", {}, "the file is empty"),
        ("a.csv", "item_id,choice\n", {}, "no row"),
        ("a.csv", b"item_id,choice\ntest-0001,\xff\n", {}, "not UTF-8 at byte 25"),
        ("a.csv", "item_id,choice\nx,A\n", {"choice": "pick"}, "no column 'pick' to map choice to; the columns"),
        ("a.csv", "item_id,choice\nx,A\n", {"letter": "choice"}, "--map letter=choice: give field=column"),
        ("a.csv", "thing,choice\nx,A\n", {}, "no column names the item"),
        ("a.csv", "item_id,thing\nx,A\n", {}, "no column holds the answer"),
        ("a.csv", "item_id,choice,choice\nx,A,B\n", {}, "column 'choice' is there twice"),
        ("a.json", "{", {}, "not JSON"),
        ("a.json", "3", {}, "must be a list"),
        ("a.json", "[" * 100_000, {}, "not JSON"),
        ("a.parquet", "PAR1 torn", {}, "not a readable Parquet file"),
        ("a.xlsx", "x", {}, "tables are read from .csv"),
    ],
)  # fmt: skip
def test_file_that_cannot_be_used_is_one_line(name, content, mapping, says, tmp_path, items):
    with pytest.raises(StudyError) as caught:
        take(tmp_path / name, items, content, mapping=mapping)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_curly_quotes_and_straight_ones_name_the_same_question(tmp_path, items):
    quoted = [items[0].model_copy(update={"question": 'The patient\'s "numb" hand’s skin?'}), *items[1:]]
    content = json.dumps([{"question": "The  patient’s “numb” hand's skin?", "choice": "A"}])
    (record,) = take(tmp_path / "a.json", quoted, content).records
    assert record.item_id == items[0].item_id


def test_a_row_without_raw_text_falls_back_on_its_choice(tmp_path, items):
    rows = [
        {"id": "test-0000", "answer": "A", "confidence": 2, "raw": None},
        {"id": "test-0001", "answer": "A", "confidence": 2, "raw": "Answer: C\nConfidence: 5"},
    ]
    found = take(tmp_path / "a.json", items, json.dumps(rows))
    assert [text for _, text in texts(found)] == ["Answer: A\nConfidence: 2", "Answer: C\nConfidence: 5"]


def test_question_shared_by_two_items_is_not_guessed(tmp_path, items):
    twins = [items[0], items[1].model_copy(update={"question": items[0].question.upper() + "."})]
    with pytest.raises(StudyError, match=r"row 1: question .* belongs to 2 items; give item_id"):
        take(tmp_path / "a.jsonl", twins, [{"question": items[0].question, "choice": "A"}])


# --- choices ---------------------------------------------------------------------------------------------------------
def picks(items):
    """Return (place, letter, confidence) of a model that is right three times in four."""
    drawn = random.Random(1)
    found = []
    for place, item in enumerate(items):
        letter = item.target if drawn.random() < 0.75 else drawn.choice(LETTERS)
        found.append((place, letter, drawn.randrange(1, 6)))
    return found


def letters(found):
    return [record.text[8] for record in found.records]


def test_the_word_for_none_and_a_confidence_of_minus_one_are_missing(tmp_path, shuffled):
    rows = [["", 3], ["None", 3], ["nan", 3], ["B", -1], ["B", "N/A"], ["B", 2]]
    content = table(["id", "pred", "conf"], [(shuffled[n].item_id, *row) for n, row in enumerate(rows)])
    found = take(tmp_path / "a.csv", shuffled, content)
    assert [each.reason for each in found.rejected] == ["there is no choice"] * 3
    assert [record.text for record in found.records] == ["Answer: B", "Answer: B", "Answer: B\nConfidence: 2"]
    assert "2 missing, 0 not numbers" in found.summary[2]
    frame = pl.DataFrame(
        {"item_id": [each.item_id for each in shuffled[:2]], "pred": ["B", None], "conf": [float("nan"), 4.0]}
    )
    frame.write_parquet(tmp_path / "b.parquet")
    kept = take(tmp_path / "b.parquet", shuffled)
    assert [record.text for record in kept.records] == ["Answer: B"] and len(kept.rejected) == 1


# --- what proves a file -------------------------------------------------------------------------------------------------
def rows_of(items, right=0.8, shift=0):
    drawn, found = random.Random(1), []
    for place, item in enumerate(items):
        hit = drawn.random() < right
        choice = item.target if hit else LETTERS[(LETTERS.index(item.target) + 1) % 6]
        if place + shift < len(items):
            named = {"id": items[place + shift].item_id, "pick": choice, "sure": 1 + place % 5}
            found.append({**named, "theirs_key": item.target, "hit": int(hit), "text": item.question})
    return found


MAP = {"item_id": "id", "choice": "pick", "confidence": "sure"}


@pytest.mark.parametrize(
    ("field", "column", "why"),
    [
        ("key", "theirs_key", r"row 1: the key '.' is not that of test-000\d in the study; .*--trust key"),
        (
            "question",
            "text",
            r"none of its \d+ rows .*row 1: item test-000\d asks another question in the study",
        ),
    ],
)
def test_a_shifted_file_is_refused_and_one_that_agrees_says_so(field, column, why, tmp_path, shuffled):
    path = tmp_path / "a.jsonl"
    for shift in (1, 2):
        with pytest.raises(StudyError, match=why) as refused:
            take(path, shuffled, rows_of(shuffled, shift=shift), {**MAP, field: column})
        assert "\n" not in str(refused.value)
    found = take(path, shuffled, rows_of(shuffled), {**MAP, field: column})
    assert len(found.records) == 170 and not found.rejected
    assert ("key of 170 rows agrees with the items" in found.summary) is (field == "key")
    assert any("taken as a rating 1..5" in line for line in found.summary) and "ignored: " in found.summary[1]


def test_verdicts_of_a_table_stand_beside_ours(tmp_path, shuffled):
    for shift, agrees in ((0, True), (1, False)):
        found = take(
            tmp_path / "a.jsonl", shuffled, rows_of(shuffled, shift=shift), {**MAP, "correct": "hit"}
        )
        assert ("differ on right or wrong" not in found.summary[-1]) is agrees
        assert "accuracy by the file's own verdicts 0." in found.summary[-1]


def test_one_contradicted_key_in_many_rows_refuses_the_file_and_trust_takes_it(tmp_path, shuffled):
    rows = rows_of(shuffled)
    rows[41]["theirs_key"] = LETTERS[(LETTERS.index(shuffled[41].target) + 1) % 6]
    with pytest.raises(StudyError, match=r"row 42: the key '.' is not that of test-0041 in the study"):
        take(tmp_path / "a.jsonl", shuffled, rows, {**MAP, "key": "theirs_key"})
    found = take(tmp_path / "a.jsonl", shuffled, rows, {**MAP, "key": "theirs_key"}, trust=("key",))
    assert len(found.records) == 170 and "key of 169 rows agrees with the items" in found.summary


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
    assert json.loads(found.records[0].request_json) == {"confidence_scale": str(scale), "file": "a.jsonl"}


def test_missing_confidence_is_missing_and_odd_numbers_are_reported(tmp_path, shuffled):
    rows = rows_of(shuffled)
    odd = ["NaN", "", "n/a", None, float("nan"), "inf", 1e308, "sure"]
    for row, value in zip(rows, odd, strict=False):
        row["sure"] = value
    found = take(tmp_path / "a.jsonl", shuffled, rows, MAP)
    assert len(found.records) == 170 and not found.rejected
    assert all("Confidence" not in str(record.text) for record in found.records[:5])
    assert "of 170 answers that were read 8 cannot be read" in found.summary[-1]
    assert "5 missing, 2 not numbers" in found.summary[2]


def test_numbers_for_letters_are_refused_until_their_meaning_is_given(tmp_path, shuffled):
    rows = [{"id": each.item_id, "pred": LETTERS.index(each.target) + 1.0} for each in shuffled]
    with pytest.raises(StudyError, match=r"none of its answers can be read, such as .*--map-values 0=A,1=B"):
        take(tmp_path / "a.jsonl", shuffled, rows)
    words = parse_words([",".join(f"{n}={letter}" for n, letter in enumerate(LETTERS, 1))])
    found = take(tmp_path / "a.jsonl", shuffled, rows, words=words)
    assert [each.text for each in found.records] == [f"Answer: {each.target}" for each in shuffled]


@pytest.mark.parametrize(
    ("read", "option", "texts"),
    [
        (parse_scale, "--scale", ["1", "5..1", "a..b", "0..inf", ""]),
        (lambda text: parse_words([text]), "--map-values", ["KEEP", "=1", "KEEP=", "a=1,a=2"]),
    ],
)
def test_an_option_that_says_nothing_is_one_line(read, option, texts):
    for text in texts:
        with pytest.raises(StudyError, match=option):
            read(text)


def test_map_options_are_field_equals_column():
    fields = ("choice", "confidence")
    given = parse_mapping(["choice=my answer", "confidence=a=b"], fields)
    assert given == {"choice": "my answer", "confidence": "a=b"}
    for wrong in (["choice"], ["choice="], ["nothing=x"], ["choice=a", "choice=b"]):
        with pytest.raises(StudyError, match="--map"):
            parse_mapping(wrong, fields)

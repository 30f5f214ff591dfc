"""Files as other programs write them, and damaged ones: a board or one clear line, nothing lost, nothing half kept."""

from __future__ import annotations

import random
from collections.abc import Callable

import polars as pl
import pytest

from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.columns import Shape, parse_words
from tests.metamedqa.conftest import make_items
from tests.metamedqa.reading import read_answers as take
from tests.metamedqa.reading import table


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


FORMS: list[Callable[[str, Item], str]] = [
    lambda letter, item: f"{letter.lower()})",
    lambda letter, item: f"({letter})",
    lambda letter, item: f"Answer: {letter}",
    lambda letter, item: item.options[LETTERS.index(letter)],
    lambda letter, item: f"{letter}. {item.options[LETTERS.index(letter)]}",
    lambda letter, item: f" **{letter}** ",
    lambda letter, item: f"['{letter}']",
    lambda letter, item: f"Option {letter}",
    lambda letter, item: f"$\\boxed{{\\text{{{letter}}}}}$",
]


def test_a_choice_in_any_usual_form_is_read(tmp_path, shuffled):
    said = picks(shuffled)
    rows = [(shuffled[n].item_id, FORMS[n % len(FORMS)](letter, shuffled[n]), c) for n, letter, c in said]
    found = take(tmp_path / "a.csv", shuffled, table(["id", "prediction", "conf"], rows))
    assert letters(found) == [letter for _, letter, _ in said] and not found.rejected


def test_semicolons_marks_and_line_ends_of_spreadsheets_are_read(tmp_path, shuffled):
    rows = [(shuffled[n].question, letter, shuffled[n].target, c) for n, letter, c in picks(shuffled)]
    content = "\ufeff" + table(["Question", "Pred", "Gold", "Conf"], rows, ";", "\r\n")
    found = take(tmp_path / "a.csv", shuffled, content)
    assert "key (column 'Gold'): all 170 rows agree" in found.summary[0] and len(found.records) == 170
    wide = tmp_path / "utf16.csv"
    wide.write_bytes(content.removeprefix("\ufeff").encode("utf-16"))
    assert take(wide, shuffled).records[5].text == found.records[5].text
    tailed = content.replace("\r\n", ";;\r\n").replace("Conf;;", "Conf")
    assert take(tmp_path / "b.csv", shuffled, tailed).records[5].text == found.records[5].text


def test_the_word_for_none_and_minus_one_are_missing(tmp_path, shuffled):
    rows = [["-1", 3], ["", 3], ["None", 3], ["nan", 3], ["B", -1], ["B", "N/A"], ["B", 2]]
    content = table(["id", "pred", "conf"], [(shuffled[n].item_id, *row) for n, row in enumerate(rows)])
    found = take(tmp_path / "a.csv", shuffled, content)
    assert [each.reason for each in found.rejected] == ["there is no choice"] * 4
    assert [record.text for record in found.records] == ["Answer: B", "Answer: B", "Answer: B\nConfidence: 2"]
    assert "2 missing, 0 not numbers" in found.summary[1]
    frame = pl.DataFrame(
        {"item_id": [each.item_id for each in shuffled[:2]], "pred": [1.0, None], "conf": [float("nan"), 4.0]}
    )
    frame.write_parquet(tmp_path / "b.parquet")
    kept = take(tmp_path / "b.parquet", shuffled)
    assert [record.text for record in kept.records] == ["Answer: B"] and len(kept.rejected) == 1


def test_indices_that_begin_at_1_are_refused_and_can_be_said(tmp_path, shuffled):
    said = picks(shuffled)
    same = [item.model_copy(update={"target": "A"}) for item in shuffled]  # nothing else shows the shift
    rows = [(shuffled[n].item_id, LETTERS.index(letter) + 1, c) for n, letter, c in said]
    numbers = table(["id", "pred", "conf"], rows)
    with pytest.raises(StudyError, match="choices are numbers and none is 0, so they seem to begin at 1"):
        take(tmp_path / "b.csv", same, numbers.replace(",6,", ",5,"))
    words = Shape(parse_words(["1=A,2=B,3=C,4=D,5=E,6=F"]))
    found = take(tmp_path / "b.csv", same, numbers, shape=words)
    assert [record.text for record in found.records] == [f"Answer: {a}\nConfidence: {c}" for _, a, c in said]


def test_a_number_that_is_index_and_text_of_two_options_is_not_taken(tmp_path):
    items = make_items(3)
    twofold = ("2", "one", "0", "three", *items[0].options[4:])
    items = [item.model_copy(update={"options": twofold}) for item in items]
    found = take(tmp_path / "a.csv", items, "id,pred\ntest-0000,one\ntest-0001,2\ntest-0002,0\n")
    assert letters(found) == ["B"]
    assert len(found.rejected) == 2
    assert all("is an index and the text of option" in each.reason for each in found.rejected)


def test_three_unreadable_rows_in_5_000_are_listed_and_the_rest_is_taken(tmp_path):
    items = make_items(5_000)
    rows = [f"{item.item_id},{item.target},{1 + n % 5}" for n, item in enumerate(items)]
    rows[10], rows[2_000], rows[4_999] = f"{items[10].item_id},Q,3", "nobody,A,1", "cut"
    found = take(tmp_path / "a.csv", items, "\n".join(["item_id,choice,confidence", *rows]))
    assert [each.row for each in found.rejected] == [12, 2_002, 5_001] and len(found.records) == 4_997
    assert "5000 rows, 4997 taken" in found.summary[0] and "4997 of 5000 items" in found.summary[2]


def test_text_and_numbers_mixed_in_a_confidence_are_told_with_their_words(tmp_path, shuffled):
    said = ((n, letter, ("quite", "very")[n % 2] if n % 17 == 0 else c) for n, letter, c in picks(shuffled))
    rows = [(shuffled[n].item_id, letter, sure) for n, letter, sure in said]
    found = take(tmp_path / "a.csv", shuffled, table(["id", "pred", "conf"], rows))
    assert len(found.records) == 170 and len(found.warnings) == 10 and not found.rejected
    assert "10 not numbers ('quite', 'very': replace words with --map-values)" in found.summary[1]
    words = Shape(parse_words(["quite=4,very=5"]))
    assert not take(tmp_path / "a.csv", shuffled, table(["id", "pred", "conf"], rows), shape=words).warnings


@pytest.mark.parametrize("separator", [",", ";"])
def test_one_key_in_a_thousand_that_contradicts_refuses_the_file(separator, tmp_path):
    items = make_items(1000)
    rows = [(item.item_id, "A", item.target) for item in items]
    rows[700] = (items[700].item_id, "A", "B" if items[700].target != "B" else "C")
    content = table(["id", "pred", "gold"], rows, separator)
    with pytest.raises(
        StudyError, match=r"in 1 of 1000 rows: row 702 \(test-0700\) says .*nothing was kept.*--trust key"
    ):
        take(tmp_path / "a.csv", items, content)


def test_choices_without_any_confidence_are_taken_without_a_line_for_each(tmp_path, shuffled):
    found = take(
        tmp_path / "a.csv",
        shuffled,
        table(["id", "pred"], [(shuffled[n].item_id, letter) for n, letter, _ in picks(shuffled)]),
    )
    assert not found.warnings and "no confidence: what rests on it is not scored" in found.summary[1]

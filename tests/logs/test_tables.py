"""Tables that bring their own questions: read as a log is, into a study that is made where there is none."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.questions.read import read as read_calls
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import columns, importing, matching
from metacog_pipeline.interchange.import_rules import ImportOptions, QuestionRows
from metacog_pipeline.interchange.question_rows import question_of
from metacog_pipeline.stats.confidence_scale import Scale
from tests.logs.conftest import lines
from tests.tables import every

HEAD = ("model", "id", "question", "options", "answer", "prediction", "confidence", "correct")
PERCENT = ImportOptions(scale=Scale(0, 100))


def rows(n=40, models=("org/one", "two")):
    found = []
    for place, model in enumerate(models):
        for number in range(n):
            said = (number + (number % 3 == 0) * (1 + place)) % 4
            cells = (model, f"q{number}", f"Which is number {number}?", [f"no {number}{x}" for x in "wxyz"],
                     "ABCD"[number % 4], "ABCD"[said], 50 + number, said == number % 4)  # fmt: skip
            found.append(dict(zip(HEAD, cells, strict=True)))
    return found


def table(path, found):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    return path


def read(path, options=PERCENT, pairs=()):
    return columns.samples(path, QuestionRows(None), replace(options, pairs=tuple(pairs)))[0]


def one(path, row):
    """Return what is read of a table of this row alone."""
    (only,) = read(lines(path / "t.jsonl", row), ImportOptions())
    return only


def judged(each):
    """Return the item that a row asks, and whether its answer is right."""
    (item,) = matching.match(Path("t"), [], [each], ()).items.values()
    found = read_calls(item, "answer_only", {"answer": Call("ok", each.said.text)}, 1)
    return item, None if found.said is None else bool(found.correct)


def answered(path):
    """Return options, key and verdict of each row."""
    made = [judged(each) for each in read(path)]
    return [(item.options, item.answer, right) for item, right in made]


def refused(why, path, options=PERCENT):
    with pytest.raises(StudyError, match=why):
        read(path, options)


def said(made):
    return [(each.said.text, (each.question or {}).get("answer")) for each in made]


@pytest.mark.parametrize("form", ["texts", "columns", "parquet"])
def test_options_in_any_usual_form_are_the_same(form, tmp_path):
    made = rows()
    expected = answered(table(tmp_path / "plain.csv", made))
    for row in made:
        listed = row["options"]
        for name in ("answer", "prediction"):
            row[name] = listed["ABCD".index(row[name])] if form == "texts" else row[name]
        if form == "columns":
            row |= {f"option_{x}": text for x, text in zip("abcd", row.pop("options"), strict=True)}
        elif form == "texts":
            row["options"] = json.dumps(dict(zip("ABCD", listed, strict=True)))
        elif form == "parquet":
            row["options"] = {"text": listed, "label": list("ABCD")}
    path = tmp_path / f"own.{'parquet' if form == 'parquet' else 'csv'}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(made), path)
    else:
        table(path, made)
    assert answered(path) == expected


def test_beside_a_label_the_answer_is_the_models_and_what_lacks_is_told(tmp_path):
    made = [{"statement": f"{n} is odd", "label": n % 2 == 1, "answer": n % 3 == 1} for n in range(4)]
    first = read(table(tmp_path / "own.csv", made))[0]
    assert first.question == {"question": "0 is odd", "answers": ["False"]}
    assert first.said.text == "Answer: False"
    bare = table(tmp_path / "bare.csv", [{"question": "?", "x": 1}])
    refused("no column holds the answer or a reply; use --map response=", bare)


def test_rows_that_lack_something_say_what_and_a_scale_is_never_guessed(tmp_path):
    made = [{**row, "confidence": row["confidence"] / 100} for row in rows()]
    made[0]["prediction"], made[1]["question"], made[2]["confidence"] = "", "", "NA"
    made[3]["answer"] = made[3]["correct"] = ""
    path = table(tmp_path / "own.csv", made)
    refused(r"say on which scale, as in --scale 0..1 or", path, ImportOptions())
    found = read(path, ImportOptions(scale=Scale(0, 1)))
    why = [
        "has no answer",
        "has no question",
        None,
        "has no short right answer (key) and no verdict (correct)",
        None,
    ]
    assert [each.why for each in found[:5]] == why
    assert found[2].said.text == "Answer: C" and found[4].said.text.endswith("Confidence: 54%")


def test_a_file_is_about_the_benchmark_that_is_named_or_the_only_one_of_the_study(tmp_path):
    text = '[study]\nname = "s"\n[[models]]\nname = "m"\nprovider = "replay"\n[benchmarks.metamedqa]\ndataset = "sample"\n'
    (tmp_path / "s.toml").write_text(text)
    study = importing.load_study(tmp_path / "s.toml")
    assert [importing.target(study, name) for name in (None, "questions")] == ["metamedqa", "questions"]
    assert importing.target(None, None) == "questions"
    (tmp_path / "s.toml").write_text(text + "[benchmarks.questions]\n")
    assert importing.target(importing.load_study(tmp_path / "s.toml"), None) == "questions"
    with pytest.raises(StudyError, match='"metamedq" is not enabled in the study'):
        importing.target(study, "metamedq")


# --- keys as data sets have them, and those that nothing can be read by ------------------------------------------------
ASKED = {"question": "Which one?", "response": "It is B.", "confidence": 70}


@pytest.mark.parametrize(
    ("cells", "told"),
    [({"answer": {"label": "B"}}, "key is an object with label"),
     ({"answer": [1, 1, 0], "options": ["u", "v", "w"]}, "has 3 right options; one can be right"),
     ({"answer": "a long text " * 20}, "has no short right answer (key) and no verdict (correct)"),
     ({"question": {"messages": []}}, "question is no text; give a column with its text"),
     ({"question": ["Why?", "How?"]}, "question is no text")],
)  # fmt: skip
def test_a_key_no_reply_can_be_held_to_and_a_question_in_parts_are_refused(tmp_path, take, cells, told):
    with pytest.raises(StudyError, match=re.escape(f"row 1: {told}")):
        take(lines(tmp_path / "t.jsonl", {**ASKED, "answer": "B", **cells}), scale=PERCENT.scale)


def test_decimals_of_parquet_are_numbers(tmp_path):
    cells = {"question": ["Which?"], "response": ["Answer: B"], "answer": ["B"],
             "sure": pa.array([Decimal("0.744")], pa.decimal128(6, 3)),
             "run": pa.array([Decimal(2)], pa.decimal128(4, 0))}  # fmt: skip
    pq.write_table(pa.table(cells), tmp_path / "t.parquet")
    (only,) = read(tmp_path / "t.parquet", ImportOptions(scale=Scale(0, 1)), ["confidence=sure"])
    assert (only.said.text, only.run) == ("Answer: B\nConfidence: 74.4%", 2)


LABELLED = (
    {"text": ["u", "v", "w"], "label": ["1", "2", "3"]}, {"1": "u", "2": "v", "3": "w"},
    [{"label": "1", "text": "u"}, {"label": "2", "text": "v"}, {"label": "3", "text": "w"}],
    "{'label': ['1', '2', '3'], 'text': ['u', 'v', 'w']}",
)  # fmt: skip


@pytest.mark.parametrize("options", LABELLED)
def test_an_option_is_named_by_the_label_it_has_in_the_table(options, tmp_path):
    row = {"question": "Which?", "options": options, "key": "2", "pred": "v"}
    other = {**row, "key": 2, "pred": "3"}
    first, second = read(lines(tmp_path / "t.jsonl", row, other), ImportOptions(trust=("item_id",)))
    for each, right in ((first, True), (second, False)):
        item, correct = judged(each)
        assert (item.options, item.answer, correct) == (("u", "v", "w"), "B", right)


@pytest.mark.parametrize("stated", [(7, 8, 10), (1, 5, 3, 2), (0, 1, 1), (0.9, 0.5)])
def test_a_short_table_of_ratings_or_shares_is_not_taken_as_percent(stated, tmp_path):
    made = [
        {"question": f"Q{n}?", "key": "x", "pred": "x", "confidence": sure} for n, sure in enumerate(stated)
    ]
    refused("say on which scale", table(tmp_path / "t.csv", made), ImportOptions())
    declared = ImportOptions(scale=Scale(0, max(1, *stated)))
    assert len(read(tmp_path / "t.csv", declared)) == len(stated)


@pytest.mark.parametrize(
    ("written", "percent"), [("85\u202f%", "85"), ("~80 %", "80"), ("９０％", "90"), ("٨٠", "80")]
)
def test_a_confidence_is_read_as_spreadsheets_and_people_write_it(written, percent, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        f"\ufeffquestion;key;pred;confidence;correct\r\nQ?;x;x;{written};WAHR\r\n", encoding="utf-8"
    )
    (only,) = read(path, ImportOptions())
    assert only.said.text.startswith(f"Answer: x\nConfidence: {percent}") and only.right is True


@every("words, right", [
    (("VRAI", "sí", "正确", "✓", "Yes", "1.0"), True), (("Falso", "нет", "错误", "いいえ", "no"), False),
])  # fmt: skip
def test_right_and_wrong_are_told_in_the_words_of_a_language(words, right, tmp_path):
    made = [{"question": f"Why {word}?", "response": "Because.", "correct": word} for word in words]
    assert {each.right for each in read(table(tmp_path / "t.csv", made), ImportOptions())} == {right}


def test_a_run_may_be_called_so_and_one_without_a_number_is_told(tmp_path):
    row = {"question": "Q?", "key": "x", "pred": "x"}
    asked = [{**row, "run": run} for run in ("1", "run_2", "Epoch 3", "4.0", "", "x")]
    made = read(table(tmp_path / "t.csv", asked))
    assert [each.run for each in made[:5]] == [1, 2, 3, 4, 1] and made[5].why == "run 'x' is no number"


def test_a_0_beside_options_numbered_from_1_is_refused(tmp_path):
    made = [{"question": f"Q{n}?", "options": ["1. u", "2. v"], "key": n, "pred": "u"} for n in range(2)]
    path = lines(tmp_path / "t.jsonl", *made)
    refused("answer 0 names none of the options, which are numbered from 1", path, ImportOptions())
    with pytest.raises(ValueError, match="numbered from 1"):
        question_of({**made[0], "answer": 0, "key": None}, "own")


@pytest.mark.parametrize(
    ("key", "reply", "right"),
    [("Na", "Na", True), ("Na", "K", False), ("none", "None", True), ("K", "Na", None), ("NA", "x", None),
     ("x", "None", None), ("-", "x", None), (["x", "Na"], "na", True)],
)  # fmt: skip
def test_a_word_for_nothing_is_an_answer_where_it_is_right(key, reply, right, tmp_path):
    only = one(tmp_path, {"question": "Which?", "key": key, "pred": reply})
    assert (None if only.why else judged(only)[1]) is right


def test_a_number_that_is_the_text_of_an_option_is_that_option(tmp_path):
    row = {"question": "Which?", "options": ["2", "5", "0"], "key": "2", "pred": "5.0"}
    item, right = judged(one(tmp_path, row))
    assert (item.answer, right) == ("A", False)
    assert judged(one(tmp_path, {**row, "key": "5"}))[1] is True

"""Questions of one's own: what a file may say, how a reply is read, and how confidence is elicited."""

import json
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmarks.questions import prompts
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.interchange import question_rows
from metacog_pipeline.interchange.question import Question as Item
from metacog_pipeline.study import load_study
from tests.tables import every


def items_of(folder: Path, *rows: dict[str, Any]) -> list[Item]:
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return question_rows.load([path], Item)


@pytest.mark.parametrize("answer", ["B", "b)", "Rome", "rome.", 1])
def test_the_right_option_is_named_by_letter_text_or_place(tmp_path, answer):
    row = {"question": "Capital of Italy?", "choices": ["Paris", "Rome"], "answer": answer}
    assert items_of(tmp_path, row)[0].answer == "B"


def test_kinds_are_told_by_the_answer(tmp_path):
    answers = [12, "12.5", True, "false", "Lisbon", ["Lisbon", "Lisboa"]]
    found = items_of(tmp_path, *({"question": f"{n}?", "answer": each} for n, each in enumerate(answers)))
    assert [item.kind for item in found] == ["number", "number", "choice", "choice", "text", "text"]
    assert [item.answer for item in found[2:4]] == ["A", "B"] and found[5].accept == ("Lisboa",)


@every(
    ("row", "why"),
    [
        ({"answer": 1}, "there is no question; .* the columns are: answer"),
        ({"question": ["?"], "answer": 1}, "question must be a text"),
        ({"question": "Fine?", "answer": 1}, "the same question is at .*row 1 already; remove one"),
        ({"question": "x" * 100_001, "answer": 1}, "at most 100000"),
        *(({"question": "?", **row}, why) for row, why in (
            ({"answer": "maybe", "kind": "true_false"}, "'maybe' is neither true nor false"),
            ({"answer": 1, "tolerance": -1}, "tolerance '-1' is no number"),
            ({"answer": 1, "tolerance": "5%"}, "tolerance '5%' is no number"), ({}, "there is no answer"),
            ({"answer": "E", "options": ["a", "b"]}, "none of the 2 options"),
            ({"answer": "A", "options": ["a"]}, "there is 1 option"),
            ({"answer": "A", "options": ["a"] * 11}, "there are 11 options"),
            ({"answers": ["A", "c"], "options": ["a", "b", "c"]}, "2 options are right, A, C"),
            ({"answer": {"label": "A"}, "options": ["a", "b"]}, "answer is an object with label; give"),
            ({"answer": 2, "options": ["2", "1", "0"]}, "2 is the place of option C and the text of option A"),
            ({"answer": "a", "options": ["a", "a", "c"]}, "'a' is the text of 2 options; write the letter"),
            ({"answer": "A", "options": ["a", "", "c"]}, "option B is empty; give a text"),
            ({"answer": "A", "options": [{"x": 1}, {"x": 2}]}, "option A is no text"),
            ({"answer": "x", "kind": "mc"}, "there are no options to choose among"),
            ({"answer": float("nan")}, "there is no answer"), ({"answer": 1, "kind": "essay"}, "kind is 'essay'"),
            ({"answer": "x", "reject": ["x"]}, "answer 'x' is in reject, too"),
            ({"answer": "x", "kind": "numeric"}, "is no number"),
        )),
    ],
)  # fmt: skip
def test_a_row_that_is_no_question_is_named(tmp_path, row, why):
    with pytest.raises(SourceError, match=rf"mine.jsonl: row 2: .*{why}"):
        items_of(tmp_path, {"question": "fine?", "answer": 1}, row)


def test_letters_alone_of_questions_without_options_are_refused(tmp_path):
    (tmp_path / "q.csv").write_text("question,answer\nCapital of Peru?,Lima\n")
    study = '[study]\nname = "x"\n[[models]]\nname = "m"\nprovider = "simulated"\n[benchmarks.questions]\n'
    (tmp_path / "study.toml").write_text(f'{study}items = "q.csv"\nconditions = ["choice_logprob"]\n')
    into = bound(load_study(tmp_path / "study.toml"), "questions")
    construction.build(into)
    with pytest.raises(SourceError, match="choice_logprob alone"):
        into.conditions()


@pytest.mark.parametrize(
    ("answer", "first", "others"),
    [
        ({"text": ["Denver Broncos", "Broncos", "Broncos"], "answer_start": [1, 2, 2]}, "Denver Broncos", ("Broncos",)),
        ({"value": "Lima", "aliases": ["Lima", "Ciudad"], "type": "Wikipedia"}, "Lima", ("Ciudad",)),
        ("She sold 24 / 2 = 12.\nSo 24 + 12 = 36.\n#### 36", "36", ()),
    ],
)  # fmt: skip
def test_right_answers_are_taken_as_data_sets_write_them(tmp_path, answer, first, others):
    (item,) = items_of(tmp_path, {"question": "Which one?", "answer": answer})
    assert (item.answer, item.accept) == (first, others)


@pytest.mark.parametrize(
    ("options", "answer", "letter"),
    [
        (["CO", "Co", "co2"], "Co", "B"), (["p53", "P53"], "P53", "B"), ({"A": "u", "B": "v", "C": None}, "B", "B"),
        (["u", "v", None, ""], 1.0, "B"), (["1", "2", "0"], "2", "B"),
    ],
)  # fmt: skip
def test_an_option_is_named_by_its_own_spelling_first_and_missing_ones_at_the_end_are_none(
    tmp_path, options, answer, letter
):
    (item,) = items_of(tmp_path, {"question": "Which?", "options": options, "answer": answer})
    assert item.answer == letter and "" not in item.options and "None" not in item.options


def test_thousands_in_a_right_answer_are_a_number(tmp_path):
    (item,) = items_of(tmp_path, {"question": "How many?", "answer": "1,200"})
    assert (item.kind, item.answer) == ("number", "1200")


def test_an_id_that_stands_twice_and_a_file_that_is_not_there_are_errors(tmp_path):
    with pytest.raises(SourceError, match=r"id 'a' is at .*row 1 already"):
        items_of(tmp_path, *({"id": "a", "question": each, "answer": 1} for each in "xy"))
    with pytest.raises((SourceError, StudyError), match="cannot be read"):
        question_rows.load([tmp_path / "none.jsonl"], Item)


def test_the_same_question_has_the_same_id_whatever_its_spaces_and_case(tmp_path):
    first = items_of(tmp_path, {"question": "What  is it?", "answer": 1})
    assert first[0].item_id == items_of(tmp_path, {"question": "what is it?", "answer": 1})[0].item_id


def test_a_wording_file_replaces_texts_by_name(tmp_path):
    path = tmp_path / "words.toml"
    path.write_text('p_true = "How much?"')
    assert prompts.load_wording(path)["p_true"] == "How much?"
    path.write_text('bett = "How much?"')
    with pytest.raises(StudyError, match="unknown key 'bett'"):
        prompts.load_wording(path)

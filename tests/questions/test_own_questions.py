"""Questions of one's own: what a file may say, how a reply is read, and how confidence is elicited."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.answers import stated, sureness
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.questions import asking, parsing
from metacog_pipeline.benchmarks.questions.items import SHIPPED, Item
from metacog_pipeline.errors import SourceError, StudyError
from metacog_pipeline.interchange import question_files
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.tables import every


def items_of(folder: Path, *rows: dict[str, Any]) -> list[Item]:
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return question_files.load([path], Item)


@pytest.fixture
def choice(tmp_path):
    options = ["Paris", "Rome", "Oslo"]
    return items_of(tmp_path, {"question": "Capital of Italy?", "options": options, "answer": "Rome"})[0]


def said(item: Item, condition: str, *texts: str, samples: int = 5, **more: Any) -> parsing.Response:
    names = asking.steps(condition, samples)
    calls = {name: Call("ok", text, **more) for name, text in zip(names, texts, strict=False)}
    return parsing.read(item, condition, calls, samples)


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
        ({"question": "Fine?", "answer": 1}, "the same question stands at .*row 1 already; remove one"),
        ({"question": "?", "answer": "maybe", "kind": "true_false"}, "'maybe' is neither true nor false"),
        ({"question": "?", "answer": 1, "tolerance": -1}, "tolerance '-1' is no number"),
        ({"question": "?", "answer": 1, "tolerance": "wide"}, "tolerance 'wide' is no number"),
        ({"question": "?"}, "there is no answer"),
        ({"question": "?", "answer": "E", "options": ["a", "b"]}, "none of the 2 options"),
        ({"question": "?", "answer": "A", "options": ["a"]}, "there is 1 option"),
        ({"question": "?", "answer": "A", "options": ["a"] * 11}, "there are 11 options"),
        ({"question": "?", "answers": ["A", "c"], "options": ["a", "b", "c"]}, "2 options are right, A, C"),
        (
            {"question": "?", "answer": {"label": "A"}, "options": ["a", "b"]},
            "answer is an object with label; give",
        ),
        (
            {"question": "?", "answer": 2, "options": ["2", "1", "0"]},
            "2 is the place of option C and the text of option A",
        ),
        (
            {"question": "?", "answer": "a", "options": ["a", "a", "c"]},
            "'a' is the text of 2 options; write the letter",
        ),
        ({"question": "?", "answer": "A", "options": ["a", "", "c"]}, "option B is empty; give a text"),
        ({"question": "?", "answer": "A", "options": [{"x": 1}, {"x": 2}]}, "option A is no text"),
        ({"question": "?", "answer": "x", "kind": "mc"}, "there are no options to choose among"),
        ({"question": "?", "answer": float("nan")}, "there is no answer"),
        ({"question": "?", "answer": 1, "tolerance": "5%"}, "tolerance '5%' is no number"),
        ({"question": "?", "answer": "x", "reject": ["x"]}, "answer 'x' stands in reject too"),
        ({"question": "?", "answer": 1, "kind": "essay"}, "kind is 'essay'"),
        ({"question": "?", "answer": "x", "kind": "numeric"}, "is no number"),
        ({"question": "x" * 100_001, "answer": 1}, "at most 100000"),
    ],
)
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
        (
            {"text": ["Denver Broncos", "Broncos", "Broncos"], "answer_start": [1, 2, 2]},
            "Denver Broncos",
            ("Broncos",),
        ),
        ({"value": "Lima", "aliases": ["Lima", "Ciudad"], "type": "Wikipedia"}, "Lima", ("Ciudad",)),
        ("She sold 24 / 2 = 12.\nSo 24 + 12 = 36.\n#### 36", "36", ()),
    ],
)
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


@pytest.mark.parametrize("reply", ["50%", "It is 50 percent.", "Answer: 50 %\nConfidence: 80%"])
def test_a_right_answer_in_percent_is_met(tmp_path, reply):
    (item,) = items_of(tmp_path, {"question": "Which share?", "answer": "50%"})
    assert (item.answer, item.unit) == ("50", "%")
    assert stated.answer_of(reply, item.key).correct is True
    assert stated.answer_of("Answer: 40%", item.key).correct is False


def test_thousands_in_a_right_answer_are_a_number(tmp_path):
    (item,) = items_of(tmp_path, {"question": "How many?", "answer": "1,200"})
    assert (item.kind, item.answer) == ("number", "1200")


def test_an_id_that_stands_twice_and_a_file_that_is_not_there_are_errors(tmp_path):
    with pytest.raises(SourceError, match=r"id 'a' stands at .*row 1 already"):
        items_of(tmp_path, *({"id": "a", "question": each, "answer": 1} for each in "xy"))
    with pytest.raises((SourceError, StudyError), match="cannot be read"):
        question_files.load([tmp_path / "none.jsonl"], Item)


def test_the_same_question_has_the_same_id_whatever_its_spaces_and_case(tmp_path):
    first = items_of(tmp_path, {"question": "What  is it?", "answer": 1})
    assert first[0].item_id == items_of(tmp_path, {"question": "what is it?", "answer": 1})[0].item_id


@every(
    ("text", "right", "sure"),
    [
        ("Answer: B\nConfidence: 80%", 1, 0.8),
        ("**Answer:** (B) Rome\n**Confidence:** 80 %", 1, 0.8),
        ("<think>Answer: A\nConfidence: 10</think>Answer: Rome\nConfidence: 0.8", 1, 0.8),
        ("I think it is Paris.\nConfidence: 100", 0, 1.0),
        ("Answer: A\nConfidence: 120", 0, None),
        ("Answer: B\nConfidence: 8/10", 1, 0.8),
        ("Answer: B\nConfidence: **8** out of 10", 1, 0.8),
        ("Answer: B\nConfidence: 85 (out of 100)", 1, 0.85),
        ("Answer: B\nConfidence: 0,8", 1, 0.8),
        ("Answer: B\nConfidence: 87,5 %", 1, 0.875),
        ("Answer: B\nConfidence: 0.5%", 1, 0.005),
        ("Answer: B\nConfidence: **0.5** %", 1, 0.005),
        ("Answer: B\nConfidence: 1,000", 1, None),
        ("Answer: B\nConfidence: -5", 1, None),
        ("Answer: B\nConfidence: 12 out of 10", 1, None),
        *(
            (f"Answer: B\nConfidence: {said}", 1, 0.85)
            for said in (
                "80-90", "80–90 %", "80% to 90%", "between 80 and 90", "0.8-0.9", "8-9/10", "8 to 9 out of 10",
                "**80** - **90**%", "80 bis 90", "80～90", "80-90/100",
            )
        ),
        *(
            (f"Answer: B\nConfidence: {said}", 1, 0.8)
            for said in ("80, 90", "80 (90)", "80 and 90", "80 - about 90", "80-")
        ),
        ("Answer: B\nConfidence: 90-120", 1, None),
        ("Answer: B\nConfidence: 90-80", 1, 0.9),
        ("Answer: B", 1, None),
    ],
)  # fmt: skip
def test_answer_and_percent_are_read(choice, text, right, sure):
    found = said(choice, "verbal_percent", text)
    assert (found.correct, found.confidence) == (right, sure)
    assert found.status == ("ok" if sure is not None else "confidence_unparsed")


def test_words_of_the_scale_are_told_apart(choice):
    for word, share in asking.SCALE.items():
        assert said(choice, "verbal_scale", f"Answer: B\nConfidence: {word}").confidence == share
    assert said(choice, "verbal_scale", "Answer: B\nConfidence: likely or even").confidence is None


def test_the_chance_of_the_letter_is_its_share_among_the_letters(choice):
    token = TokenLogprob("B", -0.5, (("B", -0.5), (" A", -1.5), ("C", -2.5), ("D", -0.1)))
    logs = encode_logprobs((TokenLogprob("\n", -0.1), token))
    found = said(choice, "choice_logprob", "B", logprobs_json=logs).confidence
    assert found == pytest.approx(1 / (1 + 2.718281828**-1 + 2.718281828**-2))
    assert said(choice, "choice_logprob", "B", logprobs_json="[[1]]").status == "confidence_unparsed"


def test_second_calls_are_read(choice):
    assert said(choice, "p_true", "Answer: B", "Yes.").confidence == 1.0
    assert said(choice, "p_true", "Answer: B", "yes or no").status == "confidence_unparsed"
    logs = encode_logprobs((TokenLogprob("No", -0.2, (("No", -0.2), ("Yes", -1.7))),))
    calls = {"answer": Call("ok", "Answer: A"), "p_true": Call("ok", "No", logprobs_json=logs)}
    graded = parsing.read(choice, "p_true", calls, 5)
    assert graded.confidence == pytest.approx(0.1824, abs=1e-4) and graded.correct == 0
    kept = said(choice, "keep_withdraw", "Answer: A", "Withdraw")
    assert (kept.correct, kept.confidence, kept.kept) == (0, 0.0, 0)
    assert said(choice, "keep_withdraw", "Answer: A").status == "not_run"


def test_samples_agree_by_the_reader_that_decides_what_is_right(tmp_path):
    (item,) = items_of(tmp_path, {"question": "How many metres?", "answer": 1500, "unit": "m"})
    texts = ("Answer: 1500", "Answer: 1.5 km", "Answer: 1,500 m", "Answer: 7", "")
    assert said(item, "self_consistency", *texts).confidence == 0.6
    found = said(item, "semantic_agreement", *texts)
    assert found.correct == 1 and found.confidence == pytest.approx(sureness.certainty([3, 1], 5))
    assert said(item, "self_consistency", *texts[:4]).status == "not_run"
    assert said(item, "semantic_agreement", *[""] * 5).status == "answer_unparsed"
    assert said(item, "semantic_agreement", *texts[:1] * 5).confidence == 1.0


def test_samples_that_are_one_date_agree_however_it_is_written(tmp_path):
    (item,) = items_of(tmp_path, {"question": "On which day?", "answer": "May 5, 1990"})
    texts = [
        f"Answer: {day}" for day in ("May 5, 1990", "5 May 1990", "1990-05-05", "6 May 1990", "May 1990")
    ]
    assert said(item, "self_consistency", *texts).confidence == 0.6


def test_leave_to_abstain_is_read(choice):
    held = said(choice, "abstain_allowed", "Answer: unknown")
    assert (held.correct, held.confidence, held.kept) == (None, 0.0, 0)
    assert said(choice, "abstain_allowed", "Answer: B").kept == 1


def test_what_is_not_read_is_not_scored_or_wrong(choice):
    assert said(choice, "bet", "Answer: B\nBet: 40 points").confidence == 0.4
    assert said(choice, "bet", "x" * 300_000).status == "answer_unparsed"
    refused = parsing.read(choice, "bet", {"answer": Call("refused", "")}, 5)
    assert (refused.status, refused.correct) == ("refused", 0)
    assert said(choice, "bet", "B", mode="unscored: it calls a tool").status == "not_scored"


def test_reading_hostile_replies_takes_linear_time(choice):
    for text in ("\n" * 29_000, "answer: " * 3_000, "confidence " * 2_500, "*" * 29_000):
        stated.answer_of(text, choice.key)


def test_a_folder_of_parquet_files_is_a_file_of_questions(tmp_path):
    folder = tmp_path / "set" / "data"
    folder.mkdir(parents=True)
    for name in ("test-00000", "test-00001"):
        rows = {"question": [f"{name}?"], "choices": [["a", "b"]], "answer": [1]}
        pl.DataFrame(rows).write_parquet(folder / f"{name}.parquet")
    assert [item.answer for item in question_files.load([tmp_path / "set"], Item)] == ["B", "B"]


def test_the_shipped_questions_are_of_every_kind():
    assert {item.kind for item in question_files.load([SHIPPED], Item)} == {"choice", "number", "text"}


def test_a_wording_file_replaces_texts_by_name(tmp_path):
    path = tmp_path / "words.toml"
    path.write_text('bet = "How much?"')
    assert asking.load_wording(path)["bet"] == "How much?"
    path.write_text('bett = "How much?"')
    with pytest.raises(StudyError, match="unknown key 'bett'"):
        asking.load_wording(path)


def test_a_plain_table_of_answers_is_imported(tmp_path):
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "x"\n\n[[models]]\nname = "m"\nprovider = "replay"\n\n[benchmarks.questions]\nitems = "sample"\n'
    )
    (tmp_path / "t.csv").write_text(
        "id,answer,confidence,key\ns01,B,90,Mercury\ns12,13,40,12\ns15,True,70,True\n"
    )
    into = bound(load_study(tmp_path / "study.toml"), "questions")
    assert into.importer is not None
    done = into.importer.read(into, tmp_path / "t.csv", "m", 1, (), "verbal_percent")
    assert [each.text for each in done.records][:1] == ["Answer: B\nConfidence: 90%"] and len(
        done.records
    ) == 3
    (tmp_path / "t.csv").write_text("id,answer,confidence,key\ns01,B,90,Venus\n")
    with pytest.raises(StudyError, match="disagrees with the study"):
        into.importer.read(into, tmp_path / "t.csv", "m", 1, (), "verbal_percent")

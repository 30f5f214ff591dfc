"""``metacog read``: replies from a file, without a study; a bad line is one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.cli.reading import read


def written(path: Path, *lines: Any) -> Path:
    said = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    path.write_text("".join(f"{each}\n" for each in said), "utf-8")
    return path


def asked(benchmark: str, path: Path) -> tuple[list[dict[str, Any]], Result]:
    result = CliRunner().invoke(read, [benchmark, str(path)])
    return [json.loads(line) for line in result.stdout.splitlines()], result


def test_a_reply_is_read_without_a_study(tmp_path):
    turns = {"turn_1": "90", "turn_2": "ANSWER: 0 °C\nPOST_CONFIDENCE: 9"}
    path = written(
        tmp_path / "r.jsonl",
        {"id": "a", "item_id": "bet.ramp.1.2x2", "response": "ANSWER: 2470 bolts (95 × 26)\nBET: 99"},
        {"id": "b", "item_id": "predict.capital", "response": "ANSWER: Ottawa or Toronto"},
        {"id": "c", "item_id": "predict.freezing", "responses": turns},
        {"id": "d", "item_id": "predict.freezing", "response": "\x00" * 10},
    )
    found, result = asked("metacogbench", path)
    assert result.exit_code == 0 and [each["id"] for each in found] == ["a", "b", "c", "d"]
    first, second, third, last = found
    assert (first["answer"], first["bet"], first["correct"], first["passed"]) == (2470, 99, True, True)
    assert (second["status"], second["answer"], second["correct"]) == ("ambiguous", None, None)
    assert (third["status"], third["correct"], third["pre"], third["post"]) == ("no_answer", None, 90, 9)
    assert last["status"] == "no_answer" and last["correct"] is None


def test_a_task_of_metacog_bench_may_come_with_its_own_key(tmp_path):
    own = {"kind": "choice", "options": ["9", "15", "17"], "answer": "C"}
    prime = {"question": "Is 91 prime?", "kind": "yesno", "answer": "no"}
    story = {"tier": "3", "answer": {"total": 15, "tree": True}}
    path = written(
        tmp_path / "r.jsonl",
        {"id": 1, "tier": "1a", **own, "response": "ANSWER: C\nBET: 95"},
        {"id": 2, "tier": "1a", **prime, "response": "No.\nBET: 120"},
        {"id": 3, **story, "response": '{"total": "15", "tree": NaN}'},
        {"id": 4, "item_id": "eco.nodes.a", "response": "However, check first."},
        {"id": 5, "item_id": "eco.nodes.a", "responses": {"answer": "Eight.", "probe": "A or B"}},
    )
    choice, yes_no, fields, free, probed = asked("metacogbench", path)[0]
    assert (choice["answer"], choice["bet"], choice["correct"]) == ("C", 95, True)
    assert (yes_no["status"], yes_no["bet"], yes_no["answer"]) == ("out_of_range", 120, "no")
    assert (fields["fields"], fields["passed"]) == ({"total": "15", "tree": None}, False)
    assert (free["status"], free["passed"]) == ("not_read", None)
    assert (probed["status"], probed["answer"]) == ("ambiguous", None)


def test_self_knowledge_is_read_by_the_shipped_facts_or_by_the_answers_of_a_row(tmp_path):
    fact, said = {"item_id": "geography-001"}, {"direct": "Sydney", "meta": "Yes"}
    path = written(
        tmp_path / "r.jsonl",
        {"id": 1, **fact, "response": "Canberra, ACT"},
        {"id": 2, **fact, "language": "zh", "response": "抱歉，我不清楚。"},
        {"id": 3, "question": "Where is Persepolis?", "answers": ["Iran"], "response": "Iranian"},
        {"id": 4, **fact, "responses": said, "language": "en"},
    )
    found, result = asked("selfknowledge", path)
    assert result.exit_code == 0
    assert [(each["correct"], each["abstained"], each["meta"]) for each in found] == [
        (True, False, None), (None, True, None), (False, False, None), (False, False, "yes"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ({"item_id": "predict.capital", "response": "x"}, "id is missing"),
        ({"id": "a", "response": "x"}, "item_id is missing"),
        ({"id": "a", "item_id": "predict.capitol", "response": "x"}, "predict.capital"),
        ({"id": "a", "item_id": 7, "response": "x"}, "item_id is int, not a text"),
        ({"id": "a", "item_id": "predict.capital"}, "there is no reply"),
        ({"id": "a", "item_id": "predict.capital", "response": 5}, "int, not a text"),
        ({"id": "a", "item_id": "predict.capital", "responses": {"turn_9": "x"}}, "no step 'turn_9'"),
        ("[" * 100_000, "no JSON object"),
    ],
)
def test_a_bad_line_is_one_line_and_the_others_are_read(line, said, tmp_path):
    good = {"id": "z", "item_id": "predict.capital", "response": "ANSWER: Ottawa"}
    found, result = asked("metacogbench", written(tmp_path / "r.jsonl", line, good))
    assert [each["id"] for each in found] == ["z"]
    assert len(result.stderr.splitlines()) == 1 and "line 1" in result.stderr and said in result.stderr
    assert getattr(result.exception, "exit_code", None) == 8


def test_a_bad_row_of_the_one_reader_is_one_line_too(tmp_path):
    row = {"answers": ["Lima"]}
    rows = {"id": 1, "responses": {"turn": "x"}} | row, {"id": 2, "response": "Lima"} | row
    found, result = asked("selfknowledge", written(tmp_path / "r.jsonl", *rows))
    assert [each["id"] for each in found] == [2] and "no step 'turn'" in result.stderr
    assert getattr(result.exception, "exit_code", None) == 8


def test_a_file_or_a_benchmark_that_is_not_there_is_one_line(tmp_path):
    _, result = asked("metacogbench", tmp_path / "none.jsonl")
    assert result.exit_code == 2 and "No such file" in result.stderr
    _, result = asked("metacogbenc", written(tmp_path / "r.jsonl", {}))
    assert result.exit_code == 2 and "no benchmark" in result.stderr


def test_replies_to_questions_are_read_by_shipped_ones_or_by_those_of_their_rows(tmp_path):
    metals = {"question": "Which is liquid?", "options": {"A": "Iron", "B": "Mercury"}, "answer": "Mercury"}
    path = written(
        tmp_path / "r.jsonl",
        {"id": 1, "item_id": "s07", "response": "Answer: Lisboa\nConfidence: 0.9"},
        {"id": 2, **metals, "response": "Answer and Confidence (0-100): B, 85%"},
        {"id": 3, **metals, "response": "Answer: A", "finish_reason": "length"},
        {"id": 4, "question": "How long?", "answer": "1/4", "kind": "number", "response": "25%"},
        {"id": 5, "question": "Which colour?", "response": "I don't know."},
        {"id": 6, **metals, "response": "Answer: B\nConfidence: 140"},
        {"id": 7, "question": "Which?", "options": ["a"], "answer": "A", "response": "a"},
    )
    found, result = asked("questions", path)
    assert getattr(result.exception, "exit_code", 0) == 8 and "line 7: there is 1 option" in result.stderr
    names = ("status", "answer", "confidence", "confidence01", "correct", "abstained")
    assert [tuple(each[name] for name in names) for each in found] == [
        ("ok", "Lisboa", 0.9, 0.9, True, False), ("ok", "B", 85, 0.85, True, False),
        ("truncated", None, None, None, None, False), ("ok", 0.25, None, None, True, False),
        ("no_answer", None, None, None, None, True), ("out_of_range", "B", 140, None, True, False),
    ]  # fmt: skip

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


def test_a_file_or_a_benchmark_that_is_not_there_is_one_line(tmp_path):
    _, result = asked("metacogbench", tmp_path / "none.jsonl")
    assert result.exit_code == 2 and "No such file" in result.stderr
    _, result = asked("metacogbenc", written(tmp_path / "r.jsonl", {}))
    assert result.exit_code == 2 and "no benchmark" in result.stderr

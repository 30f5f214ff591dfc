"""`metacog read BENCHMARK FILE`: labelled replies of each benchmark, read as a user reads them."""

import json
from pathlib import Path

import pytest

ROWS = sorted((Path(__file__).parent / "rows").glob("*.jsonl"))
LEAST_READ, MOST_WRONG = 0.95, 0.01


def read(metacog, path):
    done = metacog("read", path.stem, path, "--format", "jsonl")
    assert done.code == 0, done.err
    return {row["id"]: row for row in map(json.loads, done.out.splitlines())}


def same(found, label):
    """Whether a value is as labelled: numbers by value, texts without case."""
    if found is None or label is None:
        return found is label
    if isinstance(label, int | float):
        return isinstance(found, int | float) and found == pytest.approx(label, rel=1e-6)
    return str(found).strip().casefold() == str(label).strip().casefold()


def agrees(found, label):
    """Whether an answer is as labelled; a text that is right is the same answer in other words."""
    text = isinstance(label["answer"], str) and len(label["answer"]) > 1
    answer = same(found["answer"], label["answer"]) or (text and found["correct"] == label["correct"])
    stated = ("confidence", "bet", "pre", "post", "meta")
    return answer and all(
        same(found.get(name), label[name]) for name in stated if label.get(name) is not None
    )


@pytest.mark.parametrize("path", ROWS, ids=[path.stem for path in ROWS])
def test_nearly_all_replies_are_read_right_or_honestly_unread(path, metacog):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found = read(metacog, path)
    assert list(found) == [row["id"] for row in rows]
    # Whether two spellings are one name, or which of two things said is meant, no words decide.
    rows = [row for row in rows if not row["label"].get("not_in_words")]
    readable = [row for row in rows if row["label"]["status"] == "ok"]
    right = [row["id"] for row in readable if agrees(found[row["id"]], row["label"])]
    wrong = [
        row["id"]
        for row in rows
        if found[row["id"]]["status"] == "ok"
        and (
            row["label"]["status"] != "ok"
            or row["label"]["correct"] not in (None, found[row["id"]]["correct"])
        )
    ]
    missed = [row["id"] for row in readable if row["id"] not in right]
    assert len(right) >= LEAST_READ * len(readable), missed
    assert len(wrong) <= MOST_WRONG * len(rows), wrong


def test_a_line_that_is_no_row_is_reported_and_left_out(tmp_path, metacog):
    path = tmp_path / "replies.jsonl"
    good = {"id": "a", "options": ["x", "y"], "answer": "B", "response": "Answer: B\nConfidence: 5"}
    path.write_text("\n".join([json.dumps(good), "{", '{"id": "b"}']))
    done = metacog("read", "metamedqa", path)
    assert done.code == 8
    assert json.loads(done.out) == {
        "id": "a", "status": "ok", "answer": "B", "confidence": 5, "confidence01": 1.0, "correct": True,
    }  # fmt: skip
    assert "line 2: no JSON object" in done.err and "line 3: options are missing" in done.err


@pytest.mark.parametrize("path", ROWS, ids=[path.stem for path in ROWS])
@pytest.mark.parametrize("odd", [["A"], {"A": None}, "abc", -3, 1e400, True, "\0"], ids=repr)
def test_whatever_a_row_holds_it_is_read_or_reported(path, odd, tmp_path, metacog):
    asked = {
        "question": "How many?",
        "answer": "7",
        "response": "Answer: 1e999\nConfidence: 1e999\nBet: 1e999",
    }
    fields = "item_id options answer answers kind unit lang tier task ratings seed"
    names = fields.split()
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"id": name, **asked, name: odd}) for name in names))
    done = metacog("read", path.stem, rows)
    assert done.code in (0, 8), done.err
    reported = [line for line in done.err.splitlines() if f"{rows.name}: line " in line]
    assert len(done.out.splitlines()) + len(reported) == len(names)

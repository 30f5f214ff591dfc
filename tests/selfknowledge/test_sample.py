"""Rules the shipped facts must hold, checked on the raw lines."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.benchmarks.selfknowledge.items import SAMPLE_FILE, of_rows, own

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "selfknowledge" / "sample"
LANGUAGES = ("en", "zh", "ko", "es")
HANGUL, HAN = re.compile(r"[\uac00-\ud7af]"), re.compile(r"[\u3400-\u9fff]")


def facts() -> list[dict[str, Any]]:
    text = (SAMPLE / "facts.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text
    return [json.loads(line) for line in text.splitlines()]


def test_there_are_three_hundred_facts_in_four_languages():
    rows = facts()
    assert len(rows) >= 300 and len({row["question_id"] for row in rows}) == len(rows)
    for row in rows:
        assert tuple(row["questions"]) == tuple(row["answers"]) == LANGUAGES
        assert all(row["answers"].values())
    assert len(of_rows(SAMPLE_FILE, own)) == len(rows)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_question_gives_its_answer_away(language):
    for row in facts():
        question = row["questions"][language].lower()
        assert not any(answer.lower() in question for answer in row["answers"][language]), question


def test_no_fact_is_asked_twice_in_other_words():
    first = Counter(row["answers"]["en"][0].lower() for row in facts())
    assert [name for name, n in first.items() if n > 1] == []

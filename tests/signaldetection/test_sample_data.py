"""Rules the shipped sample sentences must hold: neither label can be told by length, punctuation or order."""

import itertools
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "signaldetection" / "sample"


@pytest.mark.parametrize("name", ["reviews.tsv", "sentences.tsv"])
def test_sentences_are_unique_mixed_and_not_told_by_their_form(name):
    text = (SAMPLE / name).read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text
    labels, sentences = zip(*(line.split("\t")[:2] for line in text.splitlines()), strict=True)
    assert len({sentence.casefold() for sentence in sentences}) == len(sentences) >= 100
    assert labels.count("0") == labels.count("1") >= 60
    assert sum(a != b for a, b in itertools.pairwise(labels)) > len(labels) / 3
    sides = [[s for s, label in zip(sentences, labels, strict=True) if label == side] for side in "01"]
    if name == "sentences.tsv":  # spoken ones are as often dressed as written ones
        assert 1 / 3 < sum(s[0].isupper() and s[-1] in ".?" for s in sides[0]) / len(sides[0]) < 2 / 3
    else:
        means = [sum(map(len, side)) / len(side) for side in sides]
        assert abs(means[0] - means[1]) < 0.2 * min(means)

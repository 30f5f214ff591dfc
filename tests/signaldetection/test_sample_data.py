"""Rules the shipped sample sentences must hold, checked on the raw lines and through the loaders."""

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "signaldetection" / "sample"
FILES = ("reviews.tsv", "sentences.tsv")


def rows(name: str) -> list[tuple[str, str]]:
    text = (SAMPLE / name).read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text
    return [(line.split("\t")[0], line.split("\t")[1]) for line in text.splitlines()]


@pytest.mark.parametrize("name", FILES)
def test_sentences_are_unique_and_labels_balanced_and_mixed(name):
    found = rows(name)
    assert len({sentence.casefold() for _, sentence in found}) == len(found) >= 100
    labels = [label for label, _ in found]
    assert labels.count("0") == labels.count("1") >= 60
    runs = sum(a != b for a, b in itertools.pairwise(labels))
    assert runs > len(labels) / 3


def test_punctuation_alone_does_not_tell_spoken_from_written():
    spoken = [sentence for label, sentence in rows("sentences.tsv") if label == "0"]
    dressed = [s for s in spoken if s[0].isupper() and s[-1] in ".?"]
    assert len(spoken) / 3 < len(dressed) < 2 * len(spoken) / 3


def test_length_alone_does_not_tell_praise_from_scorn():
    lengths: dict[str, list[int]] = {"0": [], "1": []}
    for label, sentence in rows("reviews.tsv"):
        lengths[label].append(len(sentence))
    means = [sum(values) / len(values) for values in lengths.values()]
    assert abs(means[0] - means[1]) < 0.2 * min(means)


def test_the_readme_states_the_counts_of_the_files():
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    cells = (line.strip("| ").split(" | ") for line in readme.splitlines())
    stated = {row[0]: row[1] for row in cells if len(row) >= 2}
    reviews, sentences = (Counter(label for label, _ in rows(name)) for name in FILES)
    with_word = sum(bool(re.search(r"(?<![a-z])the(?![a-z])", t, re.I)) for _, t in rows("sentences.tsv"))
    expected = {
        "`reviews.tsv`": reviews.total(),
        "`sentences.tsv`": sentences.total(),
        "reviews, negative": reviews["0"],
        "reviews, positive": reviews["1"],
        "sentences, spoken": sentences["0"],
        "sentences, written": sentences["1"],
        'sentences with "the"': with_word,
    }
    assert {name: stated.get(name) for name in expected} == {name: str(n) for name, n in expected.items()}

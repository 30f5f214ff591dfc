"""Rules the shipped sample sentences must hold, checked on the raw lines and through the loaders."""

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.signaldetection.items import read_table
from tests.signaldetection.scored import construct

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "signaldetection" / "sample"
FILES = ("reviews.tsv", "sentences.tsv")


def rows(name: str) -> list[tuple[str, str]]:
    text = (SAMPLE / name).read_text(encoding="utf-8")
    assert text.endswith("\n") and "\r" not in text
    return [(line.split("\t")[0], line.split("\t")[1]) for line in text.splitlines()]


@pytest.mark.parametrize("name", FILES)
def test_lines_are_a_label_a_tab_and_a_clean_sentence(name):
    for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines():
        label, sentence = line.split("\t")
        assert label in ("0", "1")
        assert sentence == " ".join(sentence.split()) and sentence.isprintable() and '"' not in sentence[:1]


@pytest.mark.parametrize("name", FILES)
def test_sentences_are_unique_and_labels_balanced_and_mixed(name):
    found = rows(name)
    assert len({sentence.casefold() for _, sentence in found}) == len(found) >= 100
    labels = [label for label, _ in found]
    assert labels.count("0") == labels.count("1") >= 60
    runs = sum(a != b for a, b in itertools.pairwise(labels))
    assert runs > len(labels) / 3


def test_enough_sentences_hold_the_word():
    both = Counter(label for label, text in rows("sentences.tsv") if re.search(r"\bthe\b", text, re.I))
    assert both.total() >= 100 and min(both.values()) >= 50


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


def test_the_loader_reads_them_and_a_hundred_trials_of_each_task_can_be_built(tmp_path):
    for name in FILES:
        texts = read_table(SAMPLE / name, "x")
        assert [(str(a), b) for a, b in zip(texts.labels, texts.sentences, strict=True)] == rows(name)
    built = construct(tmp_path, "sample", trials=100)
    assert sum(built.counts.values()) == 300 and min(built.counts.values()) >= 30
    assert {item.dataset for item in built.items} == {"sample"}


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

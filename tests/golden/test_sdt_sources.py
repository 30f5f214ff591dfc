"""The published texts and prompts of signal detection: read, built from, and not copied into what is shipped."""

import hashlib
import re

import pytest

from metacog_pipeline.benchmarks.signaldetection import items as sources
from metacog_pipeline.benchmarks.signaldetection.items import (
    build,
    matches,
    read_sst2,
)
from metacog_pipeline.benchmarks.signaldetection.prompts import load_wording
from metacog_pipeline.home import Home
from tests.golden.agreed import DATA, need
from tests.signaldetection.scored import construct, unsound

TEXTS = DATA / "sdt"

SHINGLE = 8  # words in a row that would make a sentence a copy


@pytest.fixture(scope="module")
def parquet():
    return need(TEXTS / "train-00000-of-00001.parquet")


@pytest.fixture(scope="module")
def sst2(parquet):
    return read_sst2(parquet, "sst2")


def test_published_file_is_the_pinned_one(parquet, sst2, tmp_path):
    pinned = sources.SOURCES["sst2"]
    if hashlib.sha256(parquet.read_bytes()).hexdigest() != pinned.digest:
        pytest.skip(f"{parquet} is not the published file")
    found = pinned.fetch(Home(tmp_path), TEXTS)
    assert (found.rows, found.digest) == (67_349, pinned.digest)
    assert [sum(label == wanted for label in sst2.labels) for wanted in (0, 1)] == [29_780, 37_569]
    lengths = [len(sentence) for sentence in sst2.sentences]
    assert (min(lengths), max(lengths)) == (2, 268)
    assert len(sst2) - len(set(sst2.sentences)) == 371
    assert all(sentence.endswith(" ") and not sentence.endswith("  ") for sentence in sst2.sentences)
    built = construct(tmp_path, "published", tasks="A", trials=2_000, seed=7)
    assert sum(built.counts.values()) == 2_000
    # Nothing balances the labels: binomial with the share of the source, four standard errors.
    assert abs(built.counts["A1"] - 2_000 * 37_569 / 67_349) < 4 * 22.2


def test_every_published_sentence_with_the_word_gives_a_sound_item(sst2):
    items = build({"test4plus": sst2}, {"C": len(sst2)}, seed=1)
    assert unsound(items, {"sst2": sst2}) == []
    assert len(items) == sum(bool(matches(text)) and text.strip().lower() != "the" for text in sst2.sentences)
    changed = sum(item.stimulus for item in items)
    assert abs(changed - len(items) / 2) < 2 * len(items) ** 0.5


def test_shipped_prompts_are_not_copied_from_the_published_ones():
    need(TEXTS / "prompt_metad_A.txt")

    def shingles(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}

    theirs = set().union(*(shingles(text) for text in load_wording(TEXTS).prompts.values()))
    for text in load_wording().prompts.values():
        assert not [run for run in shingles(text) if run in theirs]

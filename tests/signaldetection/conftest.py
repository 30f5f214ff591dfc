"""Items of all three tasks from the shipped sample, and an observer asked in this process."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.asking.tasks import ItemChat
from metacog_pipeline.benchmarks.signaldetection.items import Item, Texts, build, read_table
from metacog_pipeline.benchmarks.signaldetection.prompts import ask, load_wording
from metacog_pipeline.benchmarks.signaldetection.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.scoring.responses import read_responses
from tests.signaldetection.scored import bound

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "signaldetection" / "sample"


@pytest.fixture(scope="session")
def reviews():
    return read_table(SAMPLE / "reviews.tsv", "reviews")


@pytest.fixture(scope="session")
def sentences():
    return read_table(SAMPLE / "sentences.tsv", "sentences")


@pytest.fixture(scope="session")
def items(reviews, sentences):
    return build({"sst2": reviews, "test4plus": sentences}, dict.fromkeys("ABC", 40), dataset="sample")


@pytest.fixture(scope="session")
def many_items():
    """Enough trials of task A for sampling error to be small: half of each label."""
    texts = Texts(
        "numbers", [n % 2 for n in range(5000)], [f"Film number {n} is what it is." for n in range(5000)]
    )
    return build({"sst2": texts}, {"A": 5000})


@pytest.fixture(scope="session")
def wording():
    return load_wording()


@pytest.fixture(scope="session")
def transcript(transcripts_of):
    """Return a function that makes one transcript row; anything can be overridden."""
    made: Callable[..., dict[str, Any]] = transcripts_of("signaldetection", "confidence")
    return made


@pytest.fixture(scope="session")
def answered(transcript, asked_in_process, wording):
    """Return a function that asks a simulated observer everything and gives the observations."""

    def run_observer(
        asked: Sequence[Item], observer: ObserverSpec, *, conditions: Sequence[str] = ("confidence",)
    ) -> pl.DataFrame:
        spec = ModelSpec(name="m", provider="simulated", observer=observer)
        transcripts = asked_in_process(
            transcript, SimulatedRespondent(asked, observer, wording),
            lambda item, condition, asked_by: ask(item, condition, ItemChat(asked_by, "text", spec), wording),
            asked, conditions, model="m", run=1, mode="text",
        )  # fmt: skip
        every = [(each, asked) for each in conditions]
        return read_responses(bound(), transcripts, every, model="m", run=1, source="simulated")

    return run_observer

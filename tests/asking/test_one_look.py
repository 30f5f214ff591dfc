"""A look at many partitions finds what all models are asked once; it says what a look at each alone says."""

from typing import Any

import pytest

from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.conformance import try_benchmark
from metacog_pipeline.llm.spec import ModelSpec


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Any:
    return try_benchmark(registry.load("metamedqa"), tmp_path_factory.mktemp("one")).benchmark


def told(bench: Any) -> list[tuple[str, int]]:
    return [
        (tasks.fingerprint(bench, each), tasks.expected(bench, each.spec)) for each in tasks.partitions(bench)
    ]


def test_a_look_at_all_partitions_says_what_one_at_each_says(bench):
    alone = told(bench)
    with tasks.one_look():
        assert told(bench) == told(bench) == alone


def test_what_changes_between_two_looks_is_seen_and_within_one_is_not(bench, monkeypatch):
    before = told(bench)
    with tasks.one_look():
        told(bench)
        monkeypatch.setattr(type(bench), "worded_by", lambda self, condition: "other words")
        with tasks.one_look():
            assert told(bench) == before
    assert not {mark for mark, _ in told(bench)} & {mark for mark, _ in before}


def test_a_spec_has_the_digest_of_what_it_says_now():
    spec = ModelSpec(name="one", provider="openai", model="m")
    specs = [spec, spec.model_copy(update={"model": "n"}), spec.model_copy(update={"max_tokens": 3}), spec]
    found = [request_digest(each) for each in (*specs, *specs)]
    assert found[:4] == found[4:] and found[0] == found[3] and len({*found}) == 3
    assert request_digest(spec.model_copy(update={"name": "another", "price_in": 1.0})) == found[0]

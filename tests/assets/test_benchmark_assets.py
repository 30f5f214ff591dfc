"""What the pipeline makes of a contract: the assets of a benchmark of a few lines, run on a study of two models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from dagster import (
    AssetKey,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
    TableSchema,
    in_process_executor,
)

from metacog_assets import outcomes
from metacog_assets.benchmark_assets import benchmark_assets, produced
from metacog_assets.rectangles import Rectangle, rectangles
from metacog_assets.sensors import sync_partitions
from metacog_assets.study_file import Bound, bound, current_study
from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.scoring import choices, files

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
ITEMS = ["sums_sources", "sums_items"]
RUN = ["sums_transcripts", "sums_responses", "sums_run_estimates"]
OVER_ALL = ["sums_estimates", "sums_comparisons", "sums_missed", "sums_published"]


@dataclass
class Sums:
    """The benchmark's assets in a study of their own."""

    path: Path
    instance: DagsterInstance

    def write(self, models: Sequence[str] = ("one", "two"), more: str = "", **keys: object) -> None:
        tables = [f'[[models]]\nname = "{name}"\nprovider = "simulated"' for name in models]
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        head = '[study]\nname = "t"\nhome = "home"\nowners = ["team:sums"]'
        self.path.write_text("\n".join([head, *tables, more, "[benchmarks.sums]", *lines]))
        current_study().prepare()
        sync_partitions(current_study(), self.instance)

    @property
    def bench(self) -> Bound:
        return bound("sums")

    @property
    def defs(self) -> Definitions:
        return Definitions(benchmark_assets(self.bench), executor=in_process_executor)

    def run(self, names: Sequence[str], rectangle: Rectangle | None = None) -> ExecuteInProcessResult:
        return self.defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=self.instance,
            asset_selection=[AssetKey(name) for name in names],
            partition_key=rectangle.key if rectangle is not None else None,
            tags=rectangle.tags if rectangle is not None else {},
            run_config=QUIET,
            raise_on_error=False,
        )

    def all(self) -> Rectangle:
        [found] = rectangles(tasks.partitions(self.bench), self.instance)
        return found

    def partitions(self, name: str) -> set[str]:
        return self.instance.get_materialized_partitions(AssetKey(name))


@pytest.fixture
def sums(tmp_path, monkeypatch):
    entry = EntryPoint("sums", "tests.assets.sums:Sums", registry.GROUP)
    monkeypatch.setattr(registry, "_found", lambda: {"sums": entry})
    monkeypatch.setenv("METACOG_STUDY", str(tmp_path / "study.toml"))
    made = Sums(tmp_path / "study.toml", DagsterInstance.ephemeral())
    made.write()
    with made.instance:
        yield made


def test_the_graph_is_the_contract(sums):
    sums.write(again=True)
    graph = sums.defs.resolve_asset_graph()
    edges = {
        key.to_user_string(): sorted(parent.to_user_string() for parent in graph.get(key).parent_keys)
        for key in graph.get_all_asset_keys()
    }
    assert edges == {
        "sums_sources": [],
        "sums_items": ["sums_sources"],
        "sums_transcripts": ["sums_items"],
        "sums_again_choice": ["sums_transcripts"],
        "sums_again_transcripts": ["sums_again_choice"],
        "sums_responses": ["sums_again_transcripts", "sums_items", "sums_transcripts"],
        "sums_run_estimates": ["sums_responses"],
        "sums_estimates": ["sums_run_estimates"],
        "sums_comparisons": ["sums_run_estimates"],
        "sums_missed": ["sums_estimates", "sums_run_estimates"],
        "sums_published": [],
    }
    paid = {
        key.to_user_string() for key in graph.get_all_asset_keys() if graph.get(key).tags["cost"] == "paid"
    }
    assert paid == {"sums_transcripts", "sums_again_transcripts"}
    assert {tuple(graph.get(key).owners) for key in graph.get_all_asset_keys()} == {("team:sums",)}


def test_columns_are_those_of_the_row_classes(sums):
    nodes = sums.defs.resolve_asset_graph()
    shown = nodes.get(AssetKey("sums_missed")).metadata["dagster/column_schema"]
    assert isinstance(shown, TableSchema)
    assert [(each.name, each.type) for each in shown.columns] == [
        ("model", "String"),
        ("missed", "Int64"),
    ]
    assert {key for _, key in produced(sums.bench)} <= nodes.get_all_asset_keys()


def test_all_partitions_of_a_benchmark_are_one_run(sums):
    assert sums.run(ITEMS).success
    assert sums.run(RUN, sums.all()).success
    for name in RUN:
        assert sums.partitions(name) == {"one|1", "two|1"}
    assert all(not files.stale(sums.bench, each) for each in tasks.partitions(sums.bench))
    assert sums.run(OVER_ALL).success
    assert len(sums.instance.get_runs()) == 3


def test_a_partition_that_fails_is_named_and_the_others_are_kept(sums, monkeypatch):
    monkeypatch.delenv("METACOG_TEST_NO_SUCH_KEY", raising=False)
    broken = (
        '[[models]]\nname = "broken"\nprovider = "openai"\nmodel = "m"\nprice_in = 0\nprice_out = 0\n'
        'api_key_env = "METACOG_TEST_NO_SUCH_KEY"'
    )
    sums.write(["one"], broken)
    sums.run(ITEMS)
    result = sums.run(RUN, sums.all())
    [failed] = outcomes.failures_of(result)
    assert failed.what == "sums_transcripts, broken, run 1"
    assert "METACOG_TEST_NO_SUCH_KEY" in failed.reason
    assert sums.partitions("sums_transcripts") == {"one|1"}
    assert outcomes.started(result) == {"sums_transcripts"}


@pytest.mark.parametrize(
    ("broken", "named"),
    [("table", "sums_missed"), ("comparisons", "sums_comparisons"), ("published", "sums_published")],
)
def test_a_part_that_fails_leaves_its_own_rows_empty_with_the_reason(sums, broken, named):
    sums.write(broken=broken)
    sums.run(ITEMS)
    sums.run(RUN, sums.all())
    result = sums.run(OVER_ALL)
    assert result.success, "the boards follow all the same"
    [left] = outcomes.left_empty(result)
    assert left.what == named
    assert "is broken" in left.reason
    assert outcomes.made(result) == {AssetKey(name) for name in OVER_ALL}


def test_a_later_arm_is_chosen_once_when_all_models_have_answered(sums):
    sums.write(again=True)
    sums.run(ITEMS)
    [one, _] = [Rectangle((name,), (1,)) for name in ("one", "two")]
    assert sums.run(["sums_transcripts"], one).success
    assert choices.unanswered(sums.bench) == ["two run 1"]
    waits = outcomes.failures_of(sums.run(["sums_again_choice"]))
    assert "waits for two run 1" in waits[0].reason
    assert sums.run(["sums_transcripts", "sums_again_choice"], sums.all()).success
    chosen = (
        tasks.chosen_items(sums.bench, choices.waiting(sums.bench)[0])
        if choices.waiting(sums.bench)
        else None
    )
    assert chosen is None and not choices.waiting(sums.bench)
    assert sums.run(["sums_again_transcripts", *RUN[1:]], sums.all()).success
    assert tasks.expected(sums.bench) > len(sums.bench.items)
    before = choices.choose(sums.bench, "again")
    sums.write(["one", "two", "three"], again=True)
    assert choices.choose(sums.bench, "again") == before, "a model that comes later does not open it again"


def test_ranges_hold_exactly_the_partitions_that_are_asked_for(sums):
    names = ["a", "b", "c", "d"]
    sums.write(names)
    by_name: dict[str, Any] = {each.spec.name: each for each in tasks.partitions(sums.bench)}
    found = rectangles([by_name[name] for name in ("d", "a", "b")], sums.instance)
    assert found == [Rectangle(("a", "b"), (1,)), Rectangle(("d",), (1,))]
    assert found[1].key is not None and not found[1].tags
    assert [str(each) for each in found] == ["a, b, run 1", "d, run 1"]

"""What the pipeline makes of a contract: the assets of a benchmark of a few lines, run on a study of two models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, Definitions, ExecuteInProcessResult, in_process_executor

from metacog_assets.benchmark_assets import benchmark_assets
from metacog_assets.partitions import known_models, ranges, sync_partitions
from metacog_assets.steps import faults_of
from metacog_assets.study_file import Bound, StudyResource, bound, current_study
from metacog_pipeline import registry
from metacog_pipeline.asking import tasks
from metacog_pipeline.scoring import staleness

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
ITEMS = ["sums/sources", "sums/items"]
RUN = ["sums/transcripts", "sums/responses", "sums/run_estimates"]


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
        assets = benchmark_assets(self.bench)
        return Definitions(assets, resources={"study": StudyResource()}, executor=in_process_executor)

    def run(self, names: Sequence[str], *models: str) -> ExecuteInProcessResult:
        """Run assets on partitions of these models; of none for what has no partitions."""
        tags = {}
        if models:
            [(tags, _)] = ranges({(model, 1) for model in models}, known_models(self.instance))
        return self.defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=self.instance,
            asset_selection=[AssetKey.from_user_string(name) for name in names],
            tags=dict(tags),
            run_config=QUIET,
            raise_on_error=False,
        )

    def partitions(self, name: str) -> set[str]:
        return self.instance.get_materialized_partitions(AssetKey.from_user_string(name))


def failures(result: ExecuteInProcessResult) -> list[tuple[str, str]]:
    """Return the steps that failed, with the text that the run shows."""
    found = result.get_step_failure_events()
    return [(str(each.step_key), str(each.step_failure_data.user_failure_data)) for each in found]


@pytest.fixture
def sums(tmp_path, monkeypatch):
    entry = EntryPoint("sums", "tests.assets.sums:Sums", registry.GROUP)
    monkeypatch.setattr(registry, "entries", lambda group=registry.GROUP: {"sums": [entry]})
    monkeypatch.setenv("METACOG_STUDY", str(tmp_path / "study.toml"))
    made = Sums(tmp_path / "study.toml", DagsterInstance.ephemeral())
    made.write()
    with made.instance:
        yield made


def test_the_graph_is_the_contract(sums):
    graph = sums.defs.resolve_asset_graph()
    edges = {
        key.to_user_string(): sorted(parent.to_user_string() for parent in graph.get(key).parent_keys)
        for key in graph.get_all_asset_keys()
    }
    assert edges == {
        "sums/sources": [],
        "sums/items": ["sums/sources"],
        "sums/transcripts": ["sums/items"],
        "sums/responses": ["sums/items", "sums/transcripts"],
        "sums/run_estimates": ["sums/responses"],
        "sums/comparisons": ["sums/run_estimates"],
    }
    nodes = [graph.get(key) for key in graph.get_all_asset_keys()]
    paid = {node.key.to_user_string() for node in nodes if node.tags.get("cost") == "paid"}
    assert paid == {"sums/transcripts"}
    assert {tuple(node.owners) for node in nodes} == {("team:sums",)}


def test_all_partitions_of_a_benchmark_are_one_run(sums):
    assert sums.run(ITEMS).success
    assert sums.run(RUN, "one", "two").success
    for name in RUN:
        assert sums.partitions(name) == {"one|1", "two|1"}
    assert all(not staleness.stale_stages(sums.bench, each) for each in tasks.partitions(sums.bench))
    assert sums.run(["sums/comparisons"]).success
    assert len(sums.instance.get_runs()) == 3


def test_a_partition_that_fails_is_named_and_the_others_are_kept(sums, monkeypatch):
    monkeypatch.delenv("METACOG_TEST_NO_SUCH_KEY", raising=False)
    broken = (
        '[[models]]\nname = "broken"\nprovider = "openai"\nmodel = "m"\nprice_in = 0\nprice_out = 0\n'
        'api_key_env = "METACOG_TEST_NO_SUCH_KEY"'
    )
    sums.write(["one"], broken)
    sums.run(ITEMS)
    result = sums.run(RUN, "one", "broken")
    [(step, reason)] = failures(result)
    assert step == "sums__transcripts" and "broken, run 1" in reason and "METACOG_TEST_NO_SUCH_KEY" in reason
    assert sums.partitions("sums/transcripts") == {"one|1"}, "what was answered beside it is materialized"
    assert not sums.partitions("sums/responses"), "and nothing follows in the run that failed"


@pytest.mark.parametrize("broken", ["table", "comparisons", "published"])
def test_a_part_that_fails_leaves_its_own_rows_empty_with_the_reason(sums, broken):
    sums.write(broken=broken)
    sums.run(ITEMS)
    sums.run(RUN, "one", "two")
    result = sums.run(["sums/comparisons"])
    assert result.success, "the boards follow all the same"
    [check] = result.get_asset_check_evaluations()
    assert not check.passed
    named = {"table": "sums_missed"}.get(broken, f"sums_{broken}")
    [(what, reason, code)] = faults_of(result)
    assert what == named and "is broken" in reason and code == 7, "the command names it"
    assert check.description == f"{what}: {reason}", "and so does the graph"


def test_ranges_hold_exactly_the_partitions_that_are_asked_for():
    def found(*keys: tuple[str, int]) -> list[set[tuple[str, int]]]:
        return [own for _, own in ranges(set(keys), ["a", "b", "c", "d"])]

    assert found(("d", 1), ("a", 1), ("b", 1)) == [{("a", 1), ("b", 1)}, {("d", 1)}]
    assert found(("a", 1), ("a", 3)) == [{("a", 1)}, {("a", 3)}]
    assert found(("a", 1), ("a", 2), ("b", 2)) == [{("a", 1)}, {("a", 2), ("b", 2)}]
    [(tags, _)] = ranges({("b", 1), ("c", 1)}, ["a", "b", "c", "d"])
    assert [str(key) for key in tags.values()] == ["b|1", "c|1"]

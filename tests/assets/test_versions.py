"""A new version of one stage makes that stage and what follows it stale, in ``metacog run`` and in Dagster's own eyes."""

from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Stage

# What Dagster itself holds to be stale when scoring has a new version.
NEW_SCORER = """
import json
from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Stage
found = registry.load("metamedqa")
found.versions = {**found.versions, Stage.SCORING: "new"}
from dagster import DagsterInstance
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from metacog_assets.definitions import defs

graph = defs.resolve_asset_graph()
with DagsterInstance.get() as instance:
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    print(json.dumps([
        key.to_user_string() for key in graph.get_all_asset_keys()
        if resolver.get_status(key, "first|1" if graph.get(key).partitions_def else None) is not StaleStatus.FRESH
    ]))
"""


def steps_of(bench: Any, since: int) -> list[str]:
    """Return the steps of the runs after the first ``since``, in the order they were taken."""
    found = []
    for run in list(reversed(bench.instance.get_runs()))[since:]:
        records = bench.instance.get_records_for_run(run.run_id, limit=1000).records
        events = [each.event_log_entry.dagster_event for each in records]
        found += [event.step_key for event in events if event is not None and event.is_step_start]
    return found


def files(bench: Any) -> list[tuple[str, int]]:
    return sorted(
        (str(p), p.stat().st_mtime_ns) for p in (bench.home / "transcripts").rglob("*") if p.is_file()
    )


def test_a_new_version_redoes_its_stage_and_the_boards_and_asks_nobody(bench, http, provider, monkeypatch):
    bench.write(http("first"))
    assert bench.launch() == 0
    calls, kept, since = dict(provider.calls), files(bench), len(bench.runs())
    for stage, again in (
        (Stage.SCORING, ["metamedqa_run_estimates"]),
        (Stage.PARSING, ["metamedqa_responses", "metamedqa_run_estimates"]),
    ):
        asked = registry.load("metamedqa")
        monkeypatch.setattr(asked, "versions", {**asked.versions, stage: "new"})
        assert bench.launch() == 0
        steps = steps_of(bench, since)
        assert steps[: len(again)] == again
        assert "leaderboard" in steps and "metamedqa_transcripts" not in steps
        assert provider.calls == calls
        assert files(bench) == kept
        since = len(bench.runs())
        assert bench.launch() == 0
        assert len(bench.runs()) == since


def test_dagster_shows_only_scores_as_stale_for_a_new_scorer(bench_on_disk, simulated):
    bench_on_disk.write(simulated("first"))
    assert bench_on_disk.launch() == 0
    stale = set(bench_on_disk.python(NEW_SCORER))
    assert {"metamedqa_run_estimates", "metamedqa_comparisons"} <= stale
    assert not stale & {"metamedqa_items", "metamedqa_transcripts", "metamedqa_responses"}

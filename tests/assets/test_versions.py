"""A new version of one stage makes that stage and what follows it stale, and nobody is asked."""

from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Stage


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
        (Stage.SCORING, ["metamedqa__run_estimates"]),
        (Stage.PARSING, ["metamedqa__responses", "metamedqa__run_estimates"]),
    ):
        asked = registry.load("metamedqa")
        monkeypatch.setattr(asked, "versions", {**asked.versions, stage: "new"})
        assert bench.launch() == 0
        steps = steps_of(bench, since)
        assert steps[: len(again)] == again
        assert "leaderboard" in steps and "metamedqa__transcripts" not in steps
        assert provider.calls == calls
        assert files(bench) == kept
        since = len(bench.runs())
        assert bench.launch() == 0
        assert len(bench.runs()) == since

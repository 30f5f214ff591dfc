"""A partition, a slow or broken provider, and what is paid for nothing."""

from pathlib import Path

import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import kept_records, read_manifest
from tests.asking_in_process import ask
from tests.provider import FaultPlan
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study

ANSWER = "Answer: A\nConfidence: 3"


def partition(folder: Path, url: str, run: int = 1, max_tokens: int = 20) -> tuple[MetaMedQA, Partition]:
    model = {
        "name": "m",
        "provider": "openai",
        "model": "x",
        "base_url": f"{url}/v1",
        "price_in": 1.0,
        "price_out": 1.0,
    }
    model |= {"answer_mode": "text", "top_logprobs": 0, "thinking_tokens": 0, "max_tokens": max_tokens}
    study = load_study(write_study(folder, model, benchmarks=metamedqa(limit=12), budget_usd=100, runs=2))
    study.prepare()
    benchmark = MetaMedQA.of(study)
    construction.build(benchmark)
    return benchmark, Partition(study, MetaMedQA.name, study.models[0], run)


def session(folder: Path, url: str, **more: int) -> SessionResult:
    return ask(*partition(folder, url, **more))


def test_a_provider_that_bills_too_much_is_stopped_for_every_run_of_the_study(tmp_path):
    plan = FaultPlan(rates={"usage_above_limit": 1.0})
    with ServerThread(lambda m, r: ANSWER, plan) as server:
        first = session(tmp_path, server.url)
        received = server.stats["received"]
        second = session(tmp_path, server.url, run=2)
        assert server.stats["received"] == received
        benchmark, asked = partition(tmp_path, server.url)
        kept = [record for record in kept_records(asked.folder) if record.status == "ok"]
        figures = read_figures(asked.study.home, 100.0)
        server.provider.use(FaultPlan())
        third = session(tmp_path, server.url, run=2, max_tokens=30)
    assert 1 <= received <= 5
    assert len(kept) == received
    assert {record.text for record in kept} == {ANSWER}
    assert figures.spent == pytest.approx(sum(record.cost_usd or 0.0 for record in kept))
    assert figures.reserved == 0
    for stopped in (first, second):
        assert "more than the request allowed" in (stopped.stopped or "")
        assert "\n" not in (stopped.stopped or "")
        assert stopped.exit_code != 0
    assert (read_manifest(asked.folder) or {})["state"] == "failed"
    assert third.complete, "a change to the model's row forgets the bill"
    assert len(tasks.tasks(benchmark, asked.spec)) == third.answered
    assert (asked.study.home.capabilities / "m.json").exists()

"""Every rung of the answer ladder, through real HTTP: which one a server lets us use is found, used and recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.benchmarks.metamedqa.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts import parquet
from metacog_pipeline.transcripts.folder import write_manifest
from metacog_pipeline.transcripts.store import read_partition
from tests.asking_in_process import ask as answer
from tests.provider import FaultPlan
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study


@contextmanager
def server(plan: FaultPlan, thought: str | None = None) -> Iterator[ServerThread]:
    observer = ObserverSpec(seed=5)
    responders: list[SimulatedRespondent] = []

    def respond(model: str, request: ChatRequest) -> Completion:
        return Completion(Status.OK, responders[0](request), reasoning_text=thought)

    with ServerThread(respond, plan) as running:
        running.use_items = lambda items: responders.append(SimulatedRespondent(items, observer))  # type: ignore[attr-defined]
        yield running


def ask(
    folder: Path, running: ServerThread, *, first: int | None = None, backwards: bool = False, **more: Any
) -> tuple[Partition, SessionResult]:
    row = {"name": "m", "provider": "openai", "model": "x", "base_url": f"{running.url}/v1", "max_tokens": 64}
    path = write_study(folder, {**row, "timeout_s": 20, **more}, benchmarks=metamedqa(limit=8))
    study = load_study(path)
    study.prepare()
    benchmark = MetaMedQA.of(study)
    construction.build(benchmark)
    running.use_items(benchmark.items)  # type: ignore[attr-defined]
    partition = Partition(study, MetaMedQA.name, study.models[0], 1)
    todo = tasks.tasks(benchmark, partition.spec)[:first]
    return partition, answer(benchmark, partition, todo[::-1] if backwards else todo)


@pytest.mark.parametrize("marks", ["of now", "none"])
def test_what_is_scored_is_what_the_study_asks_for_after_the_mode_was_edited_and_set_back(
    tmp_path, monkeypatch, marks
):
    if marks == "none":  # as in copies of an earlier version, where other names of steps kept the marks away
        monkeypatch.setattr(parquet, "_superseded", lambda rows, current, before: [False] * len(rows))
    frames = []
    with server(FaultPlan()) as running:
        for mode in ("json_schema", "choice", "json_schema", "text", "choice"):
            partition, outcome = ask(tmp_path, running, answer_mode=mode)
            assert outcome.complete
            frames.append(files.read(MetaMedQA.of(partition.study), partition))
            assert frames[-1]["mode"].unique().to_list() == [mode]
        assert running.stats["answered"] == 8 * (1 + 2 + 1)
    assert frames[2].equals(frames[0]) and frames[4].equals(frames[1])


def test_an_item_is_scored_in_the_mode_it_was_answered_in_where_the_provider_refuses_that_today(tmp_path):
    with server(FaultPlan()) as running:
        partition, _ = ask(tmp_path, running, max_concurrency=2, first=4)
        running.provider.use(FaultPlan(always=("reject_response_format",)))
        partition, outcome = ask(tmp_path, running, max_concurrency=2, backwards=True)
        assert outcome.complete and outcome.profile.mode == "choice"
        assert running.stats["answered"] == 4 + 2 * 4
        frame = files.read(MetaMedQA.of(partition.study), partition)
        assert frame["mode"].to_list() == ["json_schema"] * 4 + ["choice"] * 4
        assert frame["status"].is_in(["ok"]).all()
        # A session that stops early finds the same answers current.
        write_manifest(partition.folder, {**partition.manifest(), "state": "failed"})
        assert files.read(MetaMedQA.of(partition.study), partition).equals(frame)


def test_what_a_model_thinks_is_kept_and_reaches_no_prompt_no_reader_and_no_score(tmp_path):
    frames = []
    for name, thought in (("silent", None), ("thinking", "<b>tHoUgHt</b> Answer: Z, confidence 0.123")):
        with server(FaultPlan(), thought) as running:
            partition, outcome = ask(tmp_path / name, running, answer_mode="choice")
        assert outcome.complete
        rows = read_partition(partition.folder, ["request_json", "text", "reasoning_text"]).to_pydict()
        assert rows.pop("reasoning_text") == [thought] * 16
        frames.append(files.read(MetaMedQA.of(partition.study), partition))
        assert "tHoUgHt" not in str(rows) + str(frames[-1].to_dicts())
    columns = ["item_id", "answer", "confidence", "correct", "status"]
    assert frames[0].select(columns).equals(frames[1].select(columns))


def test_which_model_answered_is_written_down_and_another_than_asked_for_is_said(tmp_path, caplog):
    with server(FaultPlan(script=("wrong_model",))) as running:
        partition, _ = ask(tmp_path, running)
    manifest = partition.manifest()
    assert manifest["state"] == "complete"
    assert manifest["model_reported"] == {"another-model-2": 1, "x": 7}
    assert "another-model-2 (1), x (7)" in str(manifest["message"])
    assert "another-model-2 (1)" in caplog.text


def test_each_run_has_answers_of_its_own_under_a_seed_of_its_own(tmp_path):
    with server(FaultPlan()) as running:
        partition, _ = ask(tmp_path, running, temperature=1.0)
        twice = partition.study.study.model_copy(update={"runs": 2})
        study = partition.study.model_copy(update={"study": twice})
        second = Partition(study, MetaMedQA.name, partition.spec, 2)
        outcome = answer(MetaMedQA.of(study), second)
        assert (outcome.tally.calls, outcome.tally.reused) == (8, 0)
        assert running.stats["distinct"] == 16
    assert partition.seed != second.seed
    ids = [set(read_partition(p.folder, ["answer_id"]).to_pydict()["answer_id"]) for p in (partition, second)]
    assert not ids[0] & ids[1]

"""Asking through batches: every provider, every fault of the server, stops and starts; nothing is submitted twice."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking.plan import counted
from metacog_pipeline.asking.session import Panelist, Partition, query_partition
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.asking.types import Task
from metacog_pipeline.home import Home
from metacog_pipeline.llm.batch import queue
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, Usage
from metacog_pipeline.storage.attached import attach
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import kept_records, read_partition
from tests.asking.scripted import two_steps
from tests.provider.batches import Taken
from tests.simulated_server import ServerThread
from tests.studies import write_study

PROVIDERS = ("openai", "anthropic", "gemini")
KEY = "sk-canary-0123456789abcdef"


def respond(model: str, request: ChatRequest) -> str:
    return f"re: {request.messages[-1].content}"


@dataclass
class World:
    """A study whose only model is the local server, and what was asked of the server."""

    server: ServerThread
    folder: Path
    provider: str

    def study(self, *, budget_usd: float | None = None, **model: Any) -> Path:
        root = self.server.url + ("/v1" if self.provider == "openai" else "")
        fields = {
            "name": "m", "provider": self.provider, "model": "m", "base_url": root, "api_key_env": "CANARY_KEY",
            "top_logprobs": 0, "thinking_tokens": 0, "stream": False, "lane": "batch", "batch_factor": 0.5, **model,
        }  # fmt: skip
        return write_study(self.folder, fields, budget_usd=budget_usd)

    def partition(self, **fields: Any) -> Partition:
        study = load_study(self.study(**fields))
        return Partition(study, "metamedqa", study.models[0], 1)

    def ask(self, partition: Partition, tasks: Sequence[Task], *, once: bool = False) -> SessionResult:
        """Ask in one session, or in one after another until no batch is under way; the first line of any counts."""
        stopped, code = None, 0
        while True:
            outcome = query_partition(partition, tasks, ("text",), fingerprint="f")
            stopped, code = stopped or outcome.stopped, code or outcome.exit_code
            if once or not outcome.waiting:
                return replace(outcome, stopped=stopped, exit_code=code)
            time.sleep(0.02)

    def plan(self, **fields: Any) -> None:
        self.server.provider.batches.use(**fields)

    @property
    def taken(self) -> list[Taken]:
        return list(self.server.provider.batches.taken.values())

    @property
    def ids(self) -> Counter[str]:
        """How often each request was in a batch."""
        return Counter(answer for batch in self.taken for answer in batch.ids)

    @property
    def home(self) -> Home:
        return Home(self.folder / "home")


@pytest.fixture
def openai_world(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "SETTLING_S", 0.3)
    monkeypatch.setenv("CANARY_KEY", KEY)
    monkeypatch.setenv("METACOG_PROGRESS", "quiet")
    with ServerThread(respond) as server:
        yield World(server, tmp_path, "openai")


@pytest.fixture(params=PROVIDERS)
def world(request, openai_world):
    return replace(openai_world, provider=request.param)


TASKS = [two_steps(f"q{number}") for number in range(6)]
COLUMNS = ("item_id", "step", "status", "text")


def table(partition: Partition) -> list[tuple[Any, ...]]:
    rows = read_partition(partition.folder, [*COLUMNS, "superseded"]).to_pylist()
    return sorted(tuple(row[name] for name in COLUMNS) for row in rows if row["status"] != "failed")


def expected() -> list[tuple[Any, ...]]:
    firsts = [(f"q{number}", "first", "ok", f"re: first q{number}") for number in range(6)]
    return sorted(
        [*firsts, *((name, "second", "ok", f"re: second after {text}") for name, _, _, text in firsts)]
    )


def test_every_step_is_a_wave_and_the_table_is_that_of_an_online_run(world):
    partition = world.partition(price_in=1.0, price_out=2.0)
    outcome = world.ask(partition, TASKS)
    assert outcome.complete and outcome.stopped is None
    assert table(partition) == expected()
    # The first task finds out online how the model is asked; the others' first and second steps are a batch each.
    assert [len(batch.ids) for batch in world.taken] == [5, 5]
    assert set(world.ids.values()) == {1}
    assert {record["state"] for record in read_records(world)} == {"done"}
    kept = [*kept_records(partition.folder)]
    assert Counter(record.lane for record in kept) == Counter({"batch": 10, "online": 2})
    figures = read_figures(world.home, None)
    assert figures.spent == pytest.approx(sum(record.cost_usd or 0 for record in kept))
    assert figures.reserved == 0


def read_records(world: World) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in (world.home / "batches").glob("*/record.json")]


@pytest.mark.parametrize("fault", ["reply_lost", "upload_lost", "rejected"])
def test_a_submission_of_unknown_outcome_is_looked_for_before_anything_is_sent_again(fault, world):
    partition = world.partition()
    world.plan(script=[fault])
    outcome = world.ask(partition, TASKS)
    assert outcome.complete and table(partition) == expected()
    assert set(world.ids.values()) == {1}


@pytest.mark.parametrize("fault", ["half_missing", "expired", "cancelled", "line_errors"])
def test_what_a_batch_did_not_answer_is_asked_again(fault, world):
    partition = world.partition()
    world.plan(script=[fault])
    outcome = world.ask(partition, TASKS)
    assert outcome.complete and table(partition) == expected()
    assert max(world.ids.values()) == 2


def test_an_empty_answer_of_a_batch_is_asked_for_once_more_and_both_are_paid(world, tmp_path):
    said: Counter[str] = Counter()

    def silent_at_first(model: str, request: ChatRequest) -> str:
        words = request.messages[-1].content
        said[words] += 1
        never = words == "first q4"
        return "" if never or (words == "first q3" and said[words] == 1) else respond(model, request)

    with ServerThread(silent_at_first) as server:
        here = World(server, tmp_path, world.provider)
        partition = here.partition(price_in=1.0, price_out=2.0)
        outcome = here.ask(partition, TASKS)
        assert outcome.complete
        assert Counter(here.ids.values())[2] == 2 and max(here.ids.values()) == 2
        kept = {(record.item_id, record.step): record for record in kept_records(partition.folder)}
        for item, text in (("q3", "re: first q3"), ("q4", "")):
            record = kept[item, "first"]
            assert (record.text, record.attempts, record.attempts_billed) == (text, 2, 2)
        figures = read_figures(here.home, None)
        assert figures.spent == pytest.approx(sum(record.cost_usd or 0 for record in kept.values()))


def test_a_batch_that_bills_more_than_was_asked_for_stops_the_model_and_its_answers_are_kept(world, tmp_path):
    def dear(model: str, request: ChatRequest) -> str | Completion:
        words = request.messages[-1].content
        text = f"re: {words}"
        return Completion(Status.OK, text, usage=Usage(10, 90_000)) if words == "first q3" else text

    with ServerThread(dear) as server:
        here = World(server, tmp_path, world.provider)
        partition = here.partition(price_in=1.0, price_out=2.0)
        outcome = here.ask(partition, TASKS)
        assert outcome.stopped is not None and "90,000 tokens" in outcome.stopped
        first = {item for item, step, status, _ in table(partition) if step == "first" and status == "ok"}
        assert "q3" in first
        sent = len(here.taken)
        assert not here.ask(partition, TASKS).complete and len(here.taken) == sent


@pytest.mark.parametrize("fault", ["duplicates", "garbage", "unknown_id"])
def test_results_that_do_not_belong_there_lose_nothing_and_are_told_in_one_line(fault, world):
    partition = world.partition()
    world.plan(script=[fault])
    outcome = world.ask(partition, TASKS)
    assert outcome.answered == len(TASKS) and table(partition) == expected()
    assert set(world.ids.values()) == {1}
    if fault == "duplicates":
        assert outcome.complete and outcome.stopped is None
        return
    assert outcome.stopped is not None and "\n" not in outcome.stopped and outcome.exit_code != 0
    assert "results.jsonl" in outcome.stopped
    assert [*(world.home / "batches").glob("*/results.jsonl")], "what came is kept"
    again = world.ask(partition, TASKS)
    assert again.complete and again.stopped is None and set(world.ids.values()) == {1}


def test_a_batch_refused_as_a_whole_stops_with_one_line_and_gives_its_money_back(world):
    if world.provider == "anthropic":
        pytest.skip("Anthropic refuses requests, never a batch that was taken")
    partition = world.partition(budget_usd=5, price_in=1.0, price_out=2.0)
    world.plan(script=["failed"])
    outcome = world.ask(partition, TASKS)
    assert outcome.exit_code == 6 and outcome.stopped is not None and "\n" not in outcome.stopped
    assert read_figures(world.home, 5).reserved == 0
    assert world.ask(partition, TASKS).complete and table(partition) == expected()


def test_batches_nobody_waits_for_are_taken_up_by_the_next_session(world):
    partition = world.partition(budget_usd=5, price_in=1.0, price_out=2.0)
    world.plan(delay_s=0.6)
    outcome = world.ask(partition, TASKS, once=True)
    assert outcome.waiting == 1 and outcome.stopped is None and not outcome.complete
    assert partition.manifest()["state"] == "waiting"
    figures = read_figures(world.home, 5)
    assert figures.reserved > 0, "the worst case is set aside while nobody runs"
    world.plan(delay_s=0.0)
    assert world.ask(partition, TASKS).complete and table(partition) == expected()
    assert set(world.ids.values()) == {1}
    figures = read_figures(world.home, 5)
    assert figures.reserved == 0 and figures.leaked == 0


def test_batches_under_way_are_taken_up_whatever_the_lane_is_now(world):
    prices = {"budget_usd": 5, "price_in": 1.0, "price_out": 2.0}
    world.plan(delay_s=0.6)
    assert world.ask(world.partition(**prices), TASKS[:4], once=True).waiting == 1
    asked_online = calls_online(world)
    now = world.partition(lane="online", **prices)
    # What no batch has is asked; what one has is left to it, and nobody waits.
    left = world.ask(now, TASKS, once=True)
    assert left.waiting == 1 and left.stopped is None and left.answered == 3
    assert "run again" in str(now.manifest()["message"])
    assert calls_online(world) == asked_online + 4
    world.plan(delay_s=0.0)
    assert world.ask(now, TASKS).complete and table(now) == expected()
    assert calls_online(world) == asked_online + 7, "of the tasks in the batch only the second steps"
    assert [len(batch.ids) for batch in world.taken] == [3]
    assert {record["state"] for record in read_records(world)} == {"done"}
    figures = read_figures(world.home, 5)
    assert figures.reserved == 0 and figures.leaked == 0
    kept = [*kept_records(now.folder)]
    assert figures.spent == pytest.approx(sum(record.cost_usd or 0 for record in kept))


def calls_online(world: World) -> int:
    return sum(record.lane == "online" for record in kept_records(world.partition().folder))


def test_a_plan_counts_what_batches_have_as_neither_answered_nor_to_ask(openai_world):
    partition = openai_world.partition()
    openai_world.plan(delay_s=0.6)
    openai_world.ask(partition, TASKS, once=True)
    for now in (partition, openai_world.partition(lane="online")):
        _, _, counts = counted(now, Panelist(now.spec, TASKS, ("text",)), now.known_profile())
        assert [counts[name] for name in ("calls", "answered", "in_batches")] == [12, 2, 5]


@pytest.mark.parametrize("under_way", [True, False])
def test_another_host_collects_what_one_submitted_and_submits_nothing_again(
    openai_world, tmp_path, under_way
):
    world, here = openai_world, openai_world.partition()
    attach(world.home, str(tmp_path / "store"), None)
    world.plan(delay_s=0.6)
    assert world.ask(here, TASKS, once=True).waiting == 1
    world.plan(delay_s=0.0)
    if not under_way:
        assert world.ask(here, TASKS).complete
    world.folder = tmp_path / "there"
    world.folder.mkdir()
    there = world.partition()
    world.home.path.mkdir()
    attach(world.home, str(tmp_path / "store"), None)
    assert world.ask(there, TASKS).complete and table(there) == expected()
    assert set(world.ids.values()) == {1}
    if under_way:  # the first host finds the answers and nothing under way
        assert world.ask(here, TASKS).complete and set(world.ids.values()) == {1}


def test_a_budget_too_small_for_the_wave_is_spent_in_parts(openai_world):
    # A call costs about 0.00002 dollars and 0.0017 at worst, half of it in a batch.
    partition = openai_world.partition(budget_usd=0.0035, price_in=1.0, price_out=2.0, max_tokens=800)
    outcome = openai_world.ask(partition, TASKS)
    assert max(len(batch.ids) for batch in openai_world.taken) < 5
    assert set(openai_world.ids.values()) == {1}
    assert read_figures(openai_world.home, 0.0035).spent <= 0.0035
    assert outcome.complete or outcome.exit_code == 5


def test_another_key_cannot_see_the_batch_and_loses_nothing(world, monkeypatch):
    partition = world.partition()
    world.plan(delay_s=0.5)
    assert world.ask(partition, TASKS, once=True).waiting == 1
    monkeypatch.setenv("CANARY_KEY", "sk-other-0123456789abcdef")
    outcome = world.ask(partition, TASKS, once=True)
    assert outcome.exit_code == 6 and outcome.stopped is not None
    assert "CANARY_KEY" in outcome.stopped and "\n" not in outcome.stopped
    assert len(world.taken) == 1
    monkeypatch.setenv("CANARY_KEY", KEY)
    assert world.ask(partition, TASKS).complete and set(world.ids.values()) == {1}


def test_an_address_without_batches_is_told_in_one_line(openai_world):
    partition = openai_world.partition(base_url=f"{openai_world.server.url}/v1/nothing")
    outcome = openai_world.ask(partition, TASKS)
    assert outcome.exit_code == 6 and outcome.stopped is not None and "\n" not in outcome.stopped

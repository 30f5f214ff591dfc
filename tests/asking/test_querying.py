"""Asking a partition: nothing answered is asked again, nothing failed is kept as an answer, stops are clean."""

from collections.abc import Sequence
from typing import Any

import pytest

from metacog_pipeline.asking import loop as engine
from metacog_pipeline.asking.session import other_models
from metacog_pipeline.asking.states import Profile, SessionResult, source_of
from metacog_pipeline.asking.types import Task
from metacog_pipeline.errors import BudgetError, StoreError
from metacog_pipeline.llm.limiter import NotSent
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import (
    NO_CONNECTION,
    ChatRequest,
    Completion,
    ErrorKind,
    Status,
    Usage,
)
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import PartitionStore, read_partition
from tests.asking import scripted
from tests.asking.scripted import Scripted, good, one_step, two_steps
from tests.tables import every

SPEC = ModelSpec(name="m", provider="openai", model="x", max_concurrency=8, top_logprobs=0)


def failed(kind: ErrorKind, param: str | None = None) -> Completion:
    return Completion(Status.FAILED, error_kind=kind, error_param=param, error_message=f"{kind} happened")


def query(folder: PartitionFolder, model: Scripted, tasks: Sequence[Task], **more: Any) -> SessionResult:
    return scripted.query(folder, model, tasks, more.pop("spec", SPEC), **more)


def test_every_item_is_asked_once_and_kept_and_a_second_session_asks_nothing(folder):
    tasks = [two_steps(str(i)) for i in range(15)]
    model = Scripted()
    outcome = query(folder, model, tasks)
    assert outcome.complete and set(model.asked.values()) == {1}
    assert read_partition(folder).num_rows == 30
    assert outcome.tally.cost_usd == pytest.approx(0.30)
    again = Scripted()
    outcome = query(folder, again, tasks)
    assert outcome.complete and not again.asked
    assert outcome.tally.reused == 30


def test_prices_are_kept_where_they_give_the_cost_and_not_of_a_bill_that_was_reconciled(folder):
    spec = SPEC.model_copy(update={"price_in": 1.0, "price_out": 10.0})
    bills = {"text:true": 100 * 1e-6 + 10 * 1e-5, "text:raised": 100 * 1e-6 + 9_000 * 1e-5}

    def reply(request: ChatRequest) -> Completion:
        words, usage = request.messages[-1].content, Usage(100, 10)
        return Completion(Status.OK, text="B", usage=usage, cost_usd=bills[words], attempts_billed=1)

    query(folder, Scripted(reply), [one_step("true"), one_step("raised")], spec=spec)
    kept = {row["item_id"]: row["prices_json"] for row in read_partition(folder).to_pylist()}
    assert kept["true"] is not None and kept["raised"] is None


def test_refused_and_truncated_answers_were_paid_for_and_are_not_asked_again(folder):
    tasks = [one_step("a"), one_step("b")]
    replies = {"text:a": Status.REFUSED, "text:b": Status.TRUNCATED}
    query(folder, Scripted(lambda r: Completion(replies[r.messages[-1].content], text="no")), tasks)
    again = Scripted()
    query(folder, again, tasks)
    assert not again.asked


def test_a_later_step_is_not_asked_after_a_failed_one(folder):
    down = failed(ErrorKind.TRANSIENT)
    model = Scripted(lambda r: down if r.messages[-1].content == "first 3" else good(r))
    query(folder, model, [two_steps(str(i)) for i in range(5)])
    assert not any(words.startswith("second") and "3" in words for words in model.asked)


def test_the_same_words_are_paid_for_once_and_kept_for_each_item(folder):
    tasks = [one_step("a", "same"), one_step("b", "same"), one_step("c", "same", "other")]
    model = Scripted()
    outcome = query(folder, model, tasks)
    assert outcome.complete
    assert model.asked["same"] == 1
    table = read_partition(folder, ["item_id", "condition", "text", "cost_usd"]).to_pylist()
    found = sorted((row["item_id"], row["condition"]) for row in table)
    assert found == [("a", "baseline"), ("b", "baseline"), ("c", "other")]
    assert {row["text"] for row in table} == {"re: same"}
    assert sum(row["cost_usd"] for row in table) == pytest.approx(0.01)


def superseded(folder: PartitionFolder) -> dict[str, bool]:
    rows = read_partition(folder, ["text", "superseded"]).to_pylist()
    return {row["text"]: row["superseded"] for row in rows}


def test_changed_words_supersede_the_old_answer_and_going_back_asks_nothing(folder):
    query(folder, Scripted(), [one_step("a", "old words")])
    query(folder, Scripted(), [one_step("a", "new words")])
    assert superseded(folder) == {"re: old words": True, "re: new words": False}
    back = Scripted()
    query(folder, back, [one_step("a", "old words")])
    assert not back.asked
    assert superseded(folder) == {"re: old words": False, "re: new words": True}


def test_a_fatal_refusal_stops_the_partition_after_what_was_in_flight(folder):
    model = Scripted(lambda r: failed(ErrorKind.FATAL))
    outcome = query(folder, model, [one_step(str(i)) for i in range(500)])
    assert outcome.stopped == "fatal happened"
    assert sum(model.asked.values()) <= SPEC.max_concurrency + 1


def test_a_provider_that_is_down_is_not_asked_for_ever(folder):
    model = Scripted(lambda r: failed(ErrorKind.TRANSIENT))
    outcome = query(folder, model, [one_step(str(i)) for i in range(500)], known=Profile("text"))
    assert outcome.stopped is not None
    assert sum(model.asked.values()) <= engine.STOP_AFTER_FAILURES_IN_A_ROW + SPEC.max_concurrency


@pytest.mark.parametrize("kind", [ErrorKind.TRANSIENT, ErrorKind.RATE_LIMIT])
def test_failures_with_answers_between_them_stop_nothing(folder, kind):
    odd = Scripted(lambda r: failed(kind) if int(r.messages[-1].content[5:]) % 2 else good(r))
    outcome = query(folder, odd, [one_step(str(i)) for i in range(4 * engine.STOP_AFTER_FAILURES_IN_A_ROW)])
    assert (outcome.stopped, outcome.failed) == (None, 2 * engine.STOP_AFTER_FAILURES_IN_A_ROW)


def test_one_odd_first_item_does_not_stop_the_others(folder):
    model = Scripted(lambda r: failed(ErrorKind.TRANSIENT) if "text:0" in r.messages[-1].content else good(r))
    outcome = query(folder, model, [one_step(str(i)) for i in range(9)])
    assert (outcome.stopped, outcome.answered, outcome.failed) == (None, 8, 1)


@pytest.mark.parametrize("known", [Profile("text"), None])
def test_a_stop_counts_every_answer_that_is_kept_and_asks_nothing(folder, known):
    tasks = [two_steps(str(i)) for i in range(40)]
    query(folder, Scripted(), tasks[20:])

    class Purse(Scripted):
        async def complete(self, request: ChatRequest) -> Completion:
            await super().complete(request)
            raise BudgetError("budget $1.00: all spent")

    model = Purse()
    outcome = query(folder, model, tasks, known=known)
    assert outcome.stopped == "budget $1.00: all spent"
    assert outcome.answered == 20 and outcome.failed == 0
    assert outcome.tally.reused == 40 and sum(model.asked.values()) <= SPEC.max_concurrency


def test_a_stop_counts_no_item_whose_later_step_is_not_kept(folder):
    def no_second(request: ChatRequest) -> Completion:
        return failed(ErrorKind.FATAL) if request.messages[-1].content.startswith("second") else good(request)

    tasks = [two_steps(str(i)) for i in range(4)]
    query(folder, Scripted(no_second), tasks[3:])
    outcome = query(folder, Scripted(lambda request: failed(ErrorKind.FATAL)), tasks)
    assert outcome.stopped is not None and outcome.answered == 0


def test_a_store_that_cannot_write_ends_in_one_store_error(folder, monkeypatch):
    async def full(self: PartitionStore, record: object) -> None:
        raise StoreError("disk full: free space and run again")

    monkeypatch.setattr(PartitionStore, "keep", full)
    with pytest.raises(StoreError, match="disk full"):
        query(folder, Scripted(), [one_step(str(i)) for i in range(9)], known=Profile("text"))


def test_answers_of_simulated_models_are_labelled_even_over_http():
    assert source_of(ModelSpec(name="s", provider="simulated")) == "simulated"
    assert source_of(SPEC, "simulated/knows-its-limits") == "simulated"
    assert source_of(SPEC, "gpt") == "measured"
    assert source_of(ModelSpec(name="r", provider="replay")) == "imported"


UNSENT = Completion(
    Status.FAILED, error_kind=ErrorKind.TRANSIENT, error_code=NO_CONNECTION, error_message="no"
)
TOO_MANY = Completion(Status.FAILED, error_kind=ErrorKind.RATE_LIMIT, error_message="no", latency_s=900.0)
DOWN = Completion(Status.FAILED, http_status=503, error_kind=ErrorKind.TRANSIENT, error_message="no")


@pytest.mark.parametrize("known", [None, Profile("text")])
@pytest.mark.parametrize("failure", [UNSENT, TOO_MANY, DOWN], ids=["no connection", "rate limit", "503"])
def test_a_provider_that_only_refuses_or_cannot_be_reached_is_given_up_after_one_call_each(
    folder, failure, known
):
    model = Scripted(lambda request: failure)
    outcome = query(folder, model, [one_step(str(i)) for i in range(40)], known=known)
    assert outcome.stopped is not None and outcome.stopped.startswith("no")
    assert model.asked.total() <= engine.FEW_IN_A_ROW


def test_a_stop_gives_up_what_was_not_sent(folder):
    thrown: list[bool] = []

    class Unsent(Scripted):
        async def complete(self, request: ChatRequest) -> Completion:
            if thrown:
                raise NotSent
            answer = await super().complete(request)
            return failed(ErrorKind.FATAL) if self.asked.total() > 10 else answer

    tasks = [one_step(str(i)) for i in range(30)]
    outcome = query(folder, Unsent(), tasks, on_stop=lambda: thrown.append(True))
    assert thrown == [True]
    assert outcome.stopped == "fatal happened"
    assert outcome.answered + outcome.failed < 30


@every(
    ("asked", "reported", "said"),
    [
        ("m", {}, False),
        ("m", {"m": 5}, False),
        ("gpt-x", {"GPT-X-2026-01-31": 5}, False),
        ("vendor/gpt-x", {"gpt-x": 5}, False),
        ("gpt-x", {"accounts/vendor/models/gpt-x": 5}, False),
        ("observer", {"simulated/observer": 5}, False),
        ("gpt-x", {"llama-y": 5}, True),
        ("gpt-x", {"gpt-x-1": 5, "gpt-x-2": 1}, True),
        ("observer", {"simulated/another": 5}, True),
    ],
)
def test_answers_of_another_model_than_asked_for_are_said(asked, reported, said):
    line = other_models(ModelSpec(name="m", provider="openai", model=asked), reported)
    assert (line is not None) == said
    if line is not None:
        assert all(f"{name} ({count})" in line for name, count in reported.items())

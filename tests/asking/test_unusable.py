"""No paid partition yields nothing: replies that cannot be used stop it early, and a half of them is never complete."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from metacog_pipeline.asking.loop import STOP_AFTER_UNREADABLE_IN_A_ROW
from metacog_pipeline.asking.session import to_ask_again
from metacog_pipeline.asking.states import Profile, SessionResult
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, JsonObject, Message, Status, Usage
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import PartitionStore, read_partition
from tests.asking.scripted import Scripted, asked

SPEC = ModelSpec(name="m", provider="openai", model="x", max_concurrency=50)
FIVE = STOP_AFTER_UNREADABLE_IN_A_ROW
Say = Callable[[int, ChatRequest], Completion]

GOOD = Completion(Status.OK, "A", finish_reason="stop", usage=Usage(9, 1))
EMPTY = Completion(Status.OK, "", finish_reason="stop", usage=Usage(9, 0))
FILTERED = Completion(Status.REFUSED, "", finish_reason="content_filter", usage=Usage(9, 0))
CUT = Completion(Status.TRUNCATED, "", finish_reason="length", usage=Usage(9, 64))
THOUGHT = Completion(Status.TRUNCATED, "", finish_reason="length", usage=Usage(9, 900, 900))
THOUGHT_ALOUD = Completion(Status.TRUNCATED, "<think>well", finish_reason="length", usage=Usage(9, 64))
CUT_JSON = Completion(Status.TRUNCATED, '{"answer": "', finish_reason="length", usage=Usage(9, 64))
DECLINED = Completion(Status.REFUSED, "I cannot help with that.", finish_reason="stop", usage=Usage(9, 7))
CUT_TEXT = Completion(Status.TRUNCATED, "The answer depends on", finish_reason="length", usage=Usage(9, 64))


def tasks(count: int, *, held: bool = False, steps: int = 1) -> list[Task]:
    def task(name: str) -> Task:
        async def run(ask: Ask, mode: str) -> None:
            for step in range(steps):
                constraint = JsonObject("a", "{}") if held else None
                await ask(f"step {step}", [Message("user", f"{name} {step}")], constraint=constraint)

        return Task(name, "hash", "baseline", run)

    return [task(f"{n:04d}") for n in range(count)]


def ask(
    folder: PartitionFolder,
    say: Say,
    *,
    count: int = 200,
    held: bool = False,
    steps: int = 1,
    spec: ModelSpec = SPEC,
    known: Profile | None = None,
    again: bool = False,
) -> tuple[SessionResult, Scripted]:
    numbers = itertools.count(1)
    model = Scripted(lambda request: say(next(numbers), request))
    with PartitionStore(folder) as store:
        if again:
            store.reask(to_ask_again(folder))
        outcome = asked(store, model, tasks(count, held=held, steps=steps), spec, known=known)
        store.compact(outcome.tally.current)
    return outcome, model


@pytest.mark.parametrize("known", [None, Profile("text")])
@pytest.mark.parametrize(
    ("reply", "key"),
    [(EMPTY, "max_tokens"), (FILTERED, "extra_body"), (CUT, "thinking_tokens"), (THOUGHT, "thinking_tokens"),
     (THOUGHT_ALOUD, "max_tokens"), (CUT_JSON, "max_tokens")],
)  # fmt: skip
def test_a_model_that_says_nothing_usable_stops_after_five_calls_and_one_line_names_the_key(
    folder, reply, key, known
):
    outcome, model = ask(folder, lambda number, request: reply, known=known)
    assert len(model.calls) == FIVE
    assert key in outcome.stopped and "--reask unusable" in outcome.stopped and "\n" not in outcome.stopped
    assert outcome.exit_code != 0 and not outcome.complete
    assert read_partition(folder).num_rows == FIVE  # paid for, so kept


def test_an_empty_reply_under_a_schema_names_the_answer_mode(folder):
    outcome, _ = ask(folder, lambda number, request: EMPTY, held=True)
    assert 'answer_mode = "text"' in outcome.stopped


@pytest.mark.parametrize("reply", [DECLINED, CUT_TEXT])
def test_a_refusal_in_words_and_text_that_was_cut_are_answers(folder, reply):
    outcome, _ = ask(folder, lambda number, request: reply)
    assert outcome.complete
    assert (outcome.unusable, outcome.missing) == (0, None)


def test_unusable_replies_with_usable_ones_between_them_stop_nothing(folder):
    outcome, _ = ask(folder, lambda number, request: EMPTY if number % 3 == 0 else GOOD)
    assert outcome.stopped is None
    assert outcome.complete
    assert 60 <= outcome.unusable <= 70


def test_a_model_that_stops_saying_anything_is_stopped_with_what_is_under_way(folder):
    outcome, model = ask(folder, lambda number, request: GOOD if number <= 20 else CUT, count=2000)
    assert outcome.stopped is not None
    assert len(model.calls) <= 20 + FIVE + 2 * SPEC.max_concurrency
    assert outcome.answered <= len(model.calls)


@pytest.mark.parametrize(("bad_of_four", "complete"), [(1, True), (2, True), (3, False)])
def test_a_partition_is_never_complete_with_less_than_half_of_its_answers_usable(
    folder, bad_of_four, complete
):
    def say(number: int, request: ChatRequest) -> Completion:
        return EMPTY if int(request.messages[-1].content[:4]) % 4 >= 4 - bad_of_four else GOOD

    outcome, _ = ask(folder, say)
    assert (outcome.stopped, outcome.complete, outcome.unusable) == (None, complete, 50 * bad_of_four)
    assert complete or "150 of 200 items have no usable answer" in outcome.missing
    again, model = ask(folder, say)
    assert not model.calls and (again.unusable, again.complete) == (outcome.unusable, outcome.complete)


@pytest.mark.parametrize("provider", ["simulated", "transformers"])
def test_what_is_not_billed_is_not_stopped(tmp_path, folder, provider):
    (tmp_path / "weights").mkdir()
    spec = SPEC.model_copy(update={"provider": provider, "model": str(tmp_path / "weights")})
    outcome, model = ask(folder, lambda number, request: EMPTY, count=20, spec=spec)
    assert len(model.calls) == 20
    assert outcome.stopped is None
    assert outcome.complete is (provider == "simulated")


@pytest.mark.parametrize(("empty", "unusable"), [("step 0", 0), ("step 1", 4)])
def test_an_item_with_several_steps_counts_by_its_last_reply(folder, empty, unusable):
    outcome, _ = ask(folder, lambda _, request: EMPTY if request.step == empty else GOOD, count=4, steps=2)
    assert outcome.unusable == unusable


def test_what_cannot_be_used_is_asked_again_on_request_and_the_old_answers_are_superseded(folder):
    def odd(number: int, request: ChatRequest) -> Completion:
        return EMPTY if int(request.messages[-1].content[:4]) % 2 else GOOD

    assert ask(folder, odd, count=20)[0].unusable == 10
    without, model = ask(folder, lambda number, request: GOOD, count=20)
    assert (len(model.calls), without.unusable) == (0, 10)
    outcome, model = ask(folder, lambda number, request: GOOD, count=20, again=True)
    assert (len(model.calls), outcome.unusable, outcome.complete) == (10, 0, True)
    rows = read_partition(folder, ["item_id", "text", "superseded"]).to_pylist()
    assert len(rows) == 30
    assert {(row["superseded"], row["text"]) for row in rows} == {(True, ""), (False, "A")}
    _, model = ask(folder, lambda number, request: GOOD, count=20, again=True)
    assert not model.calls


def test_what_was_cut_after_thinking_is_asked_again_and_a_text_cut_for_its_length_is_not(folder):
    thought = replace(CUT_TEXT, reasoning_text="hm"), replace(CUT_TEXT, usage=Usage(9, 64, 60))
    kinds = [GOOD, CUT_TEXT, *thought, DECLINED]
    ask(folder, lambda _, request: kinds[int(request.messages[-1].content[:4]) % len(kinds)], count=10)
    _, model = ask(folder, lambda number, request: GOOD, count=10, again=True)
    assert len(model.calls) == 4


def test_one_that_is_unusable_again_is_asked_once_per_request(folder):
    ask(folder, lambda number, request: EMPTY if number > 8 else GOOD, count=10)
    outcome, model = ask(folder, lambda number, request: EMPTY, count=10, again=True)
    assert len(model.calls) == 2
    assert outcome.unusable == 2

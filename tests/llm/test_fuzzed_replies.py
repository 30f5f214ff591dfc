"""Whatever a server sends: read the same whole and streamed, paid in full and not more, scored only where it is whole."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pydantic
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from metacog_pipeline.home import Home
from metacog_pipeline.llm import costs
from metacog_pipeline.llm.batch.backends import BACKENDS, read_line
from metacog_pipeline.llm.budget import Budget, BudgetSpent
from metacog_pipeline.llm.retry import RetryPolicy
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Message, Sampling, Status
from metacog_pipeline.llm.wire import wire_for
from tests.llm.conftest import Bench, Provider
from tests.llm.grammar import (
    LATE,
    MAX_TOKENS,
    PROMPT,
    TRUE,
    Body,
    Reply,
    error_event,
    events,
    framed,
    frames,
    plain,
    replies,
    whole_replies,
)
from tests.llm.replies import read, spoiled
from tests.llm.test_client_stream import Stream

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # a failure is whole without minutes of shrinking
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
REQUEST = ChatRequest((Message("user", PROMPT),), Sampling(max_tokens=MAX_TOKENS))
ROOTS = {"openai": "http://test.invalid/v1", **dict.fromkeys(("anthropic", "gemini"), "http://test.invalid")}
ONCE = RetryPolicy(transient_attempts=1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one call: the completion, how often it was sent, what was logged."""

    completion: Completion
    sent: int
    log: str


@contextmanager
def logged() -> Iterator[list[str]]:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield lines
    finally:
        root.removeHandler(handler)


def spec_of(provider: str, *, stream: bool) -> ModelSpec:
    return Bench().spec(
        provider=provider, base_url=ROOTS[provider], price_in=1.0, price_out=10.0, thinking_tokens=None,
        stream=stream,
    )  # fmt: skip


def asked(virtual: Any, provider: Provider, spec: ModelSpec, budget: Budget | None = None) -> Outcome:
    with logged() as lines:
        model = Bench().model(provider, spec=spec, retries=ONCE, budget=budget)
        completion = virtual(model.complete(REQUEST))
    return Outcome(completion, len(provider.requests), "\n".join(lines))


def in_one_piece(reply: Reply) -> httpx.Response:
    """Return ``reply`` as one body; what breaks a stream breaks it too."""
    body = json.dumps(plain(reply)).encode()
    half = body[: len(body) // 2]
    match reply.ending:
        case "cut":
            sent: Any = {"stream": Stream([half, httpx.ReadError("cut")])}
        case "error inside":
            sent = {"json": error_event(reply, message(reply))}
        case _:
            sent = {"content": half + b"<html>" if reply.ending == "garbage" else body}
    return httpx.Response(200, headers={"content-type": "application/json"}, **sent)


def message(reply: Reply) -> str:
    return f"it broke for {Bench.key}" if reply.echo else "it broke"


def as_stream(reply: Reply, breaks_at: float, cuts: list[float]) -> httpx.Response:
    """Return ``reply`` as events in pieces cut anywhere; a broken one breaks behind a share of its events."""
    listed = events(reply)
    done = b"data: [DONE]\n\n" if reply.provider == "openai" else b""
    before = b"".join(framed(each) for each in listed[: int(breaks_at * (len(listed) - 1))])
    whole = b"".join(framed(each) for each in listed)
    late = b"" if reply.ending not in LATE else b"data: {<html>\n\n"
    if reply.ending == "late error":
        late = framed(error_event(reply, message(reply)))
    whole += done + late if reply.marked else late + done
    tail: list[bytes | float | Exception] = []
    match reply.ending:
        case "cut":
            whole, tail = before, [httpx.ReadError("cut")]
        case "error inside":
            whole = before + framed(error_event(reply, message(reply)))
        case "garbage":
            whole = before + b"data: {<html>\n\n"
    places = sorted(int(cut * len(whole)) for cut in cuts)
    pieces = [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, headers=headers, stream=Stream([*(p for p in pieces if p), *tail]))


def true_usd(reply: Reply) -> float:
    return (reply.sent * 1.0 + reply.got * 10.0) / 1e6


def check(reply: Reply, found: Outcome, spec: ModelSpec) -> None:
    """Hold one outcome to what is true of the reply."""
    completion = found.completion
    worst = costs.worst_case_cost(spec, REQUEST)
    assert worst is not None and completion.cost_usd is not None
    assert completion.cost_usd <= worst * found.sent + 1e-12, "charged more than was asked for"
    if reply.counting != "one" or reply.whole:
        assert completion.cost_usd >= true_usd(reply) - 1e-12, "charged less than the bill"
    assert Bench.key not in repr(completion) + found.log, "the key is shown"
    if completion.status is Status.FAILED:
        assert completion.error_kind is not None and completion.error_message, "lost without a line"
        assert "\n" not in completion.error_message
        assert reply.said.startswith(completion.text), "what came before a break is kept"
    elif completion.status is Status.OK:
        assert reply.whole or reply.ending == "no reason", "scored, and it broke"
        assert completion.text == reply.said
    if reply.ending in ("stop", *LATE):
        assert completion.status is Status.OK
    if reply.ending == "length":
        assert completion.status is Status.TRUNCATED
    if reply.whole and reply.counting in TRUE:
        assert completion.cost_usd == pytest.approx(true_usd(reply) * found.sent)


@pytest.mark.parametrize("examples", [100, pytest.param(50_000, marks=pytest.mark.proof)])
def test_a_reply_costs_what_it_costs_and_is_scored_only_whole(virtual, examples):
    @given(reply=replies(), breaks_at=st.floats(0, 1), cuts=st.lists(st.floats(0, 1), max_size=4))
    @settings(max_examples=examples, deadline=None, phases=QUICK, suppress_health_check=SHARED)
    def held(reply: Reply, breaks_at: float, cuts: list[float]) -> None:
        hold(virtual, reply, breaks_at, cuts)

    held()


def hold(virtual: Any, reply: Reply, breaks_at: float, cuts: list[float]) -> None:
    found = []
    for stream in (False, True):
        spec = spec_of(reply.provider, stream=stream)
        sent = partial(as_stream, reply, breaks_at, cuts) if stream else partial(in_one_piece, reply)
        found.append(asked(virtual, Provider(lambda n, _, sent=sent: sent(), 0.1), spec))  # type: ignore[misc]
        check(reply, found[-1], spec)
    if reply.whole:
        # Only a stream counts its first token.
        cost = [] if reply.counting == "provisional" else ["cost_usd"]
        same = ["status", "text", "reasoning_text", "finish_reason", *cost]
        one, pieces = ([getattr(each.completion, name) for name in same] for each in found)
        assert one == pieces


@given(reply=whole_replies, how=st.lists(frames, min_size=1, max_size=3))
@settings(max_examples=100, deadline=None, phases=QUICK)
def test_a_body_cut_into_events_in_any_way_is_read_as_the_body(reply, how):
    """Of several choices the one with index 0 counts, wherever it stands."""
    stream = b"".join(framed(each, how[place % len(how)]) for place, each in enumerate(events(reply)))
    whole = read(reply.provider, stream + (b"data: [DONE]" if reply.provider == "openai" else b""))
    assert whole == read(reply.provider, plain(reply)) and whole.text == reply.said


@given(reply=whole_replies, data=st.data())
@settings(max_examples=100, deadline=None)
def test_hostile_events_never_raise(reply, data):
    listed = events(reply)
    place = data.draw(st.integers(0, len(listed) - 1))
    listed[place] = data.draw(spoiled(listed[place]))
    assert isinstance(read(reply.provider, listed).text, str)


@given(reply=whole_replies)
@settings(max_examples=20, deadline=None)
def test_the_events_of_the_grammar_are_of_the_official_types(reply):
    chat = pytest.importorskip("openai.types.chat")
    anthropic, genai = pytest.importorskip("anthropic.types"), pytest.importorskip("google.genai.types")
    kinds = {
        "openai": chat.ChatCompletionChunk.model_validate,
        "anthropic": pydantic.TypeAdapter(anthropic.RawMessageStreamEvent).validate_python,
        "gemini": lambda event: genai.GenerateContentResponse.model_validate_json(json.dumps(event)),
    }
    for event in events(reply):
        if "usage" in event and reply.provider == "openai":
            event["usage"]["total_tokens"] = reply.sent + reply.got
        if event.get("type") != "ping":
            kinds[reply.provider](event)


def batch_line(reply: Reply) -> bytes:
    """Return the line of a batch's results that holds ``reply``; one that breaks is cut in the middle."""
    body: Body = plain(reply)
    if reply.ending == "error inside":
        body = error_event(reply, message(reply))
    line: Body = {
        "openai": {"custom_id": "1", "response": {"status_code": 200, "body": body}},
        "anthropic": {"custom_id": "1", "result": {"type": "succeeded", "message": body}},
        "gemini": {"key": "1", "response": body},
    }[reply.provider]
    whole = json.dumps(line).encode()
    return whole[: len(whole) // 2] if reply.ending in ("cut", "garbage") else whole


@given(reply=replies())
@settings(max_examples=100, deadline=None, phases=QUICK, suppress_health_check=SHARED)
def test_a_line_of_a_batch_is_read_as_the_reply_and_costs_half(virtual, reply):
    spec = spec_of(reply.provider, stream=False).model_copy(update={"batch_factor": 0.5})
    line = read_line(BACKENDS[reply.provider], batch_line(reply))
    if line is None:  # kept as it came, and charged at its worst case (`tests/llm/test_batch.py`)
        assert not reply.whole
        return
    model = Bench().model(Provider(lambda n, _: httpx.Response(500), 0.1), spec=spec)
    completion = wire_for(spec.provider).read(spec, line.status, {}, line.body, Bench.key)
    cost = model.billed(completion, REQUEST, model.known, batch=True)
    worst = costs.worst_case_cost(spec, REQUEST, batch=True)
    assert cost is not None and worst is not None and true_usd(reply) / 2 - 1e-12 <= cost <= worst + 1e-12
    assert Bench.key not in repr(completion)
    if completion.status is Status.OK:
        assert reply.whole or reply.ending == "no reason"
        assert completion.text == reply.said
    if reply.whole:
        one = asked(virtual, Provider(lambda n, _: in_one_piece(reply), 0.1), spec)
        assert completion.text == one.completion.text and completion.status is one.completion.status
        assert cost == pytest.approx((one.completion.cost_usd or 0.0) / 2)


def spend(virtual: Any, home: Home, cap: float, sent: list[tuple[Reply, float]]) -> tuple[float, float]:
    """Ask until the budget is spent or the replies are out; return the true bill and what the ledger says."""
    bill = 0.0
    for reply, breaks_at in sent:
        provider = Provider(lambda n, _, r=reply, b=breaks_at: as_stream(r, b, []), 0.1)  # type: ignore[misc]
        try:
            with closing(Budget(home, cap)) as budget:
                asked(virtual, provider, spec_of(reply.provider, stream=True), budget)
        except BudgetSpent:
            break
        finally:
            bill += true_usd(reply) * len(provider.requests)
    with closing(Budget(home, cap)) as budget:
        return bill, budget.figures().spent


@pytest.mark.parametrize("examples", [15, pytest.param(2_000, marks=pytest.mark.proof)])
def test_no_study_spends_more_than_its_budget(virtual, tmp_path_factory, examples):
    lists = st.lists(st.tuples(replies(), st.floats(0, 1)), min_size=3, max_size=12)

    @given(sent=lists, cap=st.floats(0.002, 0.3))
    @settings(max_examples=examples, deadline=None, phases=QUICK, suppress_health_check=SHARED)
    def held(sent: list[tuple[Reply, float]], cap: float) -> None:
        sent = [(reply, at) for reply, at in sent if reply.counting != "one"]  # a lie nobody can see through
        bill, ledger = spend(virtual, Home(tmp_path_factory.mktemp("study") / "home"), cap, sent)
        assert bill <= ledger + 1e-9 <= cap + 2e-9

    held()

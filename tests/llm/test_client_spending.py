"""What a call costs, attempt by attempt, what is held back for it, and what is billed for nothing."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from metacog_pipeline.llm.budget import BudgetSpent
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.costs import OVERBILLED, TOLERATED_TOKENS, worst_case_cost
from metacog_pipeline.llm.limiter import Halt, Limiter
from metacog_pipeline.llm.types import ErrorKind, Status
from tests.tables import every

NO_THINKING = Capabilities(reasons=False)
COST = (100 * 1.0 + 10 * 2.0) / 1e6


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_asked_for_once_more_and_both_are_paid(virtual, bench, budget, text):
    opened = budget(100.0)
    provider = bench.provider([bench.reply(text)])
    completion = virtual(bench.model(provider, budget=opened).complete(bench.request()))
    assert (completion.status, completion.text) == (Status.OK, "A")
    assert (completion.attempts, completion.attempts_billed) == (2, 2)
    assert completion.cost_usd == pytest.approx(2 * COST)
    assert opened.figures().spent == pytest.approx(2 * COST)


@pytest.mark.parametrize(
    "second", [None, httpx.ReadTimeout("slow"), httpx.Response(401, json={"error": {"code": "x"}})]
)
def test_an_empty_answer_stays_one_when_the_second_try_is_empty_or_fails(virtual, bench, second):
    provider = bench.provider([bench.reply(""), second or bench.reply("")])
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert (completion.status, completion.text, completion.attempts) == (Status.OK, "", 2)
    assert completion.error_kind is None and len(provider.requests) == 2


@pytest.mark.parametrize(
    ("finish", "message"),
    [
        ("length", {"content": ""}),
        ("content_filter", {"content": ""}),
        ("stop", {"content": None, "refusal": "no"}),
    ],
)
def test_an_empty_answer_that_was_cut_or_refused_is_not_asked_for_again(virtual, bench, finish, message):
    choices = [{"finish_reason": finish, "message": message}]
    provider = bench.provider(lambda n, _: bench.reply(choices=choices))
    completion = virtual(bench.model(provider).complete(bench.request()))
    assert completion.status in (Status.TRUNCATED, Status.REFUSED)
    assert len(provider.requests) == 1


def overbilling(bench: Any, tokens: int, **more: Any) -> tuple[Any, Any]:
    provider = bench.provider(lambda n, _: bench.reply(usage=(10, tokens)))
    return bench.model(provider, known=NO_THINKING, **more), provider


def test_a_bill_above_the_limit_stops_the_model_and_is_charged_as_the_limit_and_kept(
    virtual, bench, budget, caplog
):
    caplog.set_level(logging.WARNING)
    opened = budget(100.0)
    model, provider = overbilling(bench, 5000, budget=opened)
    first = virtual(model.complete(bench.request(max_tokens=50)))
    second = virtual(model.complete(bench.request(max_tokens=50)))
    opened.close()
    assert (first.status, first.text, first.usage.output_tokens) == (Status.OK, "A", 5000)
    assert first.cost_usd == pytest.approx((10 * 1.0 + 50 * 2.0) / 1e6)
    assert opened.figures().spent == pytest.approx(first.cost_usd)
    assert opened.figures().reserved == 0
    assert (second.status, second.error_kind) == (Status.FAILED, ErrorKind.FATAL)
    assert second.error_code == OVERBILLED
    assert (second.attempts, second.cost_usd, len(provider.requests)) == (0, 0.0, 1)
    line = second.error_message or ""
    assert "billed 5,000 tokens once, more than the request allowed" in line
    assert "thinking_tokens" in line
    assert caplog.text.count("billed 5,000 tokens once, more than the request allowed") == 1
    assert (
        caplog.text.count("reported 5,000 output tokens for a reply of at most 50: charged as that many") == 1
    )
    assert model.known.overbilled == 5000


async def test_calls_that_wait_are_given_up_after_such_a_bill_and_those_under_way_are_kept(bench):
    model, provider = overbilling(bench, 5000, limiter=Limiter(3))
    completions = await asyncio.gather(*(model.complete(bench.request()) for _ in range(20)))
    kept = [one for one in completions if one.status is Status.OK]
    assert len(kept) == len(provider.requests) == 3
    assert all(one.error_code == OVERBILLED for one in completions if one.status is not Status.OK)


def test_other_models_of_the_session_go_on(virtual, bench):
    halt = Halt()
    model, _ = overbilling(bench, 5000, halt=halt)
    other = bench.model(bench.provider(), halt=halt)
    virtual(model.complete(bench.request()))
    assert virtual(other.complete(bench.request())).status is Status.OK
    assert not halt.thrown.is_set()


@every(
    ("tokens", "row"),
    [
        (50, {}),
        (50 + TOLERATED_TOKENS, {}),  # of a template
        (5000, {"price_in": 0, "price_out": 0}),
        (3000, {"thinking_tokens": 3000}),
    ],
)
def test_what_a_request_allowed_and_what_costs_nothing_stops_no_model(virtual, bench, tokens, row):
    model, _ = overbilling(bench, tokens, spec=bench.spec(**row))
    for _ in range(2):
        assert virtual(model.complete(bench.request(max_tokens=50))).status is Status.OK


HIDDEN = 20_000  # input tokens of a system message that nobody sent


def adding(bench: Any, tokens: Callable[[int], int], **more: Any) -> tuple[Any, Any]:
    """A provider that bills ``tokens(n)`` of input for call ``n``."""
    provider = bench.provider(lambda n, _: bench.reply(usage=(tokens(n), 10)))
    return bench.model(provider, known=NO_THINKING, **more), provider


async def at_once(bench: Any, model: Any, count: int) -> list[Any]:
    calls = (model.complete(bench.request()) for _ in range(count))
    return await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(
    "tokens",
    [
        lambda n: HIDDEN,
        lambda n: 10 if n < 20 else HIDDEN,  # only once everything is under way at once
        lambda n: 1_000 * n,
    ],
)
def test_bills_above_what_was_set_aside_leave_the_budget_whole(virtual, bench, budget, tokens):
    opened = budget(1.0)
    model, provider = adding(bench, tokens, budget=opened, limiter=Limiter(100, start=8))
    results = virtual(at_once(bench, model, 300))
    most = max(map(tokens, range(len(provider.requests)))) * 1.0 / 1e6
    assert 0.5 < opened.figures().spent <= 1.0 + 8 * most  # bills of those under way when the first one comes
    assert any(isinstance(each, BudgetSpent) for each in results)
    first = len(provider.requests)
    virtual(at_once(bench, model, 300))
    assert len(provider.requests) == first


def test_after_the_first_bill_above_it_each_call_sets_aside_as_much(virtual, bench, budget, caplog):
    caplog.set_level(logging.WARNING)
    opened = budget(0.1)
    model, provider = adding(bench, lambda n: HIDDEN, budget=opened)
    virtual(model.complete(bench.request()))
    virtual(at_once(bench, model, 20))
    assert len(provider.requests) == 4
    assert 0.08 < opened.figures().spent <= 0.1
    line = "billed 20,000 input tokens for a prompt of at most 88: something on the way"
    assert caplog.text.count(line) == 1
    assert model.known.hidden_tokens == pytest.approx(HIDDEN, abs=50)


def test_a_bill_far_beyond_the_prompt_stops_the_model_in_this_session_and_in_later_ones(
    virtual, bench, budget
):
    opened = budget(100.0)
    model, provider = adding(bench, lambda n: 5_000_000, budget=opened)
    first = virtual(model.complete(bench.request()))
    assert (first.status, first.cost_usd) == (Status.OK, pytest.approx((88 * 1.0 + 10 * 2.0) / 1e6))
    later = bench.model(provider, known=model.known)
    for again in (model, later):
        completion = virtual(again.complete(bench.request()))
        assert (completion.error_kind, completion.error_code) == (ErrorKind.FATAL, OVERBILLED)
        assert "billed 5,000,000 tokens once" in (completion.error_message or "")
    assert len(provider.requests) == 1


@every("tokens", [80, 88, 88 + TOLERATED_TOKENS])
def test_a_tokenizer_that_counts_a_little_more_is_asked_on_without_a_word(virtual, bench, caplog, tokens):
    caplog.set_level(logging.WARNING)
    model, _ = adding(bench, lambda n: tokens)
    for _ in range(3):
        assert virtual(model.complete(bench.request())).status is Status.OK
    assert caplog.text == ""


def test_what_is_known_may_be_replaced_while_a_model_is_open(virtual, bench):
    provider = bench.provider(lambda n, _: bench.reply(usage=(10, 1000)))
    model = bench.model(provider, spec=bench.spec(thinking_tokens=None))
    for known, code in (
        (model.known, None),
        (model.known, None),
        (NO_THINKING, None),
        (NO_THINKING, OVERBILLED),
    ):
        model.known = known
        assert virtual(model.complete(bench.request(max_tokens=50))).error_code == code


PRICES = {"price_in": 1000.0, "price_out": 2000.0}
ANSWER_COST = (100 * 1000.0 + 10 * 2000.0) / 1e6


def worst(bench: Any) -> float:
    cost = worst_case_cost(bench.spec(**PRICES), bench.request())
    assert cost is not None
    return cost


@every(
    ("said", "attempts_at_worst"),
    [
        (lambda bench: httpx.ConnectError("not sent"), 0),
        (lambda bench: bench.error(500), 0),
        (lambda bench: bench.error(429, retry_after="1"), 0),
        (lambda bench: httpx.ReadTimeout("slow"), 1),
        (lambda bench: httpx.ReadError("reset"), 1),
        (lambda bench: bench.error(504), 1),
        (lambda bench: httpx.Response(200, content=b'{"choices"', headers={"content-length": "500"}), 1),
        (lambda bench: httpx.Response(200, content=b'{"choices"'), 1),
        (lambda bench: httpx.Response(200, json={"error": {"code": 502, "message": "upstream"}}), 1),
    ],
)
def test_a_failed_attempt_that_may_have_been_billed_is_charged_at_its_worst(
    virtual, bench, budget, said, attempts_at_worst
):
    opened = budget(100.0)
    before = opened.figures().spent
    model = bench.model(bench.provider([said(bench)]), spec=bench.spec(**PRICES), budget=opened)
    completion = virtual(model.complete(bench.request()))
    opened.close()
    expected = ANSWER_COST + attempts_at_worst * worst(bench)
    assert (completion.status, completion.attempts) == (Status.OK, 2)
    assert completion.cost_usd == pytest.approx(expected)
    assert opened.figures().spent - before == pytest.approx(expected)


@every(
    "usage",
    [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": -5, "completion_tokens": "9"}],
)
def test_missing_usage_is_charged_at_the_worst_case_and_said(virtual, bench, budget, caplog, usage):
    caplog.set_level(logging.WARNING)
    caplog.clear()
    body = {**bench.reply(usage=None).json(), "usage": usage}
    provider = bench.provider(lambda n, _: httpx.Response(200, json=body))
    model = bench.model(provider, spec=bench.spec(**PRICES), budget=budget(100.0))
    first = virtual(model.complete(bench.request()))
    virtual(model.complete(bench.request()))
    assert (first.status, first.usage.output_tokens) == (Status.OK, None)
    assert first.cost_usd == pytest.approx(worst(bench))
    assert caplog.text.count("reports no usage") == 1


def test_calls_stop_before_the_budget_is_passed_and_those_under_way_are_kept(virtual, bench, budget):
    cap = 20 * ANSWER_COST
    opened = budget(cap)
    provider = bench.provider()
    results = virtual(at_once(bench, bench.model(provider, spec=bench.spec(**PRICES), budget=opened), 100))
    answered = [r for r in results if not isinstance(r, BaseException)]
    assert len(answered) == len(provider.requests)
    assert len(answered) + sum(isinstance(each, BudgetSpent) for each in results) == 100
    assert all(completion.status is Status.OK for completion in answered)
    assert cap - worst(bench) - ANSWER_COST <= opened.figures().spent <= cap


def test_a_budget_that_ends_between_two_attempts_gives_the_last_failure(virtual, bench, budget):
    opened = budget(1.5 * worst(bench))
    provider = bench.provider(lambda n, _: httpx.ReadTimeout("slow"))
    completion = virtual(
        bench.model(provider, spec=bench.spec(**PRICES), budget=opened).complete(bench.request())
    )
    assert (completion.status, completion.attempts) == (Status.FAILED, 1)
    assert completion.cost_usd == pytest.approx(worst(bench))


async def test_a_cancelled_call_is_charged_at_its_worst_and_frees_its_slot(bench, budget):
    opened, limiter = budget(100.0), Limiter(2)
    provider = bench.provider(latency=100.0)
    model = bench.model(provider, spec=bench.spec(**PRICES), budget=opened, limiter=limiter)
    task = asyncio.create_task(model.complete(bench.request()))
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert opened.figures().spent == pytest.approx(worst(bench)) and limiter.in_use == 0


def test_a_free_model_needs_no_budget_and_one_without_a_price_has_no_cost(virtual, bench, budget):
    free = bench.model(bench.provider(), spec=bench.spec(price_in=0, price_out=0), budget=budget(0.0))
    completion = virtual(free.complete(bench.request()))
    assert (completion.status, completion.cost_usd) == (Status.OK, 0.0)
    provider = bench.provider([bench.error(500), httpx.ReadError("reset")])
    model = bench.model(provider, spec=bench.spec(price_in=None, price_out=None))
    completion = virtual(model.complete(bench.request()))
    assert (completion.status, completion.attempts, completion.cost_usd) == (Status.OK, 3, None)

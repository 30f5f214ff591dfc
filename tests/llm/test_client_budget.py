"""What a call costs and what the budget holds back for it, attempt by attempt."""

import asyncio
import logging
from typing import Any

import httpx
import pytest

from metacog_pipeline.llm.budget import BudgetSpent
from metacog_pipeline.llm.costs import worst_case_cost
from metacog_pipeline.llm.types import Status

PRICES = {"price_in": 1000.0, "price_out": 2000.0}
ANSWER_COST = (100 * 1000.0 + 10 * 2000.0) / 1e6


def worst(bench: Any) -> float:
    cost = worst_case_cost(bench.spec(**PRICES), bench.request())
    assert cost is not None
    return cost


@pytest.mark.parametrize(
    ("what", "attempts_at_worst"),
    [
        ("not sent", 0),
        ("refused by the server", 0),
        ("rate limited", 0),
        ("timeout after sending", 1),
        ("connection broken after sending", 1),
        ("gateway timeout", 1),
        ("cut body", 1),
        ("invalid JSON", 1),
        ("error in a good status", 1),
    ],
)
def test_a_failed_attempt_that_may_have_been_billed_is_charged_at_its_worst(
    virtual, bench, budget, what, attempts_at_worst
):
    said = {
        "not sent": httpx.ConnectError("refused"),
        "refused by the server": bench.error(500),
        "rate limited": bench.error(429, retry_after="1"),
        "timeout after sending": httpx.ReadTimeout("slow"),
        "connection broken after sending": httpx.ReadError("reset"),
        "gateway timeout": bench.error(504),
        "cut body": httpx.Response(200, content=b'{"choices"', headers={"content-length": "500"}),
        "invalid JSON": httpx.Response(200, content=b'{"choices"'),
        "error in a good status": httpx.Response(200, json={"error": {"code": 502, "message": "upstream"}}),
    }[what]
    opened = budget(100.0)
    model = bench.model(bench.provider([said]), spec=bench.spec(**PRICES), budget=opened)
    completion = virtual(model.complete(bench.request()))
    opened.close()
    expected = ANSWER_COST + attempts_at_worst * worst(bench)
    assert (completion.status, completion.attempts) == (Status.OK, 2)
    assert completion.cost_usd == pytest.approx(expected)
    assert opened.figures().spent == pytest.approx(expected)


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": -5, "completion_tokens": "9"}],
)
def test_missing_usage_is_charged_at_the_worst_case_and_said(virtual, bench, budget, caplog, usage):
    caplog.set_level(logging.WARNING)
    opened = budget(100.0)
    provider = bench.provider(lambda n, _: _with_usage(bench, usage))
    model = bench.model(provider, spec=bench.spec(**PRICES), budget=opened)
    first = virtual(model.complete(bench.request()))
    virtual(model.complete(bench.request()))
    assert first.status is Status.OK
    assert first.usage.output_tokens is None
    assert first.cost_usd == pytest.approx(worst(bench))
    assert caplog.text.count("reports no usage") == 1


def test_calls_stop_before_the_budget_is_passed_and_those_under_way_are_kept(virtual, bench, budget):
    cap = 20 * ANSWER_COST
    opened = budget(cap)
    provider = bench.provider()
    model = bench.model(provider, spec=bench.spec(**PRICES), budget=opened)

    async def main() -> list[object]:
        return await asyncio.gather(
            *(model.complete(bench.request()) for _ in range(100)), return_exceptions=True
        )

    results = virtual(main())
    answered = [r for r in results if not isinstance(r, BaseException)]
    refused = [r for r in results if isinstance(r, BudgetSpent)]
    assert len(answered) == len(provider.requests)
    assert len(answered) + len(refused) == 100
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


async def test_a_cancelled_call_is_charged_at_its_worst(bench, budget):
    opened = budget(100.0)
    model = bench.model(bench.provider(latency=100.0), spec=bench.spec(**PRICES), budget=opened)
    task = asyncio.create_task(model.complete(bench.request()))
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert opened.figures().spent == pytest.approx(worst(bench))


def test_a_free_model_needs_no_budget(virtual, bench, budget):
    opened = budget(0.0)
    model = bench.model(bench.provider(), spec=bench.spec(price_in=0, price_out=0), budget=opened)
    completion = virtual(model.complete(bench.request()))
    assert (completion.status, completion.cost_usd) == (Status.OK, 0.0)


def test_a_model_without_price_has_no_cost(virtual, bench):
    provider = bench.provider([bench.error(500), httpx.ReadError("reset")])
    model = bench.model(provider, spec=bench.spec(price_in=None, price_out=None))
    completion = virtual(model.complete(bench.request()))
    assert (completion.status, completion.attempts, completion.cost_usd) == (Status.OK, 3, None)


def _with_usage(bench: Any, usage: object) -> httpx.Response:
    return httpx.Response(200, json={**bench.reply(usage=None).json(), "usage": usage})

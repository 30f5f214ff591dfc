"""Costs: split by kind of token, recomputable from what is kept with each call, whatever the study's prices are now."""

import random
from typing import Any

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.llm.costs import price_list, usage_cost
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Usage
from tests.homes import few_tables, write
from tests.leaderboard.conftest import call

PATH = "transcripts/benchmark=metamedqa/model=alpha/run=2/transcripts.parquet"
PRICES = {"price_in": 2.0, "price_out": 8.0, "price_cached_in": 0.5, "price_reasoning": 10.0}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    few_tables(monkeypatch, "costs", tested=True)


def _spec(**prices: Any) -> ModelSpec:
    own: Any = {"name": "alpha", "provider": "openai", "model": "x", "api_key_env": "K", **(prices or PRICES)}
    return ModelSpec(batch_factor=0.5, **own)


def _call(
    place: int, usage: Usage, spec: ModelSpec, lane: str = "online", **columns: object
) -> dict[str, object]:
    batch, counts = lane == "batch", ("input_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")
    tokens = {name: getattr(usage, name) for name in (*counts, "cache_write_tokens")}
    paid = {
        "cost_usd": usage_cost(spec, usage, batch=batch),
        "prices_json": canonical_json(price_list(spec, batch=batch)),
    }
    key = {"answer_id": f"c{place}", "benchmark": "costly", "run": 2, "item_id": f"i{place}", "lane": lane}
    return call("B", **{**key, **tokens, **paid, "attempts_billed": 1, **columns})


def _costs(home: Home, columns: str) -> tuple[object, ...]:
    return run_query(home, f"select {columns} from costs where benchmark = 'costly'").rows[0]


def test_dollars_are_split_by_kind_and_lane(make_home):
    home = make_home({"alpha": "measured"})
    calls = [
        _call(0, Usage(1_000_000, 100_000, 60_000, 400_000, 100_000), _spec(), service_tier="default"),
        _call(1, Usage(1_000_000, 100_000), _spec(), "batch", service_tier="batch"),
        _call(2, Usage(), _spec(), cost_usd=3.0, attempts_billed=2),  # billed at its bound, and once before
        _call(3, Usage(10, 10), _spec(), cost_usd=7.0, prices_json=None, attempts_billed=None),  # version 1
        _call(4, Usage(10, 10), _spec(), cost_usd=None, prices_json=None),
    ]
    write(home, PATH, calls)
    build(home)
    split = "input_usd, cached_usd, cache_write_usd, output_usd, reasoning_usd, unsplit_usd"
    assert _costs(home, split) == pytest.approx((2.0, 0.2, 0.25, 0.72, 0.6, 10.0), abs=1e-12)
    assert _costs(home, "cost_usd, batch_usd") == pytest.approx((13.77, 1.4), abs=1e-12)
    found = _costs(home, "service_tiers, unpriced, billed_again, reasoning_tokens, cached_tokens")
    assert found == ("batch, default", 1, 1, 60_000, 400_000)


def test_the_sum_in_sql_is_the_formula_in_python(make_home):
    home = make_home({"alpha": "measured"})
    rng = random.Random(5)

    def count(most: int) -> int | None:
        return rng.choice([None, 0, -3, rng.randrange(most), rng.randrange(most), 2**62])

    calls = []
    for place in range(300):
        asked, said = rng.randrange(50_000), rng.randrange(50_000)
        usage = Usage(asked, said, count(90_000), count(90_000), count(90_000))
        names = ("price_cached_in", "price_cache_write", "price_reasoning")
        optional = {name: rng.choice([None, 0.0, rng.uniform(0, 60)]) for name in names}
        spec = _spec(price_in=rng.uniform(0, 60), price_out=rng.uniform(0, 60), **optional)
        calls.append(_call(place, usage, spec, rng.choice(["online", "batch"])))
    write(home, PATH, calls)
    build(home)
    assert _costs(home, "unsplit_usd")[0] == pytest.approx(0.0, abs=1e-9)


def test_a_cost_that_does_not_follow_from_what_is_kept_is_refused(make_home):
    home = make_home({"alpha": "measured"})
    wrong = _call(1, Usage(1000, 100), _spec(), "batch")
    wrong["cost_usd"] = usage_cost(_spec(), Usage(1000, 100))
    write(home, PATH, [_call(0, Usage(1000, 100), _spec()), wrong])
    with pytest.raises(StoreError, match="costs_follow_from_what_is_kept"):
        build(home)


def test_prices_nobody_here_wrote_leave_the_parts_empty(make_home):
    """One model for each of them, so that one board holds all."""
    odd = ["", "{", "[]", "null", '"x"', "7", '{"in": "a"}', '{"in": {}}', '{"in": 1}', "\x00", "{}", "é"]
    prices = {f"m{number:02}": each for number, each in enumerate(odd)}
    home = make_home(dict.fromkeys(prices, "measured"))
    for model, each in prices.items():
        # Nor is a count billed that is below 0.
        usage = Usage(-1, 5) if each == '{"in": 1}' else Usage(1000, 100)
        called = _call(0, usage, _spec(), model=model, prices_json=each, cost_usd=0.5)
        write(home, PATH.replace("alpha", model), [called])
    build(home)
    split = "select model, cost_usd, unsplit_usd from costs where benchmark = 'costly' order by model"
    assert run_query(home, split).rows == tuple((model, 0.5, 0.5) for model in prices)

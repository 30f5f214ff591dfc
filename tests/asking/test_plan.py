"""The plan warns before anything is spent: keys, prices, room to think; it prices thinking, batches and prompt caches."""

import asyncio
from pathlib import Path

import pytest

from metacog_pipeline.asking import cost_estimate
from metacog_pipeline.asking.dry_run import CostEstimate, DryRun
from metacog_pipeline.asking.planning import Plan, PlanRow, plan_study
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.cli import main
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import AMPLE_THINKING_TOKENS, Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study import Study, load_study
from tests.tables import every

PRICES = "price_in = 1.0\nprice_out = 2.0\n"
SPEC = ModelSpec(name="m", provider="openai", model="x", price_in=1.0, price_out=2.0)
MILLION = CostEstimate(10, 0, 1_000_000, 640, sends=10)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


def study_of(folder: Path, keys: str = PRICES, budget: str = "budget_usd = 500") -> Study:
    path = folder / "study.toml"
    path.write_text(
        f'[study]\nname = "t"\nhome = "home"\n{budget}\n[[models]]\nname = "small"\nprovider = "openai"\nmodel = "x"\n'
        f'{keys}\n[benchmarks.metamedqa]\ndataset = "sample"\nlimit = 4\n'
    )
    return load_study(path)


def keep(study: Study, known: Capabilities) -> None:
    capabilities.save(study.home, "small", request_digest(study.models[0]), known)


def row(plan: Plan) -> PlanRow:
    (only,) = plan.rows
    return only


def starting(plan: Plan, words: str) -> list[str]:
    return [note for note in plan.notes if note.startswith(words)]


@pytest.mark.parametrize(("value", "found"), [(None, "is not set"), ("", "is set but empty")])
def test_a_missing_key_is_a_warning_while_there_is_something_to_ask(tmp_path, monkeypatch, value, found):
    monkeypatch.delenv("OPENAI_API_KEY")
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    assert starting(plan_study(study_of(tmp_path)), "small: environment") == [
        f"small: environment variable OPENAI_API_KEY {found}; export your key under it."
    ]


def test_a_model_of_this_machine_whose_folder_is_gone_is_a_warning(tmp_path):
    path = study_of(tmp_path).path
    local = path.read_text().replace('"openai"', '"transformers"')
    path.write_text(local.replace('model = "x"', 'model = "gone"'))
    assert starting(plan_study(load_study(path)), "small: ") == [
        f"small: {tmp_path}/gone: no model here (config.json is missing)."
    ]


def test_where_a_price_is_missing_nothing_is_said_to_be_enough(tmp_path):
    plan = plan_study(study_of(tmp_path, ""))
    assert row(plan).online is row(plan).batch is row(plan).dollars is None
    assert "The budget is enough for all of it." not in plan.notes
    assert plan.notes[-1] == "Whether the budget is enough is unknown: a price is missing."
    assert starting(plan, "small: has no price")
    assert "those without a price left out" in plan.notes[0]
    assert plan_study(study_of(tmp_path)).notes[-1] == "The budget is enough for all of it."


def test_a_price_left_out_on_purpose_is_said_once_and_under_a_budget_is_still_missing(tmp_path):
    plan = plan_study(study_of(tmp_path, "price_unknown = true", budget=""))
    assert starting(plan, "small: ") == [
        "small: has no price, on purpose (price_unknown): what it costs is not counted."
    ]
    assert starting(
        plan_study(study_of(tmp_path, "price_unknown = true")),
        "small: has no price, so budget_usd cannot be kept",
    )


def test_of_a_model_nobody_has_asked_thinking_is_allowed_for_and_said(tmp_path):
    plan = plan_study(study_of(tmp_path))
    calls = row(plan).to_ask
    assert row(plan).tokens_out == calls * (64 + AMPLE_THINKING_TOKENS)
    (note,) = starting(plan, "Nothing is known yet of how these answer: small; up to 15,360 tokens")
    assert "metacog doctor" in note
    assert row(plan).online is not None and row(plan).online.expected < row(plan).online.at_most / 50


def test_thinking_that_was_seen_prices_what_is_expected(tmp_path):
    study = study_of(tmp_path)
    known = Capabilities(
        api="chat", refused=frozenset({"temperature"}), reasons=True, reasoning_tokens=500, first_reply_s=2.0
    )
    keep(study, known)
    plan = plan_study(study)
    assert not starting(plan, "Nothing is known yet")
    found, calls = row(plan), row(plan).to_ask
    assert found.online.expected == pytest.approx((found.tokens_in + 2 * calls * (64 + 500)) / 1e6)
    most = (found.tokens_in + 2 * calls * (64 + AMPLE_THINKING_TOKENS)) / 1e6
    assert found.online.at_most == pytest.approx(most)


def test_a_model_that_does_not_reason_is_expected_to_cost_the_most_it_can(tmp_path):
    study = study_of(tmp_path)
    keep(study, Capabilities(reasons=False))
    found = row(plan_study(study))
    assert found.online is not None and found.online.expected == found.online.at_most
    assert found.tokens_out == found.to_ask * 64


def test_thinking_tokens_below_what_was_seen_is_a_warning_with_the_key(tmp_path):
    study = study_of(tmp_path, PRICES + "thinking_tokens = 100")
    keep(study, Capabilities(reasons=True, reasoning_tokens=700))
    assert starting(plan_study(study), "small: thinking_tokens = 100 leaves less room than the 700 tokens")


def test_max_tokens_that_leave_no_room_for_what_was_seen_is_a_warning_with_the_key(tmp_path):
    study = study_of(tmp_path)
    keep(study, Capabilities(reasons=True, reasoning_tokens=800, refused=frozenset({"thinking_room"})))
    assert starting(plan_study(study), "small: max_tokens = 64 leaves less room than the 800 tokens")


def test_online_and_batch_stand_side_by_side_where_the_provider_has_batches(tmp_path):
    found = row(plan_study(study_of(tmp_path)))
    assert found.online is not None and found.batch is not None
    assert found.batch.at_most == pytest.approx(found.online.at_most / 2)
    assert found.dollars == found.online.at_most
    found = row(plan_study(study_of(tmp_path, PRICES + 'lane = "batch"\nbatch_factor = 0.25')))
    assert found.online is not None and found.batch is not None
    assert found.dollars == found.batch.at_most == pytest.approx(found.online.at_most / 4)
    found = row(plan_study(study_of(tmp_path, PRICES + 'base_url = "http://127.0.0.1:9/v1"')))
    assert found.batch is None


@every(
    ("known", "spec", "tokens"),
    [
        (None, {}, 0),
        (Capabilities(reasons=False), {"thinking_tokens": 900}, 0),
        (Capabilities(reasons=True, reasoning_tokens=300), {}, 300),
        (Capabilities(reasons=True, reasoning_tokens=300), {"thinking_tokens": 100}, 100),
        (Capabilities(reasons=True), {}, AMPLE_THINKING_TOKENS),
        (None, {"thinking_tokens": 900}, 900),
        (None, {"provider": "simulated"}, 0),
    ],
)
def test_expected_thinking_is_what_was_seen_and_never_above_its_room(known, spec, tokens):
    asked = SPEC.model_copy(update=spec)
    assert cost_estimate.thinking_expected(asked, known) == tokens
    assert cost_estimate.thinking_at_most(asked, known) >= tokens


def test_thinking_dearer_than_text_is_in_the_most_it_can_cost():
    dear = SPEC.model_copy(update={"price_reasoning": 10.0, "thinking_tokens": 1_000})
    price = cost_estimate.price(dear, MILLION, Capabilities(reasons=True, reasoning_tokens=10))
    assert price.at_most >= (1_000_000 + 2 * 640 + 10 * 10_000) / 1e6
    assert price.expected == pytest.approx((1_000_000 + 2 * 640 + 10 * 100) / 1e6)


def test_nothing_left_to_ask_costs_nothing_and_warns_of_nothing(tmp_path):
    done = CostEstimate(4, 4)
    unpriced = ModelSpec(name="m", provider="openai", model="x")
    assert cost_estimate.price(unpriced, done, None) == cost_estimate.Price(0, 0)


def test_a_call_that_several_tasks_make_alike_is_counted_once():
    dry = DryRun(SPEC, 1, 0, {}.get)
    for word in ("a", "b", "b"):
        asyncio.run(dry("answer", [Message("user", word)]))  # type: ignore[arg-type]
    assert (dry.estimate.calls, dry.estimate.sends) == (2, 2)


def test_long_prompts_that_are_written_to_a_cache_are_in_the_most_it_can_cost():
    dear = SPEC.model_copy(update={"price_cache_write": 2.0})
    long = CostEstimate(10, 0, 1_000_000, 640, sends=10, tokens_long=400_000)
    price = cost_estimate.price(dear, long, Capabilities(reasons=False))
    assert price is not None and price.at_most == pytest.approx((600_000 + 800_000 + 1_280) / 1e6)
    assert price.expected == pytest.approx((1_000_000 + 1_280) / 1e6)


def test_the_command_shows_both_lanes_and_asks_nobody(tmp_path, capsys):
    path = tmp_path / "study.toml"
    study_of(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(path)])
    out = capsys.readouterr().out
    assert ended.value.code in (0, None)
    headings = next(line for line in out.splitlines() if "benchmark" in line)
    assert "dollars online" in headings and "dollars batch" in headings
    (row,) = (line for line in out.splitlines() if line.startswith("  small"))
    assert row.count(" to ") == 2


def test_the_cost_of_a_model_does_not_depend_on_the_others(tmp_path):
    others = [
        '[[models]]\nname = "twin"\nprovider = "openai"\nmodel = "y"\nprice_in = 3.0\nprice_out = 4.0\n',
        '[[models]]\nname = "long"\nprovider = "openai"\nmodel = "x"\nmax_tokens = 200\nprice_in = 1.0\nprice_out = 2.0\n',
        '[[models]]\nname = "claude"\nprovider = "anthropic"\nmodel = "z"\nprice_in = 1.0\nprice_out = 2.0\n',
    ]
    together = study_of(tmp_path, PRICES + "".join(others))
    planned = {each.model: each for each in plan_study(together).rows}
    for number, other in enumerate(others):
        alone = tmp_path / str(number)
        alone.mkdir()
        found = plan_study(study_of(alone, PRICES + other)).rows[1]
        assert found == planned[found.model]
    assert planned["long"].tokens_out > planned["twin"].tokens_out == planned["small"].tokens_out

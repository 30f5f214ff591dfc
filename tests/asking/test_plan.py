"""The plan before anything is spent: calls, tokens, dollars with thinking, batches and caches; what the budget allows."""

import asyncio
import contextlib
import shutil
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from metacog_pipeline.asking import construction, plan, tasks
from metacog_pipeline.asking.dry_run import DryRun
from metacog_pipeline.asking.plan import Plan, PlanRow, plan_study
from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.capabilities import AMPLE_THINKING_TOKENS, NOTHING_KNOWN, Capabilities
from metacog_pipeline.llm.ledger import NANO, Record, boot_id
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study import Study, load_study
from tests.asking_in_process import ask
from tests.studies import Keys, metamedqa, write_study
from tests.tables import every

PRICES = {"price_in": 1.0, "price_out": 2.0, "price_cache_write": 1.0}
SPEC = ModelSpec(name="m", provider="openai", model="x", **PRICES)
MILLION = Counter(calls=10, tokens_in=1_000_000, tokens_out=640)


def study_of(folder: Path, keys: Keys = PRICES, *others: Keys, budget: float | None = 500) -> Study:
    small = {"name": "small", "provider": "openai", "model": "x", **keys}
    return load_study(write_study(folder, small, *others, benchmarks=metamedqa(limit=4), budget_usd=budget))


def keep(study: Study, known: Capabilities) -> None:
    capabilities.save(study.home, "small", request_digest(study.models[0]), known)


def row(plan: Plan) -> PlanRow:
    (only,) = plan.rows
    return only


def starting(plan: Plan, words: str) -> list[str]:
    return [note for note in plan.notes if note.startswith(words)]


def test_where_a_price_is_missing_nothing_is_said_to_be_enough(tmp_path):
    found = plan_study(study_of(tmp_path, {}))
    assert row(found).expected_usd is row(found).at_most_usd is None
    assert "Whether the budget is enough is unknown: a price is missing." in found.notes
    assert "those without a price left out" in found.notes[0]
    assert "The budget is enough for all of it." in plan_study(study_of(tmp_path)).notes


@pytest.mark.parametrize(("prices", "said"), [(PRICES, 1), ({"price_in": 0, "price_out": 0}, 0)])
def test_a_paid_model_without_a_budget_is_said_to_spend_without_end(tmp_path, prices, said):
    notes = starting(plan_study(study_of(tmp_path, prices, budget=None)), "No budget_usd is set")
    assert notes == ["No budget_usd is set: nothing would stop the spending."] * said


def test_thinking_is_allowed_for_until_it_was_seen_and_then_prices_what_is_expected(tmp_path):
    study = study_of(tmp_path)
    found = row(plan_study(study))
    tokens_in, calls = found.tokens_in, found.to_ask
    assert found.tokens_out == calls * (64 + AMPLE_THINKING_TOKENS)
    assert found.expected_usd < found.at_most_usd / 50
    keep(study, Capabilities(reasons=True, reasoning_tokens=500))
    found = row(plan_study(study))
    assert found.expected_usd == pytest.approx((tokens_in + 2 * calls * (64 + 500)) / 1e6)
    most = (tokens_in + 2 * calls * (64 + AMPLE_THINKING_TOKENS)) / 1e6
    assert found.at_most_usd == pytest.approx(most)
    # One that does not reason is expected to cost the most it can.
    keep(study, Capabilities(reasons=False))
    found = row(plan_study(study))
    assert found.expected_usd == found.at_most_usd and found.tokens_out == calls * 64


def test_a_model_asked_in_batches_has_their_price(tmp_path):
    online = row(plan_study(study_of(tmp_path)))
    batch = row(plan_study(study_of(tmp_path, {**PRICES, "lane": "batch"})))
    assert (online.lane, batch.lane) == ("online", "batch")
    assert batch.at_most_usd == pytest.approx(online.at_most_usd / 2)
    given = row(plan_study(study_of(tmp_path, {**PRICES, "lane": "batch", "batch_factor": 0.25})))
    assert given.at_most_usd == pytest.approx(online.at_most_usd / 4)


@every(
    ("known", "spec", "tokens"),
    [
        (NOTHING_KNOWN, {}, 0),
        (Capabilities(reasons=False), {"thinking_tokens": 900}, 0),
        (Capabilities(reasons=True, reasoning_tokens=300), {}, 300),
        (Capabilities(reasons=True, reasoning_tokens=300), {"thinking_tokens": 100}, 100),
        (Capabilities(reasons=True), {}, AMPLE_THINKING_TOKENS),
        (NOTHING_KNOWN, {"thinking_tokens": 900}, 900),
        (NOTHING_KNOWN, {"provider": "simulated"}, 0),
    ],
)
def test_expected_thinking_is_what_was_seen_and_never_above_its_room(known, spec, tokens):
    expected, most = plan.thinking(SPEC.model_copy(update=spec), known)
    assert expected == tokens <= most


def test_dear_thinking_and_prompts_written_to_a_cache_are_in_the_most_it_can_cost():
    dear = SPEC.model_copy(update={"price_reasoning": 10.0, "thinking_tokens": 1_000})
    expected, most = plan.dollars(dear, MILLION, 10, Capabilities(reasons=True, reasoning_tokens=10))
    assert most >= (1_000_000 + 2 * 640 + 10 * 10_000) / 1e6
    assert expected == pytest.approx((1_000_000 + 2 * 640 + 10 * 100) / 1e6)
    dear = SPEC.model_copy(update={"price_cache_write": 2.0})
    expected, most = plan.dollars(dear, MILLION, 10, Capabilities(reasons=False))
    assert most == pytest.approx((2_000_000 + 1_280) / 1e6)
    assert expected == pytest.approx((1_000_000 + 1_280) / 1e6)
    free = ModelSpec(name="m", provider="openai", model="x")
    assert plan.dollars(free, Counter(), 0, NOTHING_KNOWN) == (0, 0), "nothing left to ask costs nothing"


def test_a_call_that_several_tasks_make_alike_is_counted_once():
    dry = DryRun(SPEC, 1, 0, {}.get)
    for word in ("a", "b", "b"):
        asyncio.run(dry("answer", [Message("user", word)]))  # type: ignore[arg-type]
    assert dry.counts["calls"] == 2 and dry.counts["tokens_in"] == 2


def test_the_cost_of_a_model_does_not_depend_on_the_others(tmp_path):
    others = [
        {"name": "twin", "provider": "openai", "model": "y", "price_in": 3.0, "price_out": 4.0},
        {
            "name": "long",
            "provider": "openai",
            "model": "x",
            "max_tokens": 200,
            "price_in": 1.0,
            "price_out": 2.0,
        },
    ]
    together = {each.model: each for each in plan_study(study_of(tmp_path, PRICES, *others)).rows}
    for number, other in enumerate(others):
        alone = tmp_path / str(number)
        found = plan_study(study_of(alone, PRICES, other)).rows[1]
        assert asdict(found) == asdict(together[found.model])
    assert together["long"].tokens_out > together["twin"].tokens_out == together["small"].tokens_out


def test_what_batches_have_is_neither_priced_nor_asked_again(tmp_path, monkeypatch):
    study = study_of(tmp_path)
    counts = Counter(calls=12, answered=2, in_batches=5, tokens_in=500, tokens_out=320)
    partition = Partition(study, "metamedqa", study.models[0], 1)
    monkeypatch.setattr(plan, "left_to_ask", lambda _: iter([(partition, study.models[0], counts)]))
    found = plan_study(study)
    assert row(found).to_ask == 5 and row(found).expected_usd == pytest.approx((500 + 2 * 320) / 1e6)
    assert starting(found, "5 calls are in batches under way")


def test_what_a_killed_run_may_have_cost_is_counted_once(tmp_path):
    study = study_of(tmp_path, budget=10)
    ledger = tmp_path / "home" / "ledger"
    ledger.mkdir(parents=True)
    killed = Record(boot_id(), False, granted=5 * NANO, settled=2 * NANO, reserved=1 * NANO)
    (ledger / "session-killed.json").write_bytes(killed.line())
    (line,) = starting(plan_study(study), "Budget")
    assert "$3.0000 spent so far, of which $1.0000 may have been billed" in line
    assert "$7.0000 left" in line


def test_what_a_batch_holds_is_not_left(tmp_path):
    study = study_of(tmp_path, budget=10)
    with contextlib.closing(Budget(study.home, 10)) as budget:
        assert budget.hold("batch", 9.999)
    found = plan_study(study)
    (line,) = starting(found, "Budget")
    assert "$0.0000 spent so far" in line
    assert "$9.9990 set aside for what is under way, $0.0010 left" in line
    assert starting(found, "The budget could stop it before everything is asked")


def asked(folder: Path, *names: str, runs: int | None = None, which: slice = slice(None)) -> Study:
    """Return a study of simulated models whose partitions, or ``which`` of them, are answered."""
    models = ({"name": name, "provider": "simulated", "observer": {"seed": len(name)}} for name in names)
    study = load_study(write_study(folder, *models, benchmarks=metamedqa(limit=5), runs=runs))
    study.prepare()
    benchmark = bound(study, "metamedqa")
    construction.build(benchmark)
    for partition in tasks.partitions(benchmark)[which]:
        ask(benchmark, partition)
    return study


def test_nothing_is_asked_again_where_transcripts_of_several_machines_are_copied_into_one_home(tmp_path):
    together = asked(tmp_path / "together", "one", "three", which=slice(0))
    for name in ("one", "three"):
        kept = asked(tmp_path / name, name).home.transcripts
        shutil.copytree(kept, together.home.transcripts, dirs_exist_ok=True)
    rows = plan_study(together).rows
    assert [(row.model, row.answered, row.to_ask) for row in rows] == [("one", 5, 0), ("three", 5, 0)]


def test_a_run_that_is_answered_and_one_that_is_not_are_planned_each_as_it_stands(tmp_path):
    (row,) = plan_study(asked(tmp_path / "runs", "one", runs=3, which=slice(1, 2))).rows
    assert (row.runs, row.calls, row.answered, row.to_ask) == (3, 15, 5, 10)

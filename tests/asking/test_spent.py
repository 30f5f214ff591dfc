"""What was spent never falls below what the kept answers cost, whatever became of the ledger's records."""

import asyncio
import contextlib
import random
import shutil

import pytest

from metacog_pipeline.asking.spent import kept_cost, spent_figures
from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.transcripts.store import PartitionFolder, PartitionStore
from tests.partitions import keep
from tests.transcripts.conftest import _record

PRICE, CALLS = 0.01, 6


def _paid(home: Home, model: str, compacted: bool) -> None:
    """Ask ``CALLS`` questions at ``PRICE`` each, as a session does: settle, then keep."""

    async def ask() -> None:
        budget = Budget(home, 1.0, known_spent_usd=kept_cost(home))
        with PartitionStore(PartitionFolder(home, "b", model, 1)) as store:
            for n in range(CALLS):
                budget.charge(await budget.reserve(0.02), PRICE)
                await store.keep(_record(n, model=model, cost_usd=PRICE))
            if compacted:
                store.compact()
        budget.close()

    asyncio.run(ask())


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    for model, compacted in (("one", True), ("two", False), ("three", True)):
        _paid(home, model, compacted)
    return home


def _reopened(home: Home) -> float:
    with contextlib.closing(Budget(home, 1.0, known_spent_usd=kept_cost(home))) as budget:
        return budget.figures().spent


def test_with_a_whole_ledger_nothing_is_counted_twice(home):
    assert kept_cost(home) == pytest.approx(3 * CALLS * PRICE)
    assert _reopened(home) == _reopened(home) == pytest.approx(3 * CALLS * PRICE)


@pytest.mark.parametrize("seed", [None, *range(5)])
def test_any_records_or_the_whole_ledger_may_be_deleted_or_moved(home, seed):
    draw = random.Random(seed)
    records = sorted((home / "ledger").glob("*.json"))
    for path in draw.sample(records, draw.randint(1, len(records))) if seed is not None else ():
        if draw.random() < 0.5:
            path.unlink()
        else:
            path.rename(home / path.name)
    if seed is None:
        shutil.rmtree(home / "ledger")
    assert spent_figures(home, 1.0).spent == pytest.approx(3 * CALLS * PRICE)
    assert _reopened(home) == pytest.approx(3 * CALLS * PRICE)


def test_a_damaged_record_stops_the_asking_before_a_call_is_sent(home):
    next((home / "ledger").glob("*.json")).write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        _reopened(home)


def test_no_flipped_bit_of_the_ledger_frees_a_cent(home):
    for path in (home / "ledger").glob("*.json"):
        whole = path.read_bytes()
        for bit in range(3, 8 * len(whole), 37):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            with pytest.raises(StoreError, match="is damaged"):
                spent_figures(home, 1.0)
        path.write_bytes(whole)


def test_of_a_damaged_partition_what_the_ledger_says_counts(home):
    (PartitionFolder(home, "b", "two", 1) / "journal-000001.jsonl").write_bytes(b"{\n{\n")
    assert kept_cost(home) == pytest.approx(2 * CALLS * PRICE)
    assert _reopened(home) == pytest.approx(3 * CALLS * PRICE)


def test_a_copy_that_cannot_be_read_is_passed_over_for_the_journals(home):
    (PartitionFolder(home, "b", "one", 1) / "transcripts.parquet").write_bytes(b"PAR1")
    assert kept_cost(home) == pytest.approx(3 * CALLS * PRICE)


def test_what_a_free_model_kept_costs_nothing(tmp_path):
    costs = (None, 0.0, -1.0, float("nan"))
    records = [_record(n, cost_usd=cost) for n, cost in enumerate(costs)]
    keep(PartitionFolder(Home(tmp_path), "b", "m", 1), *records)
    assert kept_cost(Home(tmp_path)) == 0.0


def _imported(home: Home, dollars: float, compacted: bool) -> None:
    row = {"source": "imported", "provider": "replay", "model": "elsewhere", "cost_usd": dollars / CALLS}
    records = [_record(n, **row) for n in range(CALLS)]
    keep(PartitionFolder(home, "b", "elsewhere", 1), *records, compact=compacted)


@pytest.mark.parametrize("compacted", [True, False])
@pytest.mark.parametrize("ledger", [True, False])
def test_what_an_import_says_it_cost_is_charged_to_no_budget(home, compacted, ledger):
    if not ledger:
        shutil.rmtree(home / "ledger")
    _imported(home, 18.0, compacted)
    for _ in range(2):
        assert spent_figures(home, 1.0).spent == pytest.approx(3 * CALLS * PRICE)
        assert _reopened(home) == pytest.approx(3 * CALLS * PRICE)


def test_what_was_kept_after_the_copy_counts(home):
    keep(PartitionFolder(home, "b", "one", 1), _record(CALLS, model="one", cost_usd=PRICE))
    assert kept_cost(home) == pytest.approx((3 * CALLS + 1) * PRICE)

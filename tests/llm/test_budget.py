import asyncio
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import BudgetError, StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import GRANT_SHARE, Budget, BudgetSpent, read_figures
from metacog_pipeline.llm.ledger import NANO, Record, nano

FIGURES = ("granted", "settled", "reserved")


def test_a_call_is_counted_at_its_worst_until_it_is_settled(virtual, budget):
    opened = budget(1.0)
    reservation = virtual(opened.reserve(0.4))
    before = opened.figures()
    opened.charge(reservation, 0.1)
    after = opened.figures()
    opened.close()
    assert before.spent == 0
    assert before.reserved >= 0.4
    assert after.spent == pytest.approx(0.1)
    assert opened.figures().remaining == pytest.approx(0.9)


def test_a_call_that_could_pass_the_cap_is_refused_with_what_to_do(virtual, budget):
    opened = budget(1.0)
    opened.charge(virtual(opened.reserve(0.7)), 0.7)
    with pytest.raises(BudgetSpent, match=r"budget \$1\.0000: \$0\.7000 is spent.*raise budget_usd"):
        virtual(opened.reserve(0.31))
    assert issubclass(BudgetSpent, BudgetError)
    opened.charge(virtual(opened.reserve(0.3)), 0.3)


async def test_a_call_waits_while_those_under_way_may_free_enough(budget):
    """Ten calls whose worst case is the whole budget, but which cost a tenth of it: all ten are sent, in order."""
    opened, order = budget(1.0), []

    async def call(number: int) -> None:
        reservation = await opened.reserve(0.95 - 0.09 * number)
        order.append(number)
        await asyncio.sleep(1)
        opened.charge(reservation, 0.05)

    await asyncio.gather(*(call(n) for n in range(10)))
    opened.close()
    assert order == list(range(10))
    assert opened.figures().spent == pytest.approx(0.5)


async def test_those_who_wait_are_refused_once_nothing_more_can_be_freed(budget):
    opened = budget(1.0)

    async def call(cost: float) -> str:
        try:
            reservation = await opened.reserve(0.6)
        except BudgetSpent:
            return "refused"
        await asyncio.sleep(1)
        opened.charge(reservation, cost)
        return "sent"

    assert await asyncio.gather(*(call(0.5) for _ in range(4))) == ["sent", "refused", "refused", "refused"]


async def test_a_caller_that_gives_up_waiting_holds_nothing(budget):
    opened = budget(1.0)
    first = await opened.reserve(0.9)
    impatient = asyncio.create_task(opened.reserve(0.9))
    patient = asyncio.create_task(opened.reserve(0.1))
    await asyncio.sleep(1)
    impatient.cancel()
    opened.charge(await patient, 0.0)
    opened.charge(first, 0.0)
    opened.charge(await opened.reserve(1.0), 0.0)


def test_the_budget_covers_what_earlier_sessions_spent(virtual, budget):
    first = budget(1.0)
    first.charge(virtual(first.reserve(0.8)), 0.8)
    first.close()
    second = budget(1.0)
    with pytest.raises(BudgetSpent):
        virtual(second.reserve(0.3))


def test_spending_without_a_cap_is_recorded_for_a_later_cap(virtual, budget):
    first = budget(None)
    first.charge(virtual(first.reserve(80.0)), 80.0)
    first.close()
    assert not first.capped
    assert first.figures().remaining is None
    second = budget(100.0)
    assert second.figures().remaining == pytest.approx(20.0)


def test_what_answers_cost_counts_where_the_ledger_knows_of_less(virtual, budget):
    """The ledger folder was deleted, or the answers were copied from another home."""
    first = budget(10.0, known_spent_usd=4.0)
    first.charge(virtual(first.reserve(1.0)), 1.0)
    first.close()
    again = budget(10.0, known_spent_usd=5.0)
    assert again.figures().spent == pytest.approx(5.0)


def test_a_bill_above_the_worst_case_still_counts(virtual, budget):
    opened = budget(1.0)
    opened.charge(virtual(opened.reserve(0.1)), 0.95)
    other = budget(1.0)
    with pytest.raises(BudgetSpent):
        virtual(other.reserve(0.1))


def test_calls_under_way_at_closing_count_as_spent(virtual, budget):
    opened = budget(1.0)
    virtual(opened.reserve(0.25))
    opened.close()
    assert opened.figures().spent == pytest.approx(0.25)


def test_idle_sessions_hold_only_a_small_part(virtual, budget):
    sessions = [budget(64.0) for _ in range(4)]
    for session in sessions:
        session.charge(virtual(session.reserve(0.001)), 0.0)
    held = sessions[0].figures().reserved
    assert held <= 4 * 64.0 / GRANT_SHARE
    for session in sessions:
        session.close()


def test_a_session_that_died_in_this_boot_counts_with_what_was_under_way(virtual, tmp_path, budget):
    opened = budget(64.0)
    opened.charge(virtual(opened.reserve(0.5)), 0.2)
    virtual(opened.reserve(0.1))
    _abandon(opened)
    after = budget(64.0)
    figures = after.figures()
    assert figures.spent == pytest.approx(0.3)
    assert figures.leaked == pytest.approx(0.1)


def test_a_session_that_died_in_an_earlier_boot_counts_with_its_grant(virtual, tmp_path, budget):
    """After a power loss the figures of single calls may be older than the calls."""
    opened = budget(64.0)
    opened.charge(virtual(opened.reserve(0.5)), 0.2)
    _abandon(opened)
    (record,) = (tmp_path / "home" / "ledger").glob("*.json")
    fields = json.loads(record.read_text())
    record.write_bytes(Record("another boot", False, *(fields[name] for name in FIGURES)).line())
    after = budget(64.0)
    assert after.figures().spent == pytest.approx(fields["granted"] / NANO)
    assert fields["granted"] >= nano(0.5)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"granted": 1}', '{"boot":"x","closed":true,"granted":-1,"settled":0,"reserved":0}'],
)
def test_a_damaged_record_stops_spending_and_names_the_file(virtual, tmp_path, budget, content):
    used = budget(1.0)
    used.charge(virtual(used.reserve(0.1)), 0.1)
    used.close()
    (record,) = (tmp_path / "home" / "ledger").glob("*.json")
    record.write_text(content)
    with pytest.raises(StoreError, match=f"{record.name} is damaged"):
        budget(1.0)


def test_a_session_that_spent_nothing_leaves_no_record(virtual, tmp_path, budget):
    opened = budget(1.0)
    opened.charge(virtual(opened.reserve(0.1)), 0.0)
    opened.close()
    assert list((tmp_path / "home" / "ledger").glob("*.json")) == []


def test_figures_are_read_without_writing_anything(virtual, tmp_path, budget):
    home = Home(tmp_path / "home")
    assert read_figures(home, 2.0).remaining == 2.0
    assert not home.path.exists()
    opened = budget(2.0)
    opened.charge(virtual(opened.reserve(0.5)), 0.25)
    names = sorted(home.path.rglob("*"))
    assert read_figures(home, 2.0) == opened.figures()
    assert sorted(home.path.rglob("*")) == names


def test_a_ledger_that_cannot_be_written_sends_nothing_and_loses_no_answer(virtual, budget, monkeypatch):
    opened = budget(1.0)
    reservation = virtual(opened.reserve(0.1))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("metacog_pipeline.llm.budget.os.pwrite", full)
        opened.charge(reservation, 0.05)
        with pytest.raises(StoreError, match="No space left on device"):
            virtual(opened.reserve(0.01))
    opened.close()
    assert opened.figures().spent == pytest.approx(0.05)


def test_a_grant_that_is_not_durable_is_not_used(virtual, budget, monkeypatch):
    opened = budget(1.0)

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("metacog_pipeline.llm.budget.os.fsync", fail)
        for _ in range(2):
            with pytest.raises(StoreError, match="Input/output error"):
                virtual(opened.reserve(0.01))
    opened.charge(virtual(opened.reserve(0.01)), 0.01)


@given(usd=st.floats(0, 1e6, allow_subnormal=False))
@settings(max_examples=200)
def test_rounding_never_counts_less_than_was_spent(usd):
    assert nano(usd) >= usd * NANO - 1e-3
    assert nano(usd) <= usd * NANO + 1


@pytest.mark.parametrize("usd", [-1.0, float("nan")])
def test_amounts_that_are_no_dollars_are_rejected(usd):
    with pytest.raises(ValueError, match="not an amount"):
        nano(usd)


def test_absurd_amounts_are_refused_as_too_much(virtual, budget):
    opened = budget(1.0)
    for usd in (1e12, 1e300, float("inf")):
        with pytest.raises(BudgetSpent):
            virtual(opened.reserve(usd))


@given(costs=st.lists(st.tuples(st.floats(0, 0.3), st.floats(0, 1)), min_size=1, max_size=40))
@settings(max_examples=50, deadline=None)
def test_whatever_is_asked_the_sum_never_passes_the_cap(costs, tmp_path_factory):
    opened = Budget(Home(tmp_path_factory.mktemp("home")), 1.0)

    async def call(worst: float, share: float) -> None:
        try:
            reservation = await opened.reserve(worst)
        except BudgetSpent:
            return
        await asyncio.sleep(0)
        figures = opened.figures()
        assert figures.spent + figures.reserved <= 1.0 + 1e-9
        opened.charge(reservation, worst * share)

    async def main() -> None:
        await asyncio.gather(*(call(*cost) for cost in costs))

    asyncio.run(main())
    opened.close()
    assert opened.figures().spent <= 1.0 + 1e-9


def _abandon(budget: Budget) -> None:
    """Leave the ledger as a killed process does: its files are closed, nothing is written."""
    os.close(budget._file)
    os.close(budget._lock)
    budget._file = -1

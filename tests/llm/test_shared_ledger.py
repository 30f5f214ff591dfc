"""One budget among many homes, kept by a real PostgreSQL: never more than the cap, whatever stops when."""

import asyncio
import multiprocessing
import os
import shutil
import signal
from typing import Any

import pytest

from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.home import Home
from metacog_pipeline.llm import budget as budgets
from metacog_pipeline.llm.budget import Budget, BudgetSpent, read_figures
from metacog_pipeline.llm.ledger import shared_ledger
from metacog_pipeline.storage.attached import attach

VARIABLE = "TEST_LEDGER"


@pytest.fixture
def home(postgres, tmp_path, monkeypatch):
    """Return a function that makes a home; all share one store, and so one budget."""
    monkeypatch.setenv(VARIABLE, postgres.replace("postgresql://", "postgresql+psycopg2://"))

    def made(name: str) -> Home:
        path = Home(tmp_path / name)
        path.path.mkdir(exist_ok=True)
        attach(path, str(tmp_path / "store"), VARIABLE)
        return path

    return made


@pytest.fixture
def opened(home):
    found: list[Budget] = []

    def budget(name: str, cap: float | None = 10.0, **known: float) -> Budget:
        found.append(Budget(home(name), cap, **known))
        return found[-1]

    yield budget
    for each in found:
        each.close()


async def spend(budget: Budget, usd: float, most: int = 10**9) -> int:
    """Reserve and pay ``usd`` until the budget refuses; return how often."""
    for paid in range(most):
        try:
            reservation = await budget.reserve(usd)
        except BudgetSpent:
            return paid
        budget.charge(reservation, usd)
    return most


def test_two_homes_together_spend_the_cap_and_no_more(opened, home):
    a, b = opened("a"), opened("b")
    assert asyncio.run(spend(a, 0.01, 300)) == 300
    first = asyncio.run(spend(b, 0.01))
    a.close()  # gives back what it was granted and did not spend
    assert 300 + first + asyncio.run(spend(b, 0.01)) == 1000
    assert asyncio.run(spend(opened("c"), 0.01)) == 0
    b.close()
    for name in ("a", "b", "new"):
        figures = read_figures(home(name), 10.0)
        assert (figures.spent, figures.reserved, figures.remaining) == (10.0, 0.0, 0.0)


def test_money_of_a_home_with_another_store_is_its_own(opened, tmp_path):
    asyncio.run(spend(opened("a"), 1.0))
    other = Home(tmp_path / "other")
    other.path.mkdir()
    attach(other, str(tmp_path / "store 2"), VARIABLE)
    with_other = Budget(other, 10.0)
    assert asyncio.run(spend(with_other, 1.0)) == 10
    with_other.close()


def test_kept_answers_of_all_hosts_are_counted_once(opened):
    a = opened("a")
    asyncio.run(spend(a, 1.0, 4))
    a.close()
    b = opened("b", known_spent_usd=4.0)  # which it brought from the store
    assert b.figures().spent == 4.0
    b.close()
    assert opened("c", known_spent_usd=6.0).figures().spent == 6.0, "rows that were lost are made good"


def test_a_copy_of_a_home_is_another_home(opened, home, tmp_path):
    a = opened("a")
    asyncio.run(spend(a, 1.0, 3))
    shutil.copytree(tmp_path / "a", tmp_path / "copied")
    copied = shared_ledger(Home(tmp_path / "copied"))
    assert copied is not None
    assert copied.read().counted >= 3 * 10**9
    copied.close()


def _killed(home: Home, pipe: Any) -> None:
    async def one() -> None:
        budget = Budget(home, 10.0)
        budget.charge(await budget.reserve(1.0), 1.0)
        await budget.reserve(2.0)
        pipe.send("sent")
        signal.pause()

    asyncio.run(one())


def test_what_a_killed_host_was_granted_stays_counted_until_it_is_back(opened, home):
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(home("a"), theirs))
    process.start()
    assert mine.recv() == "sent"
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert asyncio.run(spend(opened("b"), 1.0)) <= 7, "its calls under way may be billed"
    a = opened("a")
    assert (a.figures().leaked, a.figures().remaining) == (2.0, pytest.approx(10 - 3 - 6, abs=1.01))


def test_while_the_server_is_away_calls_wait_and_none_is_sent(opened, postgres_server, monkeypatch):
    monkeypatch.setattr(budgets, "RETRY_S", 0.05)
    a, b = opened("a"), opened("b")

    async def restarted() -> int:
        first = await spend(a, 0.01, 100)
        await asyncio.to_thread(postgres_server.stop)
        granted = [asyncio.create_task(spend(each, 0.01)) for each in (a, b)]
        await asyncio.sleep(0.4)
        assert not any(task.done() for task in granted), "they wait"
        before = a._own().counted + b._own().counted
        await asyncio.sleep(0.2)
        assert a._own().counted + b._own().counted == before, "nothing is granted meanwhile"
        await asyncio.to_thread(postgres_server.start)
        return first + sum(await asyncio.gather(*granted))

    spent = asyncio.run(restarted())
    a.close()
    assert spent + asyncio.run(spend(b, 0.01)) == 1000


def test_a_server_that_stays_away_ends_the_wait_with_one_line(opened, postgres_server, monkeypatch):
    monkeypatch.setattr(budgets, "RETRY_S", 0.05)
    monkeypatch.setattr(budgets, "PATIENCE_S", 0.1)
    a = opened("a")
    postgres_server.stop()
    try:
        with pytest.raises(StoreError, match=rf"PostgreSQL at {VARIABLE} does not answer") as error:
            asyncio.run(spend(a, 0.01))
        a.close()
        assert "postgresql" not in str(error.value), "an address may hold a password"
    finally:
        postgres_server.start()


def test_a_missing_variable_is_said(home, monkeypatch):
    path = home("a")
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(StudyError, match=rf'"{VARIABLE}": the variable is not set'):
        Budget(path, 1.0)

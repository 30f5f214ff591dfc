"""What may be spent is read and granted by one at a time: others stand still while one is between the two."""

import fcntl
import threading
from collections.abc import Callable
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget, read_figures
from metacog_pipeline.llm.ledger import NANO, NO_BOOT, Record
from metacog_pipeline.storage.attached import attach

VARIABLE = "TEST_LEDGER"
PAUSE_S = 0.3
CAP_USD = 10.0


@pytest.fixture
def pausing(monkeypatch):
    """Whoever has read the sums stands still before anything is made of them."""
    counted = Budget._counted
    pause = threading.Event()

    def slow(budget: Budget) -> int:
        sums = counted(budget)
        pause.wait(PAUSE_S)
        return sums

    monkeypatch.setattr(Budget, "_counted", slow)


def at_once(*steps: Callable[[], Any]) -> list[Any]:
    """Take the steps in threads that begin together; return what they gave."""
    given: list[Any] = [None] * len(steps)
    together = threading.Barrier(len(steps))

    def take(place: int) -> None:
        together.wait()
        given[place] = steps[place]()

    threads = [threading.Thread(target=take, args=(place,)) for place in range(len(steps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return given


def granting(budget: Budget, usd: int) -> Callable[[], bool]:
    return lambda: budget._extend(usd * NANO)


def holding(budget: Budget, mark: str, usd: float) -> Callable[[], bool]:
    return lambda: budget.hold(mark, usd)


def test_sessions_of_one_home_are_never_granted_the_same_dollars(tmp_path, pausing):
    budgets = [Budget(Home(tmp_path), CAP_USD) for _ in range(3)]
    assert sorted(at_once(*(granting(each, 4) for each in budgets))) == [False, True, True]
    assert sum(each._granted for each in budgets) <= CAP_USD * NANO
    for each in budgets:
        each.close()


def test_a_batch_and_a_call_are_never_granted_the_same_dollars(tmp_path, pausing):
    one, other = Budget(Home(tmp_path), CAP_USD), Budget(Home(tmp_path), CAP_USD)
    assert sorted(at_once(granting(one, 6), holding(other, "metacog-a", 6))) == [False, True]
    one.close()
    other.close()


def test_hosts_are_never_granted_the_same_dollars(postgres, tmp_path, monkeypatch, pausing):
    monkeypatch.setenv(VARIABLE, postgres.replace("postgresql://", "postgresql+psycopg2://"))

    def opened(name: str) -> Budget:
        home = Home(tmp_path / name)
        home.path.mkdir()
        attach(home, str(tmp_path / "store"), VARIABLE)
        return Budget(home, CAP_USD)

    hosts = [opened(name) for name in ("a", "b", "c")]
    assert sorted(at_once(*(granting(each, 4) for each in hosts))) == [False, True, True]
    assert sum(each._granted for each in hosts) <= CAP_USD * NANO
    for each in hosts:
        each.close()


def test_a_dead_session_is_dead_also_while_another_process_looks_at_its_record(tmp_path):
    home = Home(tmp_path)
    home.ledger.mkdir(parents=True)
    record = home.ledger / "session-killed.json"
    record.write_bytes(Record(NO_BOOT, False, 3 * NANO, NANO, 0).line())
    with record.open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        found = read_figures(home, CAP_USD)
    assert (found.spent, found.leaked, found.reserved) == (3.0, 2.0, 0.0)

"""What may be spent is read and granted by one at a time: others stand still while one is between the two."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.ledger import NANO, Ledger, shared_ledger
from metacog_pipeline.storage.attached import attach

VARIABLE = "TEST_LEDGER"
PAUSE_S = 0.3
CAP = 10 * NANO


@pytest.fixture
def pausing(monkeypatch):
    """Whoever has read the sums stands still before anything is made of them."""
    counted = Ledger._counted
    pause = threading.Event()

    def slow(ledger: Ledger) -> int:
        sums = counted(ledger)
        pause.wait(PAUSE_S)
        return sums

    monkeypatch.setattr(Ledger, "_counted", slow)


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


def granting(ledger: Ledger, need: int) -> Callable[[], bool]:
    return lambda: ledger.extend(need)


def holding(ledger: Ledger, mark: str, amount: int) -> Callable[[], bool]:
    return lambda: ledger.hold(mark, amount)


def test_sessions_of_one_home_are_never_granted_the_same_dollars(tmp_path, pausing):
    ledgers = [Ledger(Home(tmp_path), CAP) for _ in range(3)]
    assert sorted(at_once(*(granting(each, 4 * NANO) for each in ledgers))) == [False, True, True]
    assert sum(each.granted for each in ledgers) <= CAP
    for each in ledgers:
        each.close()


def test_a_batch_and_a_call_are_never_granted_the_same_dollars(tmp_path, pausing):
    one, other = Ledger(Home(tmp_path), CAP), Ledger(Home(tmp_path), CAP)
    assert sorted(at_once(granting(one, 6 * NANO), holding(other, "metacog-a", 6 * NANO))) == [False, True]
    one.close()
    other.close()


def test_hosts_are_never_granted_the_same_dollars(postgres, tmp_path, monkeypatch, pausing):
    monkeypatch.setenv(VARIABLE, postgres.replace("postgresql://", "postgresql+psycopg2://"))

    def ledger(name: str) -> Ledger:
        home = Home(tmp_path / name)
        home.path.mkdir()
        attach(home, str(tmp_path / "store"), VARIABLE)
        return Ledger(home, CAP, shared=shared_ledger(home))

    hosts = [ledger(name) for name in ("a", "b", "c")]
    assert sorted(at_once(*(granting(each, 4 * NANO) for each in hosts))) == [False, True, True]
    assert sum(each.granted for each in hosts) <= CAP
    for each in hosts:
        each.close()

"""Several real processes spending from one home, some of them killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget

CAP = 1.0
WORST = 0.0004
COST = 0.0003

# Spends until the budget refuses; one line is printed, unbuffered, before every send and after every settlement.
SPENDER = """
import asyncio, os, sys
from pathlib import Path
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget, BudgetSpent

async def call(budget):
    reservation = await budget.reserve({worst})
    os.write(1, b"sent\\n")
    await asyncio.sleep(0.002)
    budget.charge(reservation, {cost})

async def worker(budget):
    try:
        while True:
            await call(budget)
    except BudgetSpent:
        pass

async def main():
    budget = Budget(Home(Path(sys.argv[1])), {cap})
    await asyncio.gather(*(worker(budget) for _ in range(8)))
    budget.close()

asyncio.run(main())
"""


def start(home: Path) -> subprocess.Popen[bytes]:
    code = SPENDER.format(worst=WORST, cost=COST, cap=CAP)
    return subprocess.Popen([sys.executable, "-c", code, str(home)], stdout=subprocess.PIPE)


def sent(process: subprocess.Popen[bytes]) -> int:
    output, _ = process.communicate(timeout=60)
    return output.count(b"sent")


def test_processes_together_spend_the_budget_and_never_more(tmp_path):
    processes = [start(tmp_path) for _ in range(3)]
    calls = [sent(process) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sum(calls) * COST <= CAP
    budget = Budget(Home(tmp_path), CAP)
    figures = budget.figures()
    budget.close()
    assert figures.spent == pytest.approx(sum(calls) * COST)
    assert figures.leaked == 0
    assert figures.spent >= CAP - 3 * 8 * WORST


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_a_killed_process_leaks_what_was_under_way_and_no_more(tmp_path, delay):
    victim, survivor = start(tmp_path), start(tmp_path)
    assert victim.stdout is not None
    assert os.read(victim.stdout.fileno(), 5) == b"sent\n"
    time.sleep(delay)
    victim.send_signal(signal.SIGKILL)
    lost, kept = 1 + sent(victim), sent(survivor)
    budget = Budget(Home(tmp_path), CAP)
    figures = budget.figures()
    budget.close()
    assert survivor.returncode == 0
    assert figures.leaked <= 8 * WORST + 1e-9
    assert figures.spent + figures.reserved <= CAP + 1e-9
    # Every call that was sent is counted, and the bill (each sent call at its cost) is within the cap.
    assert figures.spent >= (lost + kept) * COST - 1e-9
    assert (lost + kept) * COST <= CAP

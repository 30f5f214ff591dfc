"""Two hosts and one store: what one kept before it was killed or stopped is never asked again, and the end is the same."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.asking.spent import kept_cost
from metacog_pipeline.cli import cli
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.shared import refresh
from tests.crash.test_crash import content, folder_of
from tests.provider import FaultPlan

pytestmark = pytest.mark.proof
SLOW = FaultPlan(seed=3, latency_s=0.03)
LEASE_S = 1


@pytest.fixture
def hosts(s3, monkeypatch, make_study):
    """Return a function that makes the study on a host: a home of its own, and the one store."""
    monkeypatch.setenv("METACOG_LEASE_S", str(LEASE_S))

    def on(name: str) -> Path:
        study = make_study(name)
        study.write_text(f'{study.read_text()}\n[deploy]\nstore = "{s3}"\n')
        load_study(study).prepare()
        return study

    return on


def run(study: Path, *more: str) -> str:
    result = CliRunner().invoke(cli, [*more, str(study)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def board(study: Path) -> str:
    return run(study, "board", "--all", "--format", "csv", "--study")


def test_another_host_goes_on_where_a_killed_one_stopped(hosts, victim, provider, make_study):
    provider.use(SLOW)
    a, b, plain = hosts("a"), hosts("b"), make_study("plain")
    victim.start(a)
    assert victim.wait_for("kept", 40) and victim.kill()
    before = victim.reported()
    time.sleep(LEASE_S)
    asked = len(provider.calls())
    run(b, "run", "--quiet")
    calls = [digest for digest, _ in provider.calls()]
    kept = {before.digest_of[answer] for answer in before.kept}
    assert not kept & set(calls[asked:]), "nothing that was kept is asked again"
    assert len(calls) - len(set(calls)) <= sum(before.in_flight.values())
    run(plain, "run", "--quiet")
    assert content(folder_of(b)) == content(folder_of(plain))
    assert board(b) == board(plain)
    # A host with nothing at all reads the same board; the first one finds everything answered.
    c = hosts("c")
    assert board(c) == board(plain)
    shutil.rmtree(c.parent / "home")
    asked = len(provider.calls())
    run(a, "run", "--quiet")
    assert len(provider.calls()) == asked
    assert board(a) == board(plain)


def test_a_host_that_was_stopped_past_its_lease_can_keep_nothing_more(hosts, victim, provider):
    provider.use(SLOW)
    a, b = hosts("a"), hosts("b")
    victim.start(a)
    assert victim.wait_for("kept", 20)
    sleeper, first = victim._child, victim.events
    os.kill(sleeper, signal.SIGSTOP)
    try:
        time.sleep(LEASE_S + 0.5)
        kept = {line.split()[1] for line in first.read_text().splitlines() if line.startswith("kept")}
        run(b, "run", "--quiet")
        rows = content(folder_of(b))
        assert kept <= {row["answer_id"] for row in rows}
    finally:
        os.kill(sleeper, signal.SIGCONT)
    assert victim.end() != 0
    assert "took this partition over" in str(victim.reported().error)
    asked = len(provider.calls())
    run(a, "run", "--quiet")
    assert len(provider.calls()) == asked, "what the sleeper could not keep in the store was on its disk"
    assert len(content(folder_of(a))) >= len(rows)


@pytest.fixture
def shared_money(postgres, monkeypatch):
    """The name of a variable with the address of PostgreSQL, set before any process starts."""
    monkeypatch.setenv("METACOG_TEST_PG", postgres.replace("postgresql://", "postgresql+psycopg2://"))
    return "METACOG_TEST_PG"


def test_two_hosts_spend_one_budget(s3, shared_money, make_study, victim, provider):
    provider.use(SLOW)
    budget = 0.02
    studies = [make_study(name, budget_usd=budget, price_in=0.5, price_out=0.5) for name in ("a", "b")]
    deploy = f'[deploy]\nstore = "{s3}"\ndagster_storage = "{shared_money}"\nledger = "postgres"\n'
    for number, study in enumerate(studies):
        study.write_text(
            f"{study.read_text()}\n{deploy}".replace('name = "local"', f'name = "local-{number}"')
        )
        load_study(study).prepare()
    _, first = victim.run(studies[0])
    asked = len(provider.calls())
    assert asked > 0, first.error
    victim.run(studies[1])
    spent = [read_figures(load_study(study).home, budget) for study in studies]
    assert spent[0].spent == pytest.approx(spent[1].spent), "both know what both spent"
    assert budget * 0.3 < spent[0].spent <= budget, (asked, len(provider.calls()))
    kept = 0.0
    for study in studies:
        refresh(load_study(study).home)
        kept = kept_cost(load_study(study).home)
    assert kept == pytest.approx(spent[0].spent) and kept <= budget

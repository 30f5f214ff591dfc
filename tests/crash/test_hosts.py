"""Two hosts and one store: what one kept before it was killed or stopped is never asked again, and the end is the same."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from metacog_pipeline.cli import cli
from metacog_pipeline.study import load_study
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

"""Kill -9 anywhere in a run: no answer is lost, none that was acknowledged is paid for twice, the end is the same."""

import dataclasses
import itertools
import random
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.benchmarks.metamedqa.prompts import steps
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.store import read_manifest, read_partition
from tests.provider import FaultPlan

pytestmark = pytest.mark.slow


IN_FLIGHT = 10
EIGHT_CONDITIONS = (
    "baseline", "role", "role-warn", "role-warn-consequence", "role-explicit-unknown", "role-explicit-unknown-incomplete",
    "role-full", "role-omniscient",
)  # fmt: skip
ROUGH = FaultPlan(
    seed=3,
    latency_s=0.03,
    slow_s=0.05,
    retry_after_s=0.02,
    rates={"rate_limit": 0.05, "server_error": 0.05, "cut": 0.05, "slow": 0.05, "invalid_json": 0.02},
)
WHOLE = ("ok", "slow")  # outcomes that give a whole answer
BILLED = ("ok", "slow", "cut", "invalid_json")
INCOMPLETE = 3  # the exit code of victim.py
TIMES = (
    *("started_at", "latency_s", "attempts", "latency_first_ms", "latency_ms", "attempts_billed"),
    "response_id",
)


def folder_of(study: Path) -> PartitionFolder:
    return PartitionFolder(Home(study.parent / "home"), "metamedqa", "local", 1)


def content(folder: PartitionFolder) -> list[dict[str, Any]]:
    """Return the rows of the Parquet copy without what depends on when and how often a call was tried."""
    rows: list[dict[str, Any]] = read_partition(folder).drop_columns(list(TIMES)).to_pylist()
    return rows


# `make proofs` asks and kills more.
@pytest.mark.parametrize(
    ("mode", "kills", "conditions"),
    [
        pytest.param("choice", 3, EIGHT_CONDITIONS[:2], id="choice-3"),  # two calls an item
        *(
            pytest.param(mode, kills, EIGHT_CONDITIONS, marks=pytest.mark.proof, id=f"{mode}-{kills}")
            for mode, kills in (("text", 50), ("choice", 25))
        ),
    ],
)
def test_a_run_killed_again_and_again_ends_as_if_it_never_was(
    mode, kills, conditions, victim, provider, make_study
):
    chance = random.Random(f"kills {mode}")
    study = make_study("killed", conditions=conditions, answer_mode=mode, max_concurrency=IN_FLIGHT)
    provider.use(ROUGH)
    expected = tasks.expected(MetaMedQA.of(load_study(study))) * len(steps(mode))
    sessions: list[Any] = []
    boundaries: list[int] = []
    while len(sessions) < kills:
        boundaries.append(len(provider.calls()))
        victim.start(study)
        if chance.random() < 0.15:
            time.sleep(chance.random() * 0.1)  # while it starts
        else:
            left = expected - sum(len(session.kept) for session in sessions)
            victim.wait_for("kept", chance.randrange(1, max(2, left // (kills - len(sessions) + 10) * 2)))
            time.sleep(chance.random() * 0.01)
        assert victim.kill(), "the run ended before it had been killed often enough"
        sessions.append(victim.reported())
    boundaries.append(len(provider.calls()))
    code, last = victim.run(study)
    assert code == 0
    sessions.append(last)

    digest_of = {answer: digest for session in sessions for answer, digest in session.digest_of.items()}
    kept = Counter(answer for session in sessions for answer in session.kept)
    calls = provider.calls()
    rows = content(folder_of(study))
    assert len(rows) == expected and {row["status"] for row in rows} == {"ok"}
    assert set(kept.values()) == {1} and set(kept) <= {row["answer_id"] for row in rows}

    for number, session in enumerate(sessions[:-1], start=1):
        acknowledged = {digest_of[answer] for answer in session.kept}
        again = acknowledged & {digest for digest, _ in calls[boundaries[number] :]}
        assert not again, f"session {number}: acknowledged and asked again later"
        assert session.in_flight.total() <= IN_FLIGHT

    given = Counter(digest for digest, outcome in calls if outcome in WHOLE)
    interrupted = sum((session.in_flight for session in sessions), Counter[str]())
    assert given.total() == provider.server.stats["answered"]
    assert set(given) == {digest_of[row["answer_id"]] for row in rows}
    assert not given - Counter(set(given)) - interrupted, "an answer was given twice that no kill explains"
    assert given.total() - len(rows) <= interrupted.total() <= kills * IN_FLIGHT
    assert interrupted.total() > 0

    provider.use(FaultPlan())
    undisturbed = make_study(
        "undisturbed", conditions=conditions, answer_mode=mode, max_concurrency=IN_FLIGHT
    )
    assert victim.run(undisturbed)[0] == 0
    assert content(folder_of(undisturbed)) == rows


def crashed_before(function: str, victim: Any, study: Path) -> list[dict[str, Any]]:
    """Bring a grown study to the moment ``function`` begins, with a copy of ten items; return what follows."""
    whole = study.read_text()
    study.write_text(whole.replace("limit = 25", "limit = 10"))
    assert victim.run(study)[0] == 0
    study.write_text(whole)
    assert victim.run(study, (function, 0))[0] == -9
    finished = shutil.copytree(study.parent, study.parent.with_name("finished"))
    assert victim.run(finished / study.name)[0] == 0
    return content(folder_of(finished / study.name))


@pytest.mark.parametrize(
    "function", ["compact_folder", pytest.param("write_manifest", marks=pytest.mark.proof)]
)
def test_a_kill_at_any_step_of_finishing_harms_nothing_and_costs_no_call(
    function, victim, provider, make_study, tmp_path
):
    study = make_study("grown", limit=25)
    expected = crashed_before(function, victim, study)
    calls = len(provider.calls())
    for step in itertools.count():
        copy = shutil.copytree(study.parent, tmp_path / f"step-{step}") / study.name
        folder = folder_of(copy)
        code, _ = victim.run(copy, (function, step))
        if code == 0:
            break
        assert code == -9
        assert len(content(folder)) in (10, 25), "the copy is the one before or the whole new one"
        assert read_manifest(folder)["n_expected"] in (10, 25)
        code, resumed = victim.run(copy)
        assert (code, resumed.digest_of) == (0, {})
        assert content(folder) == expected
        assert read_manifest(folder)["state"] == "complete"
    assert step > 5, "there are steps at which to be killed"
    assert len(provider.calls()) == calls


@pytest.mark.proof  # processes that die while they spend: `llm/test_budget_processes.py`
def test_killed_runs_together_never_spend_more_than_the_budget(victim, provider, make_study):
    chance = random.Random("budget")
    asked = {"price_in": 2.0, "price_out": 10.0, "max_tokens": 20, "thinking_tokens": 0, "max_concurrency": 4}
    free = make_study("unlimited", conditions=EIGHT_CONDITIONS[:2], **asked)
    _, everything = victim.run(free)
    cost_of = {everything.digest_of[row["answer_id"]]: row["cost_usd"] for row in content(folder_of(free))}
    cap = round(sum(cost_of.values()) * 0.6, 6)
    study = make_study("capped", conditions=EIGHT_CONDITIONS[:2], budget_usd=cap, **asked)
    provider.use(dataclasses.replace(ROUGH, rates={"cut": 0.05, "rate_limit": 0.05}))
    before = len(provider.calls())

    code, kills = -9, 0
    while code == -9:
        victim.start(study)
        if kills < 6 and victim.wait_for("kept", chance.randrange(1, 3)):
            time.sleep(chance.random() * 0.02)
            victim.kill()
            kills += 1
        else:
            code = victim.end()
        budget = Budget(Home(study.parent / "home"), cap)
        figures = budget.figures()
        budget.close()
        bill = sum(cost_of[digest] for digest, outcome in provider.calls()[before:] if outcome in BILLED)
        assert bill <= figures.spent + figures.reserved + 1e-9 <= cap + 1e-9
    assert code == INCOMPLETE and kills >= 4
    state = read_manifest(folder_of(study))
    assert state["state"] == "failed" and "budget" in str(state["message"])

    study.write_text(study.read_text().replace(f"budget_usd = {cap}", "budget_usd = 1"))
    assert victim.run(study)[0] == 0
    rows = content(folder_of(study))
    # A call whose second attempt the budget did not allow is kept as failed, and was asked again now.
    assert sum(row["status"] == "ok" for row in rows) == len(cost_of)

"""Kill -9 around submission, polling and collection: nothing is submitted twice, nothing is lost, the table is the same."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import read_figures
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.store import kept_records, read_partition
from tests.asking.scripted import two_steps
from tests.asking.test_batches import World, respond
from tests.partitions import only_folder
from tests.simulated_server import ServerThread

pytestmark = pytest.mark.slow

ITEMS = 12
STEPS = 50  # a session is killed before one of its first steps
MOST_SESSIONS = 200
CAP = 10.0
COLUMNS = ("answer_id", "item_id", "condition", "step", "status", "text", "input_tokens", "output_tokens")
KILLS = {"openai": 5, "anthropic": 4, "gemini": 4}
MORE_KILLS = {"openai": 24, "anthropic": 18, "gemini": 18}  # by `make proofs`


def written_study(folder: Path, server: ServerThread, provider: str, lane: str) -> Path:
    return World(server, folder, provider).study(budget_usd=CAP, price_in=1.0, price_out=2.0, lane=lane)


def table(study: Path) -> list[tuple[Any, ...]]:
    rows = read_partition(only_folder(home_of(study)), list(COLUMNS)).to_pylist()
    return sorted(tuple(row.values()) for row in rows if row["status"] != "failed")


def home_of(study: Path) -> Path:
    return study.parent / "home"


def killed_until_complete(victim: Any, study: Path, chance: random.Random) -> int:
    """Start and kill sessions until one comes to its end; return how many were killed."""
    for kills in range(MOST_SESSIONS):
        code, events = victim.run(study, items=ITEMS, die_at=chance.randrange(STEPS))
        assert events.error is None
        if code != -9:
            assert code == 0
            return kills
    raise AssertionError("the sessions made no progress")


def check_home(study: Path) -> None:
    """Every answer is kept once, and what was set aside has become what was spent."""
    records = [*kept_records(only_folder(home_of(study)))]
    kept = Counter(record.answer_id for record in records if record.status != "failed")
    assert set(kept.values()) == {1}, "an answer was kept twice"
    figures = read_figures(Home(home_of(study)), CAP)
    assert figures.reserved == 0
    assert figures.spent >= sum(record.cost_usd or 0.0 for record in records) - 1e-9


@pytest.mark.parametrize(
    ("provider", "least"),
    [*KILLS.items(), *(pytest.param(*each, marks=pytest.mark.proof) for each in MORE_KILLS.items())],
)
def test_batches_killed_again_and_again_end_as_an_online_run_that_never_was(
    provider, least, victim, tmp_path, monkeypatch
):
    monkeypatch.setenv("CANARY_KEY", "sk-canary-0123456789abcdef")
    monkeypatch.setenv("METACOG_PROGRESS", "quiet")
    chance = random.Random(f"batch kills {provider}")
    kills = 0
    while kills < least:
        with ServerThread(respond) as server:  # a server of its own: the same questions are asked again
            folder = tmp_path / f"killed-{kills}"
            study = written_study(folder, server, provider, "batch")
            server.provider.batches.use(delay_s=0.1, script=["reply_lost", None, "upload_lost", None])
            kills += killed_until_complete(victim, study, chance)
            taken = server.provider.batches.taken.values()
            submitted = Counter(answer for batch in taken for answer in batch.ids)
            assert submitted and set(submitted.values()) == {1}, "a request was submitted twice"
            undisturbed = written_study(tmp_path / f"undisturbed-{kills}", server, provider, "online")
            partition = Partition(load_study(undisturbed), "metamedqa", load_study(undisturbed).models[0], 1)
            todo = [two_steps(f"q{number}") for number in range(ITEMS)]
            assert query_partition(partition, todo, ("text",), fingerprint="f").complete
            assert table(study) == table(undisturbed)
        check_home(study)

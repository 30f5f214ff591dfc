"""A study of one model and 1,373 questions, from its file to its report: processor time beside the peer, and memory."""

import sys
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metamedqa import items
from metacog_pipeline.study import load_study
from tests.conftest import data_file
from tests.performance.peers import HERE, installed
from tests.performance.spending import Spent, spent
from tests.simulated_server import ServerProcess

PEER = "inspect-ai"
QUESTIONS, IN_FLIGHT, PROMPT_BYTES, LATENCY_S = 1373, 100, 1000, 0.2
SHARE, PEAK_MB = 0.5, 700
STUDY = """
[study]
name = "end to end"
home = "home"
budget_usd = 100

[[models]]
name = "one"
provider = "openai"
model = "bench"
base_url = "{url}/v1"
price_in = 0.15
price_out = 0.6
max_concurrency = {in_flight}

[benchmarks.metamedqa]
dataset = "published"
conditions = ["baseline"]
"""

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def peer_python():
    """Return the interpreter of an environment that has the newest release of the peer."""
    return installed(Path(".venv-peers"), PEER, ["--upgrade", PEER, "openai"])


def test_a_study_of_one_model_beside_the_peer(tmp_path, peer_python, figure):
    code = f"from importlib.metadata import version; print(version('{PEER}'))"
    release = spent([peer_python, "-c", code]).done.stdout.strip()
    pairs = [in_turn(tmp_path / str(turn), peer_python) for turn in range(2)]
    ours, theirs = (min(each, key=lambda one: one.seconds) for each in zip(*pairs, strict=True))
    figure(
        f"a study of one model, {QUESTIONS} questions, beside {PEER} {release}, least of two in turn",
        f"≤ {SHARE} of its processor time",
        f"{ours.seconds:.1f} against {theirs.seconds:.1f} s: {ours.seconds / theirs.seconds:.2f}",
        ours.seconds <= SHARE * theirs.seconds,
    )
    said = f"{ours.megabytes:.0f} MB, of {PEER} {theirs.megabytes:.0f} MB"
    figure("the same: peak memory", f"≤ {PEAK_MB} MB", said, ours.megabytes <= PEAK_MB)


def in_turn(folder: Path, peer_python: Path) -> tuple[Spent, Spent]:
    """Return what a study from its file to its report takes, and the peer's questions at the same server."""
    folder.mkdir()
    with ServerProcess(["--latency", str(LATENCY_S), "--text", "Answer: A\nConfidence: 3"]) as server:
        study = folder / "study.toml"
        study.write_text(STUDY.format(url=server.url, in_flight=IN_FLIGHT), encoding="utf-8")
        items.fetch(load_study(study).home, folder=data_file("metamedqa"))
        ours = spent([sys.executable, "-m", "metacog_pipeline", "run", study, "--quiet"])
        script = [HERE / "peer.py", server.url, folder / "peer", QUESTIONS, IN_FLIGHT, PROMPT_BYTES]
        theirs = spent([peer_python, *map(str, script)])
    assert ours.done.returncode == theirs.done.returncode == 0, ours.done.stderr + theirs.done.stderr
    return ours, theirs

"""A study of one model and 1,373 questions, from its file to its report: processor time beside the peer, and memory."""

import sys

import pytest

from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.study import load_study
from tests.conftest import data_file
from tests.performance.peers import HERE, PEER, peer_release
from tests.performance.spending import spent
from tests.simulated_server import ServerProcess

QUESTIONS, IN_FLIGHT, PROMPT_BYTES, LATENCY_S = 1373, 100, 1000, 0.2
SHARE, PEAK_MB = 0.25, 300
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


def test_a_study_of_one_model_beside_the_peer(tmp_path, peer_python, figure):
    answer = "Answer: A\nConfidence: 3"
    with ServerProcess(["--latency", str(LATENCY_S), "--text", answer]) as server:
        study = tmp_path / "study.toml"
        study.write_text(STUDY.format(url=server.url, in_flight=IN_FLIGHT), encoding="utf-8")
        sources.fetch(load_study(study).home, folder=data_file("metamedqa"))
        ours, peak, done = spent([sys.executable, "-m", "metacog_pipeline", "run", study, "--quiet"])
        assert done.returncode == 0, done.stderr
        script = [HERE / "peer.py", server.url, tmp_path / "peer", QUESTIONS, IN_FLIGHT, PROMPT_BYTES]
        theirs, their_peak, done = spent([peer_python, *map(str, script)])
        assert done.returncode == 0, done.stderr
    figure(
        f"a study of one model, {QUESTIONS} questions, beside {PEER} {peer_release(peer_python)}",
        f"≤ {SHARE} of its processor time",
        f"{ours:.1f} against {theirs:.1f} s: {ours / theirs:.2f}",
        ours <= SHARE * theirs,
    )
    said = f"{peak:.0f} MB, of {PEER} {their_peak:.0f} MB"
    figure("the same: peak memory", f"≤ {PEAK_MB} MB", said, peak <= PEAK_MB)

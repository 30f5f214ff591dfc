"""How long scoring MEDLEY instances takes, beside the authors' package on the same triples in the same run."""

import json
import os
import random
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance, instance_from_published
from metacog_pipeline.benchmarks.medley.rules import Triple, panel_of
from metacog_pipeline.benchmarks.medley.scores import score_triples
from tests.performance.peers import PATIENCE_S, installed
from tests.performance.spending import least
from tests.performance.test_medley_board import DATA, LABELS, SENTENCES

pytestmark = pytest.mark.bench

HERE = Path(__file__).parent
PEERS = Path(".venv-peers-medley")
PEER = "medley-bench==0.5.3"
SCORINGS, WARM_UP = 1000, 50
REPEATS, PEER_REPEATS = 5, 2
CPU_S, TIMES_QUICKER = 0.25, 15


def answer(draw: random.Random, sentences: int) -> dict[str, Any]:
    def text(count: int) -> str:
        chosen = (draw.choice(SENTENCES) for _ in range(count))
        return " ".join(
            s.format(claim=f"C{draw.randint(1, 5)}", analyst=draw.choice("ABCDEFGH")) for s in chosen
        )

    items = [
        {"claim_id": f"C{n}", "confidence": draw.choice(LABELS), "reasoning": text(sentences)}
        for n in range(1, 6)
    ]
    return {"assessment": text(2), "claim_level_assessments": items}


@pytest.fixture(scope="module")
def work():
    """What is scored, as JSON: instances, consensus, wrong claims, triples."""
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: the published instances are needed")
    published = [
        (instance, consensus[instance["instance_id"]])
        for domain in DOMAINS
        for consensus in [json.loads((DATA / "consensus" / f"{domain}.json").read_text())]
        for instance in json.loads((DATA / "instances" / f"{domain}.json").read_text())
    ]
    wrong = json.loads((DATA / "consensus_verified_wrong.json").read_text())
    draw = random.Random(4)
    chosen = [published[n % len(published)] for n in range(SCORINGS)]
    return {
        "instances": [instance for instance, _ in chosen],
        "consensus": [consensus for _, consensus in chosen],
        "wrong": [wrong.get(instance["instance_id"], []) for instance, _ in chosen],
        "triples": [[answer(draw, 1), answer(draw, 1), answer(draw, 2)] for _ in chosen],
    }


@pytest.fixture(scope="module")
def ours(work):
    known: dict[str, Instance] = {}
    for given, consensus, wrong in zip(work["instances"], work["consensus"], work["wrong"], strict=True):
        if given["instance_id"] not in known:
            known[given["instance_id"]] = instance_from_published(given, consensus, verified_wrong=wrong)
    return [known[given["instance_id"]] for given in work["instances"]], [Triple(*t) for t in work["triples"]]


@pytest.fixture(scope="module")
def peer_python():
    """Return the interpreter of an environment that has the peer, with the versions of NumPy and SciPy used here."""
    same = [f"{name}=={version(name)}" for name in ("numpy", "scipy")]
    # Its clients of model providers take no part in scoring.
    return installed(PEERS, PEER, same, ["--no-deps", PEER])


def test_a_thousand_instances_are_scored(ours, figure):
    cold = least(lambda: score_triples(*ours), REPEATS, panel_of.cache_clear)
    what = f"{SCORINGS:,} MEDLEY scorings of instances never seen before"
    figure(what, f"≤ {CPU_S} s CPU", f"{cold:.3f} s", cold <= CPU_S)


def test_scoring_beside_the_authors_package(work, ours, peer_python, tmp_path, figure):
    file = tmp_path / "work.json"
    file.write_text(json.dumps(work))
    command = [str(peer_python), str(HERE / "medley_peer.py"), str(file), str(WARM_UP)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    runs = []
    for _ in range(PEER_REPEATS):
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    theirs = min(run["cpu_s"] for run in runs)
    score_triples(*(part[:WARM_UP] for part in ours))
    own = least(lambda: score_triples(*ours), REPEATS)
    assert np.abs(score_triples(*ours)["mms"] - runs[0]["totals"]).max() <= 1e-9
    figure(
        f"the same beside {PEER.replace('==', ' ')}, equal totals",
        f"≥ {TIMES_QUICKER}× quicker",
        f"{own:.3f} s against {theirs:.2f} s: {theirs / own:.0f}×",
        theirs >= TIMES_QUICKER * own,
    )

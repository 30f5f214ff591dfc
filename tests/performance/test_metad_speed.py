"""How long fits of meta-d' take, one beside metadpy on the same counts in the same run."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from metacog_pipeline.stats.counts import padded
from metacog_pipeline.stats.mafc import fit as mafc
from metacog_pipeline.stats.metad import fit_metad
from tests.observers import simulate
from tests.performance.peers import PATIENCE_S, installed
from tests.performance.spending import least

pytestmark = pytest.mark.bench

PEER = "metadpy==0.1.2"
# Its package imports ArviZ without asking for it, and not the newest.
PEER_NEEDS = "arviz<1"
PEERS = Path(".venv-peers-metadpy")
PEER_FITS, PEER_LIMIT_S = 15, 60
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
THOUSAND_S, ALTERNATIVES_S, TIMES = 0.06, 0.35, 60


@pytest.fixture(scope="module")
def thousand():
    """Padded counts of observers of different sensitivity, efficiency and criterion."""
    rng, steps = np.random.default_rng(1), np.arange(1, 4) * 0.4
    d, ratio, c = (rng.uniform(*ends, 1000) for ends in ((0.8, 2.4), (0.5, 1.1), (-0.4, 0.4)))
    middle = (ratio * c)[:, None]
    return padded(simulate(d, ratio, c, middle - steps[::-1], middle + steps, 1000, seed=1))


@pytest.fixture(scope="module")
def peer_python():
    """Return the interpreter of an environment that has the peer."""
    return installed(PEERS, PEER, [PEER, PEER_NEEDS])


def test_a_thousand_fits(thousand, figure):
    seconds, fit = least(lambda: fit_metad(thousand), 5), fit_metad(thousand)
    assert fit.ok.all() and fit.gradient.max() < 1e-9
    figure("1,000 fits of meta-d', K = 4", f"≤ {THOUSAND_S} s CPU", f"{seconds:.3f} s", seconds <= THOUSAND_S)


def test_a_thousand_fits_of_four_alternatives(figure):
    rng = np.random.default_rng(0)
    hits = rng.binomial(1000, rng.uniform(0.5, 0.95, 1000))
    shares = (0.08, 0.12, 0.2, 0.25, 0.35), (0.3, 0.25, 0.2, 0.15, 0.1)
    right, wrong = (rng.multinomial(n, each) for n, each in zip((hits, 1000 - hits), shares, strict=True))
    mafc.fit(right[:1], wrong[:1], 4)
    seconds = least(lambda: mafc.fit(right, wrong, 4), 5)
    assert (mafc.fit(right, wrong, 4).status == "ok").all()
    what, target = "1,000 fits of m alternatives, K = 5", f"≤ {ALTERNATIVES_S} s CPU"
    figure(what, target, f"{seconds:.3f} s", seconds <= ALTERNATIVES_S)


def test_one_fit_beside_the_peer(thousand, peer_python, tmp_path, figure):
    pad = 0.125
    raw = [(side[:PEER_FITS] - pad).round().tolist() for side in (thousand.n_s1, thousand.n_s2)]
    source = tmp_path / "counts.json"
    source.write_text(json.dumps({"n_s1": raw[0], "n_s2": raw[1], "pad": pad}))
    script = Path(__file__).with_name("peer_metadpy.py")
    command = [str(peer_python), str(script), str(source), str(PEER_LIMIT_S)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **ONE_CORE}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_allclose(theirs["meta_d"], fit_metad(thousand).meta_d1[theirs["cells"]], atol=1e-4)
    one = thousand.take([0])
    fit_metad(one)
    ours, each = least(lambda: [fit_metad(one) for _ in range(10)], 20) / 10, theirs["cpu_s"] / theirs["fits"]
    figure(
        f"one fit of meta-d', K = 4, beside metadpy {theirs['version']}",
        f"≥ {TIMES} times as fast",
        f"{1000 * ours:.2f} against {1000 * each:.0f} ms CPU ({theirs['fits']} fits): {each / ours:,.0f} times",
        each >= TIMES * ours,
    )

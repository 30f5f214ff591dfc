"""How long fits and bootstraps of meta-d' take, and beside metadpy on the same counts in the same run."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from metacog_pipeline.stats.counts import padded
from metacog_pipeline.stats.mafc import fit as mafc
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.observers import simulate
from tests.performance.peers import PATIENCE_S, installed
from tests.performance.timing import least

pytestmark = pytest.mark.bench

Figure = Callable[[str, str, str, bool], None]

PEER = "metadpy==0.1.2"
# Its package imports ArviZ without asking for it, and not the newest.
PEER_NEEDS = "arviz<1"
PEERS = Path(".venv-peers-metadpy")
PEER_FITS, PEER_LIMIT_S = 15, 60
RATIO = 1000
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def observers(cells, ratings, n):
    """Simulate observers of different sensitivity, efficiency and criterion."""
    rng = np.random.default_rng(1)
    d, ratio, c = rng.uniform(0.8, 2.4, cells), rng.uniform(0.5, 1.1, cells), rng.uniform(-0.4, 0.4, cells)
    steps = np.arange(1, ratings) * 1.6 / ratings
    middle = (ratio * c)[:, None]
    return simulate(d, ratio, c, middle - steps[::-1], middle + steps, n, seed=1)


@pytest.fixture(scope="module")
def thousand():
    return padded(observers(1000, 4, 1000))


@pytest.fixture(scope="module")
def peer_python():
    """Return the interpreter of an environment that has the peer."""
    return installed(PEERS, PEER, [PEER, PEER_NEEDS])


def test_one_fit(thousand, figure):
    one = thousand.take([0])
    fit_metad(one)
    seconds = least(lambda: [fit_metad(one) for _ in range(10)], 40) / 10
    figure("one fit of meta-d', K = 4", "< 2 ms", f"{1000 * seconds:.2f} ms", seconds < 2e-3)


def test_a_thousand_fits(thousand, figure):
    seconds = least(lambda: fit_metad(thousand), 5)
    figure("1,000 fits of meta-d', K = 4", "< 0.15 s", f"{seconds:.3f} s", seconds < 0.15)


def test_ten_thousand_fits(figure):
    table = padded(observers(10_000, 4, 1000))
    seconds = least(lambda: fit_metad(table), 2)
    fit = fit_metad(table)
    assert fit.ok.all()
    assert fit.gradient.max() < 1e-9
    figure("10,000 fits of meta-d', K = 4", "< 1.5 s", f"{seconds:.2f} s, all converged", seconds < 1.5)


def test_a_thousand_fits_of_four_alternatives(figure):
    rng = np.random.default_rng(0)
    hits = rng.binomial(1000, rng.uniform(0.5, 0.95, 1000))
    shares = (0.08, 0.12, 0.2, 0.25, 0.35), (0.3, 0.25, 0.2, 0.15, 0.1)
    right, wrong = (rng.multinomial(n, each) for n, each in zip((hits, 1000 - hits), shares, strict=True))
    mafc.fit(right[:1], wrong[:1], 4)
    seconds = least(lambda: mafc.fit(right, wrong, 4), 5)
    assert (mafc.fit(right, wrong, 4).status == "ok").all()
    figure("1,000 fits of m alternatives, K = 5", "< 0.5 s CPU", f"{seconds:.3f} s", seconds < 0.5)


def test_beside_the_peer(thousand, peer_python, tmp_path, figure):
    """The peer's time for some of the same counts, scaled to 1,000; it pads by what it is given."""
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
    assert theirs["fits"] > 0
    ours_meta_d = fit_metad(thousand).meta_d1[theirs["cells"]]
    np.testing.assert_allclose(theirs["meta_d"], ours_meta_d, atol=1e-4)
    ours, each = least(lambda: fit_metad(thousand), 5), theirs["cpu_s"] / theirs["fits"]
    ratio = 1000 * each / ours
    basis = f"{theirs['fits']} fits, scaled; {theirs['failed']} failed"
    figure(
        f"1,000 fits of meta-d', K = 4, beside metadpy {theirs['version']}",
        f"≥ {RATIO:,} times as fast",
        f"{ours:.3f} s against {1000 * each:.0f} s CPU ({basis}): {ratio:,.0f} times",
        ratio >= RATIO,
    )

"""How long the posterior of a published cell takes, and the same cell under JAGS where that is installed."""

import csv
import resource
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from metacog_pipeline.stats.bayes.diagnostics import of_each
from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.counts import counts
from tests.performance import jags_metad

pytestmark = pytest.mark.bench

ROOT = Path(__file__).resolve().parents[2]
COUNTS = ROOT / "data" / "published" / "signaldetection" / "counts.csv"
SECONDS, ESS, TIMES = 5.0, 2000, 60
# JAGS with the reference's settings; the first cell is one of the two on which these chains converge.
CHAINS, BURN_IN, DRAWS = 3, 1000, 10_000


def cells():
    with COUNTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    vectors = ("nR_S1", "nR_S2")
    return {
        f"{row['task']} {row['model']}": [[int(n) for n in row[name].split(";")] for name in vectors]
        for row in rows
    }


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module", autouse=True)
def warm():
    bayes_metad(counts([4, 3, 2, 1], [1, 2, 3, 4]), seed=0, draws=10, rounds=1)


def test_every_published_cell_in_seconds(figure):
    taken, sizes = {}, {}
    for name, cell in cells().items():
        before = time.perf_counter()
        posterior = bayes_metad(counts(*cell), seed=1, label=name)
        taken[name] = time.perf_counter() - before
        assert posterior.converged, (name, posterior.reason)
        sizes[name] = min(row.ess_bulk for row in posterior.diagnostics.values())
    slowest, least = max(taken.values()), min(sizes.values())
    figure(
        f"Bayesian meta-d′ of each of {len(taken)} published cells (10,000 to 20,000 trials)",
        f"< {SECONDS:g} s each, bulk ESS ≥ {ESS:,} for every parameter",
        f"{np.median(list(taken.values())):.2f} s median, {slowest:.2f} s slowest; least ESS {least:,.0f}",
        slowest < SECONDS and least >= ESS,
    )


def test_effective_draws_a_second_beside_jags(figure, tmp_path):
    if shutil.which("jags") is None:
        pytest.skip("jags is not installed (Debian: apt install jags)")
    name, cell = next(iter(cells().items()))
    before = children_s()
    draws, names = jags_metad.run(tmp_path, *cell, CHAINS, BURN_IN, DRAWS)
    theirs_s = children_s() - before
    theirs = dict(zip(names, of_each(draws)[1], strict=True))
    before = time.process_time()
    posterior = bayes_metad(counts(*cell), seed=1, label=name)
    ours_s = time.process_time() - before
    ours = {key: row.ess_bulk for key, row in posterior.diagnostics.items()}
    means = dict(zip(names, draws.mean(axis=(0, 1)), strict=True))
    summary = posterior.summary()
    # The same posterior, or the comparison is of two different things.
    for own, other in (("d1", "d1"), ("meta_d", "meta"), ("c1", "c1")):
        error = summary[own].sd / np.sqrt(theirs[other])
        assert abs(summary[own].mean - means[other]) < 6 * error + 1e-3, own
    least, meta = min(theirs, key=theirs.__getitem__), theirs["meta"] / theirs_s
    times = min(ours.values()) / ours_s / (theirs[least] / theirs_s)
    times_meta = ours["meta_d"] / ours_s / meta
    figure(
        f"effective draws per CPU second, {name}, beside JAGS ({CHAINS} × {BURN_IN:,} + {DRAWS:,})",
        f"≥ {TIMES} × for meta-d and for the slowest parameter",
        f"meta-d {ours['meta_d'] / ours_s:,.0f}/s against {meta:,.0f}/s ({times_meta:,.0f} ×); slowest parameter "
        f"{min(ours.values()) / ours_s:,.0f}/s against {theirs[least] / theirs_s:,.0f}/s ({times:,.0f} ×, {least}; "
        f"R̂ of JAGS {of_each(draws)[0].max():.3f})",
        min(times, times_meta) >= TIMES,
    )

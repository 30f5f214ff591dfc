"""How long `metacog fit` takes for a million trials of 33 models, everything in: start, reading, measures, resamples."""

import resource
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

pytestmark = pytest.mark.bench

TRIALS, MODELS = 1_000_000, 33
FIT = ("fit", "--group", "model", "--bootstrap", "1000", "--format", "csv", "--quiet")
CHOICES = ("--correct", "ok", "--confidence", "conf", "--alternatives", "4", "--scale", "0..100")
REALS = ("--correct", "ok", "--confidence", "six", "--alternatives", "4", "--scale", "0..1")
BINARY = ("--stimulus", "stim", "--response", "resp", "--confidence", "rating")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    model = np.arange(TRIALS) % MODELS
    ok = (rng.random(TRIALS) < 0.6 + 0.01 * model).astype(int)
    share = np.clip(rng.normal(0.5 + 0.2 * ok, 0.2), 0, 1)
    conf = np.round(100 * share).astype(int)
    stim = rng.integers(0, 2, TRIALS)
    frame = {"model": [f"model-{each}" for each in model], "ok": ok, "conf": conf, "rating": conf // 21 + 1}
    path = tmp_path_factory.mktemp("fit") / "trials.csv"
    frame["six"] = np.round(share, 6)
    pl.DataFrame({**frame, "stim": stim, "resp": np.where(ok == 1, stim, 1 - stim)}).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("options", "most"),
    [(CHOICES, 15), (REALS, 15), (BINARY, 15)],  # of which 2 to 4 s are reading, row by row
    ids=["choices", "choices of six decimals", "binary"],
)
def test_a_million_trials_of_33_models_with_a_thousand_resamples(table, options, most, figure, request):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-c",
        "from metacog_pipeline.cli import main; main()",
        *FIT,
        str(table),
        *options,
    ]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert len({line.split(",")[0] for line in made.stdout.splitlines()[1:]}) == MODELS
    what = f"metacog fit of 1e6 trials, 33 models, 1,000 resamples, {request.node.callspec.id}"
    figure(what, f"< {most} s CPU", f"{seconds:.1f} s", seconds < most)

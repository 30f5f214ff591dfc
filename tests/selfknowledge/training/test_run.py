"""A run is one trajectory: stopped and gone on with, from any checkpoint, from its log alone; one that is dead says why."""

import errno
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from metacog_pipeline.benchmarks.selfknowledge.training import figures
from metacog_pipeline.benchmarks.selfknowledge.training import run as runs
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts
from metacog_pipeline.benchmarks.selfknowledge.training.run import (
    Plan,
    Stalled,
    checkpoint,
    checkpoints,
    read_log,
    train,
)
from metacog_pipeline.benchmarks.selfknowledge.training.weights import read_tensors, write_tensors
from metacog_pipeline.benchmarks.selfknowledge.training.worker import MASTER, Worker
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from tests.selfknowledge.training.conftest import COUNTS, Numbers
from tests.tables import every

SETTINGS = Settings(sigma=0.02, alpha=0.05, population=6, generations=6, antithetic=True, seed=3)


def bowl(size=200, dtype=torch.float32):
    """A quadratic: numbers that should all be 1."""
    return Numbers(torch.zeros(size, dtype=dtype), lambda x, t: -(x.float() - 1).square().sum())


def still(dies, counts=COUNTS):
    """Numbers whose fitness is the same for all from generation ``dies`` on."""
    return Numbers(torch.zeros(20), lambda x, t: 1.0 if t >= dies else x.sum(), counts)


def run(folder, model=None, settings=SETTINGS, plan=(), **options):
    kept = Plan(folder, **{"checkpoint_every": 2, "evaluate_every": 3, **dict(plan)})
    return train(settings, kept, Worker(model or bowl()), **options)


def digests(folder):
    return [commit.digest for commit, _ in read_log(folder)]


def changed(**values):
    return SETTINGS.model_copy(update=values)


@pytest.fixture
def whole(tmp_path):
    run(tmp_path / "whole")
    return tmp_path / "whole"


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_run_cut_short_goes_on_as_if_it_had_not(whole, tmp_path, stop):
    def fall_over(done):
        if done == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", done=fall_over)
    with (tmp_path / "run" / "commits.jsonl").open("ab") as file:
        file.write(b'{"t": 9, "torn')
    run(tmp_path / "run")
    assert digests(tmp_path / "run") == digests(whole)
    kept = [pl.read_parquet(each / runs.CURVES).drop("seconds") for each in (tmp_path / "run", whole)]
    assert kept[0].equals(kept[1])


@pytest.mark.parametrize("updates", [0, 2, 4])
def test_from_any_checkpoint_and_from_the_log_alone_the_weights_are_the_same(whole, updates):
    for each in checkpoints(whole)[:-1]:
        if each != updates:
            shutil.rmtree(checkpoint(whole, each))
    before = load_file(checkpoint(whole, 6) / "model.safetensors")
    shutil.rmtree(checkpoint(whole, 6))
    (whole / "checkpoints" / ".000006.torn").mkdir()
    run(whole)
    assert torch.equal(load_file(whole / "last" / "model.safetensors")["x"], before["x"])
    assert not list((whole / "checkpoints").glob(".*"))


def test_checkpoints_hold_the_weights_after_the_update_and_the_last_is_always_there(whole, tmp_path):
    assert checkpoints(whole) == [2, 4, 6]
    run(tmp_path / "odd", settings=changed(generations=5))
    assert checkpoints(tmp_path / "odd") == [2, 4, 5]
    last = Worker(bowl()).load(tmp_path / "odd" / "last")
    assert last == digests(tmp_path / "odd")[-1] == digests(whole)[4]


def test_a_run_can_be_made_longer_and_any_other_change_is_refused(whole, tmp_path):
    run(tmp_path / "run", settings=changed(generations=4))
    run(tmp_path / "run")
    assert digests(tmp_path / "run") == digests(whole)
    other = Numbers(torch.ones(200), bowl().fitness)
    for model, settings in ((None, changed(sigma=0.5)), (None, changed(generations=3)), (other, SETTINGS)):
        with pytest.raises(StudyError, match="holds a run of other settings"):
            run(whole, model, settings)
    with pytest.raises(StudyError, match="holds a run of other"):
        run(whole, plan={"about": {"questions": "others"}})


def test_only_a_folder_that_is_empty_or_that_a_run_had_begun_is_taken(tmp_path):
    for name, left in (
        ("full", {"notes.txt": "mine"}),
        ("begun", {"commits.jsonl": "", ".run.json.x.tmp": "{"}),
    ):
        (tmp_path / name).mkdir()
        for file, text in left.items():
            (tmp_path / name / file).write_text(text)
    with pytest.raises(StudyError, match="no run"):
        run(tmp_path / "full")
    assert run(tmp_path / "begun").is_dir()


def test_a_changed_log_or_checkpoint_is_noticed(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "copy", symlinks=True)
    lines = (whole / "commits.jsonl").read_text().splitlines()
    other = json.loads(lines[5])
    other["z"][0] += 1e-3
    (whole / "commits.jsonl").write_text("\n".join([*lines[:5], json.dumps(other), ""]))
    shutil.rmtree(checkpoint(whole, 6))
    with pytest.raises(StoreError, match="replaying 2 generations"):
        run(whole)
    path = checkpoint(tmp_path / "copy", 6) / "model.safetensors"
    write_tensors(path, {name: tensor + 1e-3 for name, tensor in read_tensors(path).items()})
    with pytest.raises(StoreError, match="were changed"):
        run(tmp_path / "copy")
    (tmp_path / "copy" / "commits.jsonl").write_text('{"t": 0}\n')
    with pytest.raises(StoreError, match="line 1"):
        run(tmp_path / "copy")
    (tmp_path / "copy" / "run.json").write_text("{")
    with pytest.raises(StoreError, match="not readable"):
        run(tmp_path / "copy")


def test_the_learning_curve_has_a_row_per_update_and_null_where_nothing_is_defined(whole):
    table = pl.read_parquet(whole / runs.CURVES)
    assert table["updates"].to_list() == list(range(7))
    assert table["held_out_n"].to_list() == [8, None, None, 8, None, None, 8]
    assert table["reward"].null_count() == 1
    assert table["reward"][6] > table["reward"][1]
    nobody = figures.Generation(1, [1.0, 1.0], Counts(4, 0, 0, 0), Counts(4, 0, 0, 0), 0.0, 1.0)
    numbers = nobody.numbers()
    assert numbers["d_type2"] is numbers["yfr"] is numbers["held_out_d_type2"] is None
    assert numbers["d_type2_status"] in nobody.line()


def test_a_population_of_two_works_and_bfloat16_goes_on_from_its_float32_master(tmp_path):
    run(tmp_path / "two", settings=Settings(sigma=0.02, alpha=0.05, population=2, generations=4))
    z = [value for commit, _ in read_log(tmp_path / "two") for value in commit.z]
    assert all(abs(value) == pytest.approx(math.sqrt(0.5), rel=1e-3) for value in z)
    small = bowl(dtype=torch.bfloat16)
    run(tmp_path / "whole", small, changed(alpha=1e-3))
    run(tmp_path / "cut", small, changed(alpha=1e-3, generations=4))
    run(tmp_path / "cut", small, changed(alpha=1e-3))
    assert digests(tmp_path / "cut") == digests(tmp_path / "whole")
    assert load_file(tmp_path / "cut" / "last" / "model.safetensors")["x"].dtype == torch.bfloat16
    assert (tmp_path / "cut" / "last" / MASTER).is_file()


def test_weights_of_16_bits_that_overflow_end_the_run_in_one_line_and_are_not_kept(tmp_path):
    start = torch.full((20,), 6e4, dtype=torch.float16)
    slope = Numbers(start, lambda x, t: x.float().clamp(max=65_000).sum())
    with pytest.raises(MetacogError, match=r"generation \d+: weights of 16 bits .* take a smaller alpha"):
        run(tmp_path / "run", slope, changed(sigma=100.0, alpha=1000.0, generations=50))
    assert all(math.isfinite(value) for commit, _ in read_log(tmp_path / "run") for value in commit.fitness)


def test_a_full_disk_is_one_line_and_what_was_done_is_gone_on_with(whole, tmp_path, monkeypatch):
    def full(self, folder):
        raise OSError(errno.ENOSPC, "No space left on device", str(folder))

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "save", full)
        with pytest.raises(
            StoreError, match="No space left on device; free space, then run the same command"
        ):
            run(tmp_path / "run")
        assert not list((tmp_path / "run" / "checkpoints").iterdir())
    run(tmp_path / "run")
    assert digests(tmp_path / "run") == digests(whole)


def test_a_run_that_does_not_move_stops_and_nothing_is_lost(tmp_path):
    settings, heard = Settings(sigma=0.1, alpha=0.1, population=4, generations=12), []
    with pytest.raises(Stalled, match=r"after 7 of 12 generations, as the last 5 .* larger sigma") as error:
        run(tmp_path / "r", still(2), settings, tell=heard.append)
    assert "patience = 0" in str(error.value)
    assert checkpoints(tmp_path / "r") == [2, 4, 6, 7]
    assert [each.norm == 0 for each in heard] == [False] * 2 + [True] * 5
    with pytest.raises(Stalled):  # again, without asking anything
        run(tmp_path / "r", still(2), settings)
    run(tmp_path / "r", still(2), settings, {"patience": 0})
    run(tmp_path / "whole", still(2), settings, {"patience": 0})
    assert digests(tmp_path / "r") == digests(tmp_path / "whole")


@every(
    ("counts", "reward", "base", "said"),
    [
        (Counts(8, 0, 0, 0, 0), "joint", None, "no answer was right"),
        (Counts(8, 3, 0, 0, 0), "joint", None, "no reply could be read"),
        (Counts(8, 3, 0, 0, 0), "direct", None, "larger sigma"),
        (Counts(8, 3, 0, 0, 8), "joint", None, "every reply says no"),
        (Counts(8, 3, 8, 3, 8), "meta", None, "every reply says yes"),
        (Counts(8, 8, 3, 3), "joint", None, "every answer was right"),
        (Counts(8, 4, 3, 2), "joint", None, "larger sigma"),
        (Counts(8, 0, 0, 0, 0), "joint", Counts(9, 4, 2, 1), "though the base has 4 of 9 right"),
        (Counts(8, 3, 0, 0, 0), "joint", Counts(9, 0, 2, 0, 5), "though 5 of 9 of the base can"),
        (Counts(8, 3, 8, 3, 8), "joint", Counts(9, 3, 2, 1, 9), "the base says both: noise of sigma = 0.1"),
    ],
)
def test_the_cause_of_a_dead_run_is_named(counts, reward, base, said):
    assert said in figures.cause(counts, reward, 0.1, base)


def test_the_interval_of_a_generation_counts_each_question_once_and_rates_of_0_or_1_are_marked():
    assert "correction" in figures.estimates(Counts(77, 1, 4, 1))["d_type2"].status
    one, many = (figures.estimates(Counts(100 * k, 40 * k, 50 * k, 30 * k), k)["d_type2"] for k in (1, 32))
    assert (one.high - one.low) / (many.high - many.low) == pytest.approx(1, abs=0.03)


@pytest.mark.proof
def test_killed_at_twenty_points_of_its_writing_a_run_ends_as_if_it_had_not_been(tmp_path):
    script = Path(__file__).with_name("kill_and_resume.py")
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(words, env=path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["points"]) == 20
    assert found["different"] == []

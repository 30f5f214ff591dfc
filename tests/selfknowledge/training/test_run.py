"""A run is one trajectory: however many workers, stopped and gone on with, from any checkpoint, or from its log alone."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training import curves
from metacog_pipeline.benchmarks.selfknowledge.training.engines.processes import processes
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, Tried, objective
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, train
from metacog_pipeline.benchmarks.selfknowledge.training.tensors import MASTER, read_tensors, write_tensors
from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import train_base
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import ToyRecipe, save_toy
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from tests.selfknowledge.training.conftest import numbers
from tests.tables import every

SETTINGS = Settings(sigma=0.02, alpha=0.01, population=6, batch=64, generations=6, antithetic=True, seed=3)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("base")
    save_toy(train_base(build_world(0), 0, steps=30), folder)
    return folder


@pytest.fixture(scope="module")
def whole(base, tmp_path_factory):
    """An uninterrupted run in this process."""
    return run(base, tmp_path_factory.mktemp("runs") / "whole")


def run(base, folder, settings=SETTINGS, engine=None, **options):
    engine = engine or Worker(ToyRecipe(0, base, settings))
    try:
        return train(settings, Plan(folder, 2, 3), engine, **options)
    finally:
        engine.close()


def digests(folder):
    return [each.commit.digest for each in Log(folder).read()]


@pytest.mark.proof
def test_two_processes_give_the_trajectory_of_one_bit_for_bit(base, whole, tmp_path):
    pair = processes(ToyRecipe(0, base, SETTINGS), 2, tmp_path / "scratch")
    found = run(base, tmp_path / "run", engine=pair)
    assert digests(found.folder) == digests(whole.folder)
    a, b = (load_file(each.checkpoint / "model.safetensors") for each in (found, whole))
    assert all(torch.equal(a[name], b[name]) for name in a)
    fitness = [[each.commit.fitness for each in Log(each.folder).read()] for each in (found, whole)]
    assert fitness[0] == fitness[1]


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_catches_up(base, whole, tmp_path):
    pair = processes(ToyRecipe(0, base, SETTINGS), 2)

    def kill_one(done):
        if done in (2, 4):
            os.kill(pair._workers[done // 4].process.pid, signal.SIGKILL)

    found = run(base, tmp_path / "run", engine=pair, done=kill_one)
    assert digests(found.folder) == digests(whole.folder)


def test_an_error_in_a_worker_is_told(base, tmp_path):
    with pytest.raises(MetacogError, match=r"model\.safetensors"):
        processes(ToyRecipe(0, tmp_path / "nothing", SETTINGS), 2)


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_run_cut_short_goes_on_as_if_it_had_not(base, whole, tmp_path, stop):
    def fall_over(done):
        if done == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(base, tmp_path / "run", done=fall_over)
    with (tmp_path / "run" / "commits.jsonl").open("ab") as file:
        file.write(b'{"t": 9, "torn')
    found = run(base, tmp_path / "run", resume=True)
    assert digests(found.folder) == digests(whole.folder)
    assert found.digest == whole.digest
    kept = [pl.read_parquet(each.folder / curves.FILE).drop("seconds") for each in (found, whole)]
    assert kept[0].equals(kept[1])


@pytest.mark.parametrize("updates", [0, 2, 4, 6])
def test_from_any_checkpoint_the_trajectory_is_the_same(base, whole, tmp_path, updates):
    copy = tmp_path / "run"
    shutil.copytree(whole.folder, copy, symlinks=True)
    found = run(base, copy, resume=True, from_checkpoint=updates)
    assert digests(copy) == digests(whole.folder)
    assert found.digest == whole.digest


def test_the_log_alone_gives_every_checkpoint(base, whole):
    worker = Worker(ToyRecipe(0, base, SETTINGS))
    done = 0
    for updates in Log(whole.folder).checkpoints():
        worker.replay([each.commit for each in Log(whole.folder).read()[done:updates]])
        done = updates
        kept = load_file(Log(whole.folder).checkpoint(updates) / "model.safetensors")
        assert all(torch.equal(kept[name], tensor) for name, tensor in worker.weights.master().items())
    assert done == SETTINGS.generations


def test_checkpoints_hold_the_weights_after_the_update_and_the_last_is_always_there(base, whole, tmp_path):
    assert Log(whole.folder).checkpoints() == [2, 4, 6]
    odd = run(base, tmp_path / "run", replace(SETTINGS, generations=5))
    assert Log(odd.folder).checkpoints() == [2, 4, 5]
    worker = Worker(ToyRecipe(0, base, SETTINGS))
    assert worker.load(Log(odd.folder).checkpoint(5)) == digests(odd.folder)[-1] == digests(whole.folder)[4]


def test_a_constant_run_can_be_made_longer(base, whole, tmp_path):
    run(base, tmp_path / "run", replace(SETTINGS, generations=4))
    found = run(base, tmp_path / "run", resume=True)
    assert digests(found.folder) == digests(whole.folder)


def test_what_is_not_the_same_run_is_refused(base, whole, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(whole.folder, copy, symlinks=True)
    with pytest.raises(StudyError, match="holds a run"):
        run(base, copy)
    with pytest.raises(StudyError, match=r"sigma = 0\.02, not 0\.5"):
        run(base, copy, replace(SETTINGS, sigma=0.5), resume=True)
    with pytest.raises(StudyError, match="6 generations"):
        run(base, copy, replace(SETTINGS, generations=3), resume=True)
    other = tmp_path / "base"
    save_toy(train_base(build_world(0), 1, steps=1), other)
    with pytest.raises(StudyError, match="began with weights"):
        run(other, copy, resume=True)
    with pytest.raises(StudyError, match="no run"):
        run(base, other)
    with pytest.raises(StudyError, match="no checkpoint after 3"):
        run(base, copy, resume=True, from_checkpoint=3)


def test_a_changed_log_or_checkpoint_is_noticed(base, whole, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(whole.folder, copy, symlinks=True)
    lines = (copy / "commits.jsonl").read_text().splitlines()
    changed = json.loads(lines[5])
    changed["z"][0] += 1e-3
    (copy / "commits.jsonl").write_text("\n".join([*lines[:5], json.dumps(changed), ""]))
    shutil.rmtree(copy / "checkpoints" / "000006")
    with pytest.raises(StoreError, match="replaying"):
        run(base, copy, resume=True)
    shutil.copytree(whole.folder, tmp_path / "again", symlinks=True)
    write_tensors(
        tmp_path / "again" / "checkpoints" / "000006" / "model.safetensors",
        {n: t + 1e-3 for n, t in read_tensors(whole.checkpoint / "model.safetensors").items()},
    )
    with pytest.raises(StoreError, match="were changed"):
        run(base, tmp_path / "again", resume=True)
    (tmp_path / "again" / "commits.jsonl").write_text('{"t": 0}\n')
    with pytest.raises(StoreError, match="line 1"):
        run(base, tmp_path / "again", resume=True)


def test_curves_have_a_row_per_generation_and_null_where_nothing_is_defined(whole):
    table = pl.read_parquet(whole.folder / curves.FILE)
    assert table["updates"].to_list() == list(range(7))
    assert table["held_out_n"].to_list() == [308, None, None, 308, None, None, 308]
    assert table["reward_mean"][0] is None
    assert table["n"][1:].to_list() == [6 * 64] * 6
    assert curves.measures(EpisodeReward(0, 0, 0, 0)) == dict.fromkeys(curves.MEASURES)
    nobody = curves.measures(EpisodeReward(4, 0, 0, 0))
    assert nobody["yfr"] is None
    assert nobody["d_type2"] is None  # nothing was right: the benchmark calls it undefined
    assert curves.measures(EpisodeReward(4, 2, 1, 1))["d_type2"] is not None


@dataclass(frozen=True)
class Bowl:
    """A quadratic: P numbers that should all be 1."""

    size: int
    dtype: torch.dtype = torch.float32
    flat: bool = False
    threads: int = 1

    def build(self):
        def fitness(x, t):
            return Tried(0.0 if self.flat else -float((x.float() - 1).square().sum()))

        return numbers(torch.zeros(self.size, dtype=self.dtype), fitness)


@dataclass(frozen=True)
class Slope:
    """Numbers of 16 bits near their largest, the larger the better."""

    threads: int = 1

    def build(self):
        start = torch.full((20,), 6e4, dtype=torch.float16)
        return numbers(start, lambda x, t: Tried(float(x.float().clamp(max=65_000).sum())))


def bowl(tmp_path, bowl, **changed):
    settings = Settings(**{"sigma": 0.02, "alpha": 0.05, "population": 32, "generations": 300, **changed})
    worker = Worker(bowl)
    found = train(settings, Plan(tmp_path / "run", 0), worker)
    return worker, found


@pytest.mark.parametrize("shaping", ["zscore", "ranks"])
def test_a_quadratic_of_a_thousand_dimensions_goes_down(tmp_path, shaping):
    worker, _ = bowl(tmp_path, Bowl(1000), shaping=shaping, alpha=0.05 if shaping == "zscore" else 0.15)
    loss = -worker.trainee.fitness(worker.trainee.model, 0).fitness
    # Each step goes alpha / sqrt(N P) · |gradient direction| towards the minimum; 1000 at the start.
    assert loss < 500


def test_equal_fitness_changes_nothing(tmp_path):
    worker, found = bowl(tmp_path, Bowl(50, flat=True), generations=3)
    assert torch.equal(worker.trainee.model.x, torch.zeros(50))
    assert len(set(digests(found.folder))) == 1
    assert all(each.commit.z == (0.0,) * 32 for each in Log(found.folder).read())


def test_weights_of_16_bits_that_overflow_end_the_run_in_one_line_and_are_not_kept(tmp_path):
    with pytest.raises(MetacogError, match=r"generation \d+: weights of 16 bits .* take a smaller --alpha"):
        bowl(tmp_path, Slope(), sigma=100.0, alpha=1000.0)
    fitness = [value for each in Log(tmp_path / "run").read() for value in each.commit.fitness]
    assert fitness
    assert all(map(math.isfinite, fitness))


def test_a_population_of_two_works(tmp_path):
    worker, found = bowl(tmp_path, Bowl(10), population=2, generations=200)
    z = [each.commit.z for each in Log(found.folder).read()]
    assert all(abs(value) == pytest.approx(math.sqrt(0.5), rel=1e-3) for pair in z for value in pair)
    assert -worker.trainee.fitness(worker.trainee.model, 0).fitness < 5


def test_bfloat16_goes_on_from_its_float32_master(tmp_path):
    kind = Bowl(200, torch.bfloat16)
    worker, found = bowl(tmp_path, kind, generations=6, alpha=1e-3)
    assert (found.checkpoint / MASTER).is_file()
    other = tmp_path / "other"
    settings = Settings(sigma=0.02, alpha=1e-3, population=32, generations=3)
    train(settings, Plan(other, 0), Worker(kind))
    again = train(replace(settings, generations=6), Plan(other, 0), Worker(kind), resume=True)
    assert again.digest == found.digest
    assert load_file(found.checkpoint / "model.safetensors")["x"].dtype == torch.bfloat16
    assert torch.equal(load_file(found.checkpoint / MASTER)["x"], worker.weights.master()["x"])


def test_individuals_of_a_generation_are_asked_the_same_items():
    asked = []

    def evaluate(model, positions):
        asked.append(list(positions))
        return [0] * len(positions), [0] * len(positions)

    fitness = objective(evaluate, 10, Settings(batch=4, reward="meta"))
    tried = [fitness(nn.Identity(), t) for t in (0, 0, 1, 2, 3)]
    assert asked[0] == asked[1] != asked[2]
    assert sorted(asked[0] + asked[2] + asked[3]) == list(range(10))
    assert len(asked[3]) == 2
    assert {each.fitness for each in tried} == {1.0}


@every(
    ("changed", "said"),
    [
        ({"population": 1}, "population = 1"),
        ({"population": 3, "antithetic": True}, "even number"),
        *(
            ({name: value}, f"{name} = {re.escape(str(value))}: a number from 1e-12 to 1,000 needed")
            for name in ("sigma", "alpha")
            for value in (0.0, -1.0, math.nan, math.inf, 1e300, 1e-300)
        ),
        ({"batch": 0}, "batch"),
        ({"population": 10**12}, "population = 1000000000000: a number from 2 to 1,000,000"),
        ({"reward": "1e308,1,1,1e308"}, "four numbers from"),
        ({"reward": "praise"}, "praise"),
        ({"reward": "1,2,3"}, "four numbers"),
        ({"shaping": "none"}, "shaping"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changed, said):
    with pytest.raises(StudyError, match=said):
        Settings(**changed)


@pytest.mark.parametrize("noise", ["rank-1", "rank-3"])
def test_a_run_of_low_rank_noise_has_its_own_exact_log(base, whole, tmp_path, noise):
    low = replace(SETTINGS, noise=noise, generations=3)
    made = run(base, tmp_path / "low", low)
    assert digests(made.folder) != digests(whole.folder)[:3]
    worker = Worker(ToyRecipe(0, base, low))
    assert worker.replay([each.commit for each in Log(made.folder).read()]) == made.digest
    with pytest.raises(StudyError, match="noise = rank"):
        run(base, tmp_path / "low", replace(SETTINGS, generations=3), resume=True)
    for wrong in ("rank-0", "low", "rank-", "rank-1000", "rank--1"):
        with pytest.raises(StudyError, match="neither full nor a rank"):
            replace(SETTINGS, noise=wrong)


def test_runs_of_earlier_releases_say_nothing_of_what_they_did_not_have(base, whole, tmp_path):
    shutil.copytree(whole.folder, tmp_path / "run", symlinks=True)
    path = tmp_path / "run" / "run.json"
    known = json.loads(path.read_text())
    del known["settings"]["noise"]
    path.write_text(json.dumps(known))
    assert run(base, tmp_path / "run", resume=True).digest == whole.digest


@pytest.mark.proof
def test_killed_at_twenty_points_of_its_writing_a_run_ends_as_if_it_had_not_been(tmp_path):
    script = Path(__file__).with_name("kill_and_resume.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["points"]) == 20
    assert found["different"] == []


def test_a_run_killed_between_log_and_checkpoint_or_before_its_first_line_goes_on(base, whole, tmp_path):
    shutil.copytree(whole.folder, tmp_path / "cut", symlinks=True)
    shutil.rmtree(tmp_path / "cut" / "checkpoints" / "000006")
    (tmp_path / "cut" / "checkpoints" / ".000006.torn").mkdir()
    run(base, tmp_path / "cut", resume=True)
    assert sorted(each.name for each in (tmp_path / "cut" / "checkpoints").iterdir()) == [
        "000002",
        "000004",
        "000006",
    ]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "commits.jsonl").write_text("")
    (tmp_path / "new" / ".run.json.x.tmp").write_text("{")
    assert run(base, tmp_path / "new", resume=True).digest == whole.digest

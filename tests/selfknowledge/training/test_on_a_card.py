"""Training and asking on a graphics card: the noises, weights and replies are those of the processor.

Proofs, for machines that have a card: ``pytest -m proof tests/selfknowledge/training/test_on_a_card.py``.
"""

from dataclasses import replace

import pytest
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import noise
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation, preflight
from metacog_pipeline.benchmarks.selfknowledge.training.causal.compiled import Static
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means, evolve, largest_rows
from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Interview
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from tests.llm.local.conftest import answers, spec_of
from tests.llm.local.test_local_model import request
from tests.selfknowledge.training.kernels_against_noise import compared
from tests.selfknowledge.training.test_causal import ASKED, ASKING, KINDS, SETTINGS, recipe

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no graphics card here"),
]


def commits(run):
    return [each.commit for each in Log(run.folder).read()]


def test_kernels_make_the_weights_of_the_processor_bit_for_bit():
    pytest.importorskip("triton", reason="triton is not installed")
    assert compared("cuda") == [True] * 12


@pytest.mark.parametrize("start", [0, 5, 16 * (1 << 30) + 3])
def test_noise_is_that_of_the_processor(start):
    for seed in (0, 1, 2**63, 2**64 - 1):
        here = noise.normals(seed, "w", start, 10_000)
        assert torch.equal(noise.normals(seed, "w", start, 10_000, "cuda").cpu(), here)
    for rank in (1, 3):
        shape = (300, 70)
        here = noise.low_rank(7, "w", shape, rank, 5, 20_000, "cpu")
        assert torch.equal(noise.low_rank(7, "w", shape, rank, 5, 20_000, "cuda").cpu(), here)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_log_made_on_a_card_gives_the_same_weights_on_the_processor(make_model, kind, dtype, tmp_path):
    asked = recipe(make_model(kind), dtype=dtype)
    made = evolve(replace(asked, device="cuda"), tmp_path / "run")
    assert Worker(asked).replay(commits(made)) == made.digest
    assert Worker(replace(asked, device="cuda")).load(made.checkpoint) == made.digest


def test_other_noise_and_a_master_in_a_file_give_the_weights_of_the_processor(make_model, tmp_path):
    asked = recipe(make_model("llama"), settings=replace(SETTINGS, noise="rank-2", antithetic=True))
    made = evolve(replace(asked, device="cuda"), tmp_path / "run", Means(master="file"))
    assert Worker(asked).replay(commits(made)) == made.digest


@pytest.mark.parametrize("kind", KINDS)
def test_replies_of_the_captured_step_are_those_of_the_eager_trainee(make_model, kind):
    loaded = open_model(make_model(kind), "cuda")
    interview = Interview(loaded, ASKED, ASKING)
    prompts = [interview.prompt(step, place) for step in ("direct", "meta") for place in range(10)]
    odd = [[3], [3, 9], prompts[0], [4, 4, 4, 4], prompts[1][7:]]  # nothing shared, one token, other lengths
    static = Static()
    with torch.no_grad():
        for asked, most, rows in ((prompts, 6, 4), (odd, 6, 4), (prompts, 12, 64), (prompts, 6, 4)):
            eager = generation.answers(loaded, asked, most, rows)
            assert static(loaded, asked, most, rows) == eager


def test_the_captured_step_sees_weights_that_are_perturbed_in_place(make_model, tmp_path):
    asked = recipe(make_model("llama"), device="cuda")
    eager = evolve(asked, tmp_path / "eager")
    compiled = evolve(replace(asked, trainee="compiled"), tmp_path / "compiled")
    assert [each.fitness for each in commits(compiled)] == [each.fitness for each in commits(eager)]
    assert compiled.digest == eager.digest


def test_workers_of_a_card_that_share_a_master_end_with_the_weights_of_one(make_model, tmp_path):
    asked = recipe(make_model("llama"))
    one = evolve(replace(asked, device="cuda"), tmp_path / "one")
    means = Means(workers=2, master="shared", devices=("cuda:0", "cuda:0"))
    two = evolve(asked, tmp_path / "two", means)
    assert two.digest == one.digest


def test_a_look_before_a_run_tells_the_memory_of_the_card(make_model):
    asked = recipe(make_model("llama"), device="cuda")
    found = preflight.look(asked, Means(), individuals=2)
    needed, there = found.device
    assert 0 < needed < there == pytest.approx(torch.cuda.mem_get_info()[1], rel=0.2)
    assert found.generation_s > found.update_s > 0
    assert largest_rows(asked) == asked.settings.batch


@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_a_model_on_a_card_are_those_of_the_processor(make_model, kind):
    asked = [request(n) for n in range(6)]
    here, there = (answers(spec_of(make_model(kind), device=device), asked) for device in ("cpu", "auto"))
    assert [each.text for each in there] == [each.text for each in here]
    assert torch.cuda.max_memory_allocated() > 0

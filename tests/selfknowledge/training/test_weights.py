"""The weights come back bit for bit, and the update is the closed form."""

import numpy as np
import pytest
import torch
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training import noise, shaping
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual, population
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights, steps

KINDS = [(torch.float32, False), (torch.float32, True), (torch.bfloat16, False), (torch.bfloat16, True)]


def test_a_weight_too_large_for_its_own_type_is_noticed():
    model = nn.Linear(2, 2).to(torch.float16)
    weights = Weights(model)
    assert not weights.overflowed()
    weights.update([(1, 1e6)])
    assert weights.overflowed()
    wide = Weights(nn.Linear(2, 2).to(torch.bfloat16))
    wide.update([(1, 1e6)])
    assert not wide.overflowed()


class Odd(nn.Module):
    """Tied tensors, a buffer, a frozen tensor, zeros, very small and very large values, lengths that fit no block."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.emb = nn.Embedding(37, 5)
        self.head = nn.Linear(5, 37, bias=False)
        self.mid = nn.Linear(5, 5)
        self.one = nn.Parameter(torch.zeros(()))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
            self.mid.bias.copy_(torch.tensor([0.0, -0.0, 1e-30, 1e30, 1e-7]))
        self.head.weight = self.emb.weight
        self.register_buffer("seen", torch.ones(3))
        self.still = nn.Parameter(torch.ones(4), requires_grad=False)
        self.to(dtype)


@pytest.fixture
def held(tmp_path):
    """Weights that are closed after the test."""
    opened = []

    def open_weights(model, on_disk=False, block=1 << 20):
        opened.append(Weights(model, tmp_path if on_disk else None, block))
        return opened[-1]

    yield open_weights
    for weights in opened:
        weights.close()


def bits(model):
    kind = {2: torch.int16, 4: torch.int32}
    return {
        n: t.detach().clone().view(kind[t.element_size()]) for n, t in model.state_dict().items() if t.ndim
    }


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(("dtype", "on_disk"), KINDS)
@pytest.mark.parametrize("block", [7, 64, 1 << 20])
def test_a_hundred_perturbations_leave_no_trace(dtype, on_disk, block, held):
    model = Odd(dtype)
    before = bits(model)
    weights = held(model, on_disk, block)
    digest = weights.digest()
    for cycle in range(100):
        weights.perturb(Individual(cycle, 1 if cycle % 2 else -1), 10.0 ** (cycle % 5 - 3))
        if cycle == 0:
            assert not same(bits(model), before)
        weights.restore()
    assert same(bits(model), before)
    assert weights.digest() == digest


def test_tied_tensors_evolve_once_and_buffers_and_frozen_ones_never():
    model = Odd()
    weights = Weights(model)
    assert set(weights.shapes) == {"emb.weight", "mid.weight", "mid.bias", "one"}
    weights.perturb(Individual(1), 0.1)
    assert torch.equal(model.head.weight, model.emb.weight)
    assert torch.equal(model.seen, torch.ones(3))
    assert torch.equal(model.still, torch.ones(4))


def test_a_perturbation_is_sigma_times_the_noise_of_each_tensor_by_its_name():
    model = Odd()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    Weights(model, block=16).perturb(Individual(5, -1), 0.5)
    for name in ("emb.weight", "mid.weight"):
        eps = noise.normals(5, name, 0, before[name].numel()).reshape(before[name].shape)
        torch.testing.assert_close(dict(model.named_parameters())[name], before[name] - 0.5 * eps)


@pytest.mark.parametrize(("dtype", "on_disk"), KINDS)
@pytest.mark.parametrize("antithetic", [False, True])
def test_the_update_is_the_closed_form(dtype, on_disk, antithetic, held):
    model = Odd(dtype)
    theta = {n: t.double() for n, t in Weights(model).master().items()}
    weights = held(model, on_disk, 50)
    individuals = population(0, 0, 32, antithetic)
    z = shaping.zscores(np.random.default_rng(0).normal(size=32))
    weights.update(steps(individuals, z, 0.01))
    for name, found in weights.master().items():
        exact = theta[name].clone()
        for individual, value in zip(individuals, z, strict=True):
            eps = noise.normals(individual.seed, name, 0, exact.numel()).double().reshape(exact.shape)
            exact += 0.01 / 32 * value * individual.sign * eps
        torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(dict(model.named_parameters())[name].data, found.to(dtype), rtol=0, atol=0)


def test_steps_far_below_a_unit_of_bfloat16_add_up():
    model = nn.Linear(64, 64, bias=False).to(torch.bfloat16)
    nn.init.constant_(model.weight, 1.0)
    weights = Weights(model)
    for _ in range(500):
        weights.update([(3, 1e-4)])
    eps = noise.normals(3, "weight", 0, 64 * 64).reshape(64, 64)
    torch.testing.assert_close(weights.master()["weight"], 1 + 0.05 * eps, rtol=1e-4, atol=1e-4)
    assert float((model.weight.detach().float() - 1 - 0.05 * eps).abs().max()) < 0.01


def test_memory_and_file_and_any_block_give_the_same_bits(tmp_path):
    digests, models = set(), []
    for scratch, block in ((None, 7), (tmp_path, 13), (None, 1 << 20)):
        models.append(Odd())
        weights = Weights(models[-1], scratch, block)
        weights.update([(1, 0.1), (2, -0.3), (9, 0.0)])
        digests.add(weights.digest())
        weights.close()
    assert len(digests) == 1
    assert all(same(bits(models[0]), bits(other)) for other in models[1:])
    assert list(tmp_path.iterdir()) == []


def test_no_step_changes_nothing_and_a_reload_gives_the_same():
    model = Odd()
    before = bits(model)
    weights = Weights(model)
    weights.update([(1, 0.0), (2, 0.0)])
    assert same(bits(model), before)
    other = Weights(Odd(), block=11)
    other.update([(4, 1.0)])
    weights.load(other.master())
    assert weights.digest() == other.digest()
    with pytest.raises(ValueError, match="missing"):
        weights.load({})


def test_models_that_cannot_evolve_are_refused():
    with pytest.raises(ValueError, match="no trainable"):
        Weights(nn.Identity())
    model = nn.Linear(3, 2)
    model.weight.data = model.weight.data.t().contiguous().t()
    with pytest.raises(ValueError, match="contiguous"):
        Weights(model)

"""The strategy is its closed form: rewards by table, noise by seed, weights that come back bit for bit."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training import rewards, weights
from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Individual, Settings, batch, zscores
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts, RewardTable
from metacog_pipeline.benchmarks.selfknowledge.training.weights import Weights, trainable
from metacog_pipeline.errors import MetacogError, StudyError
from tests.tables import every


def test_a_reward_is_named_or_given_as_four_numbers_and_has_its_own_step():
    assert rewards.reward_named("joint") == RewardTable(2, 1, 1, 0) == rewards.reward_named("2, 1, 1, 0")
    assert [rewards.usual_alpha(name) for name in ("joint", "direct", "meta")] == [5e-4, 5e-4, 2e-4]
    assert rewards.reward_named("dprime")(Counts(9, 4, 4, 4)) > 0 > rewards.dprime(Counts(9, 4, 5, 0))
    assert math.isfinite(rewards.dprime(Counts(4, 0, 2, 0)))
    unfit = ("1,2,3", "1,2,3,nan", "1,2,3,inf", "a,b,c,d", "1e308,1,1,1e308", "1,1,1,1", "1e-300,0,0,0")
    for wrong in ("", "joint ", *unfit):
        with pytest.raises(StudyError, match="reward"):
            rewards.reward_named(wrong)
    with pytest.raises(ValueError, match="no reward"):
        rewards.TABLES["joint"](Counts(0, 0, 0, 0))
    with pytest.raises(ValueError, match="one length"):
        rewards.outcome([0, 1], [0])


def test_counts_add_up():
    parts = [rewards.outcome([1, 0, 1], [1, 1, 0], [1, 1, 0]), rewards.outcome([1], [1], [1])]
    assert rewards.together(parts) == Counts(4, 3, 3, 2, 3)
    assert rewards.together([Counts(1, 1, 1, 1)]).parsed is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_standardised_fitness_is_centred_and_keeps_the_order(fitness):
    z = zscores(fitness)
    assert zscores([1.0, 2.0, 3.0]) == pytest.approx([-1.0, 0.0, 1.0])  # the deviation of n - 1
    assert abs(z.mean()) < 1e-6
    assert (np.diff(z[np.argsort(fitness, kind="stable")]) >= -1e-12).all()
    assert z.any() == (max(fitness) > min(fitness))


def test_fitness_that_is_none_is_refused():
    for wrong in ([1.0], [], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="fitness"):
            zscores(wrong)
    for wrong in ([1.0, math.nan], [1.0, math.inf]):
        with pytest.raises(MetacogError, match="no finite number"):
            zscores(wrong)


@every(
    ("changed", "said"),
    [
        ({"population": 1}, "population"),
        ({"population": 3, "antithetic": True}, "even number"),
        *(({n: value}, n) for n in ("sigma", "alpha") for value in (0.0, -1.0, math.nan, math.inf, 1e300)),
        ({"batch": 0}, "batch"),
        ({"population": 10**12}, "population"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changed, said):
    with pytest.raises(ValidationError, match=said):
        Settings(**changed)


def test_a_population_and_its_batch_follow_from_seed_and_generation_alone():
    one = Settings(population=6, batch=4, seed=5)
    assert one.individuals(3) == Settings(population=6, seed=5).individuals(3) != one.individuals(4)
    assert len({each.seed for each in one.individuals(3)}) == 6
    pairs = Settings(population=6, antithetic=True).individuals(0)
    assert [each.sign for each in pairs] == [1, -1] * 3
    assert len({each.seed for each in pairs}) == 3
    assert sorted(place for t in range(3) for place in one.positions(t, 10)) == list(range(10))
    assert [len(one.positions(t, 10)) for t in range(3)] == [4, 4, 2]
    assert batch(5, 0, 10, 10) != batch(5, 1, 10, 10)
    assert batch(5, 0, 10, 10) != batch(6, 0, 10, 10)


def test_the_step_falls_as_a_cosine_where_asked():
    steps = [Settings(alpha=2.0, schedule="cosine", generations=10).step(t) for t in range(10)]
    assert steps[0] == 2 == Settings(alpha=2.0, generations=10).step(9) and steps[5] == pytest.approx(1)
    assert all(a > b > 0 for a, b in itertools.pairwise(steps))


class Odd(nn.Module):
    """Tied tensors, a buffer, a frozen tensor, zeros, very small and very large values, lengths that fit no block."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.emb, self.head, self.mid = nn.Embedding(37, 5), nn.Linear(5, 37, bias=False), nn.Linear(5, 5)
        self.one = nn.Parameter(torch.zeros(()))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
            self.mid.bias.copy_(torch.tensor([0.0, -0.0, 1e-30, 1e30, 1e-7]))
        self.head.weight = self.emb.weight
        self.register_buffer("seen", torch.ones(3))
        self.still = nn.Parameter(torch.ones(4), requires_grad=False)
        self.to(dtype)


def bits(model):
    kind = {2: torch.int16, 4: torch.int32}
    return {
        n: t.detach().clone().view(kind[t.element_size()]) for n, t in model.state_dict().items() if t.ndim
    }


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def noise(seed, shapes):
    """What a seed means: one generator, the tensors in their order, block by block."""
    generator = torch.Generator().manual_seed(seed)
    lengths = {
        name: [len(part) for part in torch.empty(each.numel()).split(weights.BLOCK)]
        for name, each in shapes.items()
    }
    flat = {
        name: torch.cat([torch.randn(n, generator=generator) for n in own]) for name, own in lengths.items()
    }
    return {name: each.reshape(shapes[name]) for name, each in flat.items()}


@pytest.fixture(params=[7, 64, 1 << 18])
def block(request, monkeypatch):
    monkeypatch.setattr(weights, "BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_hundred_perturbations_leave_no_trace(dtype):
    model = Odd(dtype)
    before, held = bits(model), Weights(trainable(model))
    digest = held.digest()
    for cycle in range(100):
        held.perturb(Individual(cycle, 1 if cycle % 2 else -1), 10.0 ** (cycle % 5 - 3))
        if cycle == 0:
            assert not same(bits(model), before)
        held.restore()
    assert same(bits(model), before)
    assert held.digest() == digest


def test_tied_tensors_evolve_once_and_buffers_and_frozen_ones_never():
    model = Odd()
    held = Weights(trainable(model))
    assert set(held.shapes) == {"emb.weight", "mid.weight", "mid.bias", "one"}
    held.perturb(Individual(1), 0.1)
    assert torch.equal(model.head.weight, model.emb.weight)
    assert torch.equal(model.seen, torch.ones(3)) and torch.equal(model.still, torch.ones(4))


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("antithetic", [False, True])
def test_perturbation_and_update_are_the_closed_form(dtype, antithetic):
    model = Odd(dtype)
    held = Weights(trainable(model))
    theta = {name: each.double().clone() for name, each in held.master().items()}
    people = Settings(population=32, antithetic=antithetic).individuals(0)
    held.perturb(people[1], 0.5)
    eps = noise(people[1].seed, held.shapes)["mid.weight"]
    wanted = (theta["mid.weight"].float() + people[1].sign * 0.5 * eps).to(dtype)
    torch.testing.assert_close(model.mid.weight.data, wanted)
    z = zscores(np.random.default_rng(0).normal(size=32)).tolist()
    norm = held.update(Commit(0, people, [], z, 0.01).steps())
    added = {name: torch.zeros_like(each) for name, each in theta.items()}
    for each, value in zip(people, z, strict=True):
        for name, eps in noise(each.seed, held.shapes).items():
            added[name] += 0.01 / 32 * value * each.sign * eps.double()
    for name, found in held.master().items():
        torch.testing.assert_close(found.double(), theta[name] + added[name], rtol=1e-6, atol=1e-6)
        assert torch.equal(dict(model.named_parameters())[name].data, found.to(dtype))
    assert norm == pytest.approx(
        math.sqrt(sum(float(each.square().sum()) for each in added.values())), rel=1e-5
    )


def test_steps_far_below_a_unit_of_bfloat16_add_up():
    model = nn.Linear(64, 64, bias=False).to(torch.bfloat16)
    nn.init.constant_(model.weight, 1.0)
    held = Weights(trainable(model))
    for _ in range(500):
        held.update([(3, 1e-4)])
    eps = noise(3, held.shapes)["weight"]
    torch.testing.assert_close(held.master()["weight"], 1 + 0.05 * eps, rtol=1e-4, atol=1e-4)
    assert float((model.weight.detach().float() - 1 - 0.05 * eps).abs().max()) < 0.01


def test_a_digest_is_of_every_weight_and_its_place_and_a_reload_gives_the_same():
    model = Odd()
    held = Weights(trainable(model))
    whole = {name: each.clone() for name, each in held.master().items()}
    digest = held.digest()
    for name, place, value in (("one", (), 1e-40), ("emb.weight", (3, 1), 5.0)):
        other = {n: t.clone() for n, t in whole.items()}
        other[name][place] = value
        held.load(other)
        assert held.digest() != digest
    swapped = {**whole, "mid.weight": whole["mid.weight"].flip(0)}
    held.load(swapped)
    assert held.digest() != digest
    held.load(whole)
    assert held.digest() == digest
    assert held.update([]) == 0.0
    with pytest.raises(ValueError, match="missing"):
        held.load({})


def test_a_weight_too_large_for_its_own_type_is_noticed_and_a_tensor_out_of_order_refused():
    half, wide = (Weights(trainable(nn.Linear(2, 2).to(dtype))) for dtype in (torch.float16, torch.bfloat16))
    assert not half.overflowed()
    for each in (half, wide):
        each.update([(1, 1e6)])
    assert half.overflowed()
    assert not wide.overflowed()
    with pytest.raises(ValueError, match="contiguous"):
        Weights({"a": torch.ones(3, 2).t()})

"""Rewards are what the tables say, for a whole batch as for its items; shaping keeps order and forgets scale."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.benchmarks.selfknowledge.training import rewards, shaping
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import NOTHING, EpisodeReward, RewardTable
from metacog_pipeline.errors import MetacogError, StudyError

BITS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=50)
NUMBER = st.floats(-10, 10)
FITNESS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40)


@settings(max_examples=150, deadline=None)
@given(BITS, NUMBER, NUMBER, NUMBER, NUMBER)
def test_the_reward_of_a_batch_is_the_mean_of_its_items(pairs, a, b, c, d):
    correct, yes = zip(*pairs, strict=True)
    table = RewardTable(a, b, c, d)
    items = table.per_item(correct, yes)
    cells = {(1, 1): a, (1, 0): b, (0, 0): c, (0, 1): d}
    assert items.tolist() == [cells[pair] for pair in pairs]
    assert table(rewards.outcome(correct, yes)) == pytest.approx(items.mean(), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(BITS)
def test_the_joint_reward_is_accuracy_plus_alignment(pairs):
    correct, yes = (np.array(each) for each in zip(*pairs, strict=True))
    found = rewards.JOINT(rewards.outcome(correct, yes))
    assert found == pytest.approx(correct.mean() + (correct == yes).mean())
    assert rewards.DIRECT(rewards.outcome(correct, yes)) == pytest.approx(correct.mean())
    assert rewards.META(rewards.outcome(correct, yes)) == pytest.approx((correct == yes).mean())


@settings(max_examples=60, deadline=None)
@given(BITS, BITS)
def test_counts_add_up(first, second):
    parts = [rewards.outcome(*zip(*each, strict=True)) for each in (first, second)]
    assert parts[0] + parts[1] == rewards.outcome(*zip(*first, *second, strict=True))
    assert parts[0] + NOTHING == parts[0]


def test_dprime_of_a_batch_is_always_a_number():
    for counts in (
        EpisodeReward(0, 0, 0, 0),
        EpisodeReward(4, 0, 2, 0),
        EpisodeReward(4, 4, 4, 4),
        EpisodeReward(9, 4, 4, 4),
    ):
        assert math.isfinite(rewards.dprime(counts))
    assert rewards.dprime(EpisodeReward(9, 4, 4, 4)) > 0 > rewards.dprime(EpisodeReward(9, 4, 5, 0))
    assert rewards.reward_named("dprime") is rewards.dprime


def test_a_reward_is_named_or_given_as_four_numbers():
    assert rewards.reward_named("joint") == RewardTable(2, 1, 1, 0) == rewards.reward_named("2, 1, 1, 0")
    assert rewards.reward_named("5,0,2,-10") == RewardTable(5, 0, 2, -10)
    for wrong in ("", "joint ", "1,2,3", "1,2,3,nan", "1,2,3,inf", "a,b,c,d"):
        with pytest.raises(StudyError, match="reward"):
            rewards.reward_named(wrong)
    for wrong in ("1e308,1,1,1e308", "0,0,0,-1e300", "0,0,0,0", "1,1,1,1", "1e-300,0,0,0"):
        with pytest.raises(StudyError, match=f'reward "{wrong}": four numbers from -1,000,000 to 1,000,000'):
            rewards.reward_named(wrong)
    assert rewards.reward_named("1e6,-1e6,0,0") == RewardTable(1e6, -1e6, 0, 0)


def test_what_is_no_batch_is_refused():
    with pytest.raises(ValueError, match="no reward"):
        rewards.JOINT(NOTHING)
    for correct, yes in (([0, 2], [0, 1]), ([[0]], [[1]]), ([0.5], [1])):
        with pytest.raises(ValueError, match="0 and 1"):
            rewards.outcome(correct, yes)
    with pytest.raises(ValueError, match="differ in shape"):
        rewards.outcome([0, 1], [0])


@settings(max_examples=100, deadline=None)
@given(FITNESS)
def test_shaped_fitness_is_centred_and_keeps_the_order(fitness):
    for how in shaping.SHAPINGS:
        z = shaping.shaped(fitness, how)
        assert abs(z.mean()) < 1e-6
        order = np.argsort(fitness, kind="stable")
        assert (np.diff(z[order]) >= -1e-12).all()
    if max(fitness) == min(fitness):
        assert not shaping.zscores(fitness).any()
    ranks = shaping.centred_ranks(fitness)
    assert -0.5 <= ranks.min() <= ranks.max() <= 0.5


def test_ties_share_their_rank():
    assert shaping.centred_ranks([3, 1, 3, 5]).tolist() == [0, -0.5, 0, 0.5]
    assert shaping.centred_ranks([2, 2]).tolist() == [0, 0]


def test_fitness_that_is_none_is_refused():
    for wrong in ([1.0], [], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="fitness"):
            shaping.zscores(wrong)


@pytest.mark.filterwarnings("error")
def test_rewards_that_overflow_are_one_line():
    for wrong in ([1.0, math.nan], [1.0, math.inf], [1e308, -1e308], [1e200, 1.0]):
        with pytest.raises(MetacogError, match=r"no finite number|too large"):
            shaping.zscores(wrong)


def test_the_step_falls_as_asked():
    steps = {how: [shaping.step_size(2.0, how, t, 10) for t in range(10)] for how in shaping.SCHEDULES}
    assert set(steps["constant"]) == {2.0}
    assert steps["linear"] == pytest.approx([2 - 0.2 * t for t in range(10)])
    assert steps["cosine"][0] == 2
    assert steps["cosine"][5] == pytest.approx(1)
    assert all(a > b > 0 for a, b in zip(steps["cosine"], steps["cosine"][1:], strict=False))

"""Supervised training learns what it is meant to and resumes; a patched model has just its share of the change."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training import grpo, patching, sft
from metacog_pipeline.benchmarks.selfknowledge.training.causal import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking, Interview
from metacog_pipeline.benchmarks.selfknowledge.training.patching import patch_each
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.sft import STATE, Tuning, tune
from metacog_pipeline.benchmarks.selfknowledge.training.weights import trainable
from metacog_pipeline.errors import MetacogError, StudyError
from tests.selfknowledge.training.conftest import KINDS

ASKING = Asking(max_tokens=3)
QUESTIONS = tuple(Question(str(i), f"Number {i}?", ("Rome",)) for i in range(10))
ANSWERS = Tuning("answers", steps=30, batch=6, rate=1e-2)


def right(folder):
    return Interview(open_model(folder), QUESTIONS, ASKING).right(range(10))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_can_be_learnt(make_model, kind, tmp_path):
    assert not any(right(make_model(kind)))
    tuned = tune(open_model(make_model(kind)), QUESTIONS, ASKING, ANSWERS, tmp_path)
    assert all(right(tuned))
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_meta_labels_are_whether_the_model_is_right_as_it_is_now(make_model, tmp_path):
    meta = Tuning("meta", steps=20, batch=6, rate=5e-3)
    ignorant = tune(open_model(make_model("llama")), QUESTIONS, ASKING, meta, tmp_path / "a")
    assert not any(each.yes for each in Interview(open_model(ignorant), QUESTIONS, ASKING).ask())
    knows = tune(open_model(make_model("llama")), QUESTIONS, ASKING, ANSWERS, tmp_path / "b")
    both = tune(open_model(knows), QUESTIONS, ASKING, meta, tmp_path / "c")
    heard = Interview(open_model(both), QUESTIONS, ASKING).ask()
    assert [each.yes for each in heard] == [each.correct for each in heard]


def test_training_cut_short_goes_on_as_if_it_had_not(make_model, tmp_path):
    tuning = Tuning("meta", steps=12, batch=4, rate=1e-3, look_every=4)

    def stop(step):
        if step == 10:
            raise KeyboardInterrupt

    whole = tune(open_model(make_model("llama")), QUESTIONS, ASKING, tuning, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        tune(open_model(make_model("llama")), QUESTIONS, ASKING, tuning, tmp_path / "cut", stop)
    assert (tmp_path / "cut" / STATE).is_file()
    steps = []
    cut = tune(open_model(make_model("llama")), QUESTIONS, ASKING, tuning, tmp_path / "cut", steps.append)
    assert steps[0] == 9
    one, other = (trainable(open_model(each).model) for each in (whole, cut))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_training_stops_when_the_validation_loss_no_longer_falls_and_keeps_the_best(make_model, tmp_path):
    steps = []
    wild = Tuning("meta", steps=200, batch=4, rate=0.5, look_every=2)
    tune(open_model(make_model("llama")), QUESTIONS, ASKING, wild, tmp_path, steps.append)
    assert 8 <= len(steps) < 200


def test_the_loss_is_on_the_answer_and_its_end(make_model):
    asked = Interview(open_model(make_model("llama")), QUESTIONS, ASKING)
    asked._prompts["direct", 0] = asked.prompt("direct", 0)[4:]  # prompts of two lengths
    ids, mask, labels = sft.rows(asked, "direct", range(6), ["Rome"] * 6)
    (word,) = asked.loaded.tokenizer("Rome", add_special_tokens=False)["input_ids"]
    target = [word, asked.loaded.stop_ids[0]]
    for row in range(6):
        assert labels[row][labels[row] != -100].tolist() == target == ids[row].tolist()[-len(target) :]
    assert mask[0].sum() == mask[1].sum() - 4


def test_the_rate_rises_then_falls_to_nothing():
    shares = [sft.share(step, 100) for step in range(100)]
    assert max(shares) == shares[9] == shares[10] == sft.share(0, 5) == 1
    assert (shares[0], shares[99]) == pytest.approx((0.1, 1 / 90))


def test_a_model_of_16_bits_is_trained_in_float32_and_stays_of_16_bits(make_model, tmp_path):
    loaded = open_model(make_model("llama"), dtype="bfloat16")
    before = loaded.model.get_input_embeddings().weight.detach().clone()
    tune(loaded, QUESTIONS, ASKING, replace(ANSWERS, rate=1e-4), tmp_path)
    after = loaded.model.get_input_embeddings().weight.detach()
    assert after.dtype == torch.bfloat16
    assert not torch.equal(before, after)


def test_what_cannot_be_learnt_ends_in_one_line(make_model, tmp_path):
    loaded = open_model(make_model("llama"))
    with pytest.raises(StudyError, match="question n"):
        tune(loaded, [Question("n", "?", ())], ASKING, ANSWERS, tmp_path)
    with torch.no_grad():
        loaded.model.get_output_embeddings().weight.fill_(3e38)
    before = loaded.model.get_input_embeddings().weight.clone()
    with pytest.raises(MetacogError, match="step 1 of 30: the loss is no finite number; take a smaller rate"):
        tune(loaded, QUESTIONS, ASKING, ANSWERS, tmp_path)
    assert torch.equal(loaded.model.get_input_embeddings().weight, before)


def test_grpo_says_what_to_install(monkeypatch):
    monkeypatch.setattr(grpo, "find_spec", lambda name: None)
    with pytest.raises(StudyError, match="grpo_steps: needs the packages trl and datasets"):
        grpo.require()


VALUES = st.lists(
    st.floats(-(2.0**99), 2.0**99, width=32, allow_subnormal=False) | st.sampled_from([0.0, -0.0, 1.0, -1.0]),
    min_size=1,
    max_size=40,
)
SIDES = st.sampled_from(["top", "bottom"])


def named(values, cut):
    tensors = {"a": values[:cut], "b": values[cut:]}
    return {name: torch.tensor(part, dtype=torch.float32) for name, part in tensors.items()}


@settings(max_examples=50, deadline=None)
@given(VALUES, st.integers(0, 40), st.floats(0, 1), SIDES)
def test_the_exact_rule_is_a_sort_by_magnitude_and_position(values, cut, ratio, side):
    count, found = patching.masks(named(values, cut), ratio, side)
    assert count == min(len(values), math.floor(ratio * len(values) + 0.5))
    flat = torch.tensor(values, dtype=torch.float32)
    order = sorted(range(len(values)), key=lambda i: (abs(float(flat[i])), i))
    wanted = order[:count] if side == "bottom" else order[len(order) - count :]
    mask = torch.cat([found["a"], found["b"]])
    assert [i for i in range(len(values)) if mask[i]] == sorted(wanted)


@settings(max_examples=30, deadline=None)
@given(VALUES, VALUES, SIDES)
def test_nothing_gives_the_base_everything_the_tuned_model_and_two_halves_the_change(first, second, side):
    size = min(len(first), len(second))
    base, tuned = (nn.ParameterDict({"a": torch.tensor(each[:size])}) for each in (first, second))
    whole = {0.0: base["a"].detach().clone(), 1.0: tuned["a"].detach().clone()}
    for _, share, _ in patch_each(base, tuned, [(side, share) for share in whole]):
        assert torch.equal(tuned["a"].view(torch.int32), whole[share].view(torch.int32))
        assert torch.equal(base["a"].view(torch.int32), whole[0.0].view(torch.int32))
    delta, p = named(first, 3), (len(first) // 2) / len(first)
    low, high = patching.kept(delta, p, "bottom")[1], patching.kept(delta, 1 - p, "top")[1]
    for name, each in delta.items():
        assert torch.equal(low[name] + high[name], each + 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_models_are_patched_each_from_the_two_originals(make_model, kind):
    base, tuned = (open_model(make_model(kind)) for _ in range(2))
    for tensor in trainable(tuned.model).values():
        tensor.add_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(1)))
    before = {name: tensor.clone() for name, tensor in trainable(base.model).items()}
    for _, _, count in patch_each(base.model, tuned.model, [("top", 1.0), ("bottom", 0.3), ("top", 0.0)]):
        now = trainable(tuned.model)
        assert sum(int((now[name] != before[name]).sum()) for name in now) == count
    assert all(torch.equal(tensor, before[name]) for name, tensor in trainable(base.model).items())
    other = open_model(make_model("gpt2" if kind == "llama" else "llama"))
    with pytest.raises(StudyError, match="same tensors"):
        next(patch_each(other.model, tuned.model, [("top", 1.0)]))
    with pytest.raises(ValueError, match="ratio 2"):
        patching.masks({"a": torch.ones(2)}, 2, "top")

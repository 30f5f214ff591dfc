"""A patched model has exactly the share of the change that was asked for, and the base stays as it was."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from metacog_pipeline.benchmarks.selfknowledge.training import patching
from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
from metacog_pipeline.benchmarks.selfknowledge.training.causal.patch import grid, patch_each
from metacog_pipeline.benchmarks.selfknowledge.training.weights import trainable
from metacog_pipeline.errors import StudyError

VALUES = st.lists(
    st.floats(-(2.0**99), 2.0**99, width=32, allow_subnormal=False) | st.sampled_from([0.0, -0.0, 1.0, -1.0]),
    min_size=1,
    max_size=40,
)
SIDES = st.sampled_from(["top", "bottom"])


def named(values, cut):
    cut = min(cut, len(values))
    tensors = {"a": values[:cut], "b": values[cut:]}
    return {name: torch.tensor(part, dtype=torch.float32) for name, part in tensors.items()}


@settings(max_examples=150, deadline=None)
@given(VALUES, st.integers(0, 40), st.floats(0, 1), SIDES)
def test_the_exact_rule_is_a_sort_by_magnitude_and_position(values, cut, ratio, side):
    delta = named(values, cut)
    count, found = patching.masks(delta, ratio, side)
    assert count == min(len(values), math.floor(ratio * len(values) + 0.5))
    flat = torch.cat([delta["a"], delta["b"]])
    order = sorted(range(len(values)), key=lambda i: (abs(float(flat[i])), i))
    wanted = order[:count] if side == "bottom" else order[len(order) - count :]
    mask = torch.cat([found["a"], found["b"]])
    assert [i for i in range(len(values)) if mask[i]] == sorted(wanted)


@settings(max_examples=100, deadline=None)
@given(VALUES, st.integers(0, 40), st.integers(0, 40))
def test_the_bottom_and_the_rest_from_the_top_add_up_to_the_whole_change(values, cut, count):
    delta = named(values, cut)
    p = min(count, len(values)) / len(values)
    _, low = patching.kept(delta, p, "bottom")
    _, high = patching.kept(delta, 1 - p, "top")
    for name in delta:
        assert torch.equal(low[name] + high[name], delta[name] + 0.0)
        assert not ((low[name] != 0) & (high[name] != 0)).any()


@settings(max_examples=60, deadline=None)
@given(VALUES, VALUES, SIDES)
def test_nothing_gives_the_base_and_everything_the_tuned_model_bit_for_bit(first, second, side):
    size = min(len(first), len(second))
    base, tuned = (nn.ParameterDict({"a": torch.tensor(each[:size])}) for each in (first, second))
    whole = {0.0: base["a"].detach().clone(), 1.0: tuned["a"].detach().clone()}
    for ratio, _ in patch_each(base, tuned, list(whole), side):
        assert torch.equal(tuned["a"].view(torch.int32), whole[ratio].view(torch.int32))
        assert torch.equal(base["a"].view(torch.int32), whole[0.0].view(torch.int32))


@settings(max_examples=100, deadline=None)
@given(VALUES, st.integers(0, 40), st.floats(0, 1), st.booleans())
def test_the_rule_of_the_reference_is_a_threshold(values, cut, ratio, bottom):
    delta = named(values, cut)
    threshold, found = patching.reference_kept(delta, ratio, bottom)
    flat = torch.cat([delta["a"], delta["b"]])
    if ratio < 1:
        k = max(1, math.floor(len(values) * (1 - ratio)))
        assert threshold == float(flat.abs().sort().values[k - 1])
    keep = flat.abs() < threshold if bottom else flat.abs() >= threshold
    assert torch.equal(torch.cat([found["a"], found["b"]]), torch.where(keep, flat, 0.0))


def test_wrong_ratios_sides_and_models_are_refused():
    with pytest.raises(ValueError, match="ratio 2"):
        patching.masks({"a": torch.ones(2)}, 2, "top")
    with pytest.raises(ValueError, match="side 'left'"):
        patching.masks({"a": torch.ones(2)}, 0.5, "left")
    with pytest.raises(ValueError, match="same tensors"):
        patching.change({"a": torch.ones(2)}, {"a": torch.ones(3)})


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_models_are_patched_each_from_the_two_originals(make_model, kind):
    base, tuned = (open_model(make_model(kind)) for _ in range(2))
    for tensor in trainable(tuned.model).values():
        tensor.add_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(1)))
    before, after = ({n: t.clone() for n, t in trainable(each.model).items()} for each in (base, tuned))
    seen = {}
    for ratio, count in patch_each(base.model, tuned.model, [1.0, 0.3, 0.0], "top"):
        now = trainable(tuned.model)
        changed = sum(int((now[name] != before[name]).sum()) for name in now)
        assert changed == count
        seen[ratio] = {name: tensor.clone() for name, tensor in now.items()}
    assert all(torch.equal(seen[1.0][name], after[name]) for name in after)
    assert all(torch.equal(seen[0.0][name], before[name]) for name in before)
    assert all(torch.equal(tensor, before[name]) for name, tensor in trainable(base.model).items())
    other = open_model(make_model("gpt2" if kind == "llama" else "llama"))
    with pytest.raises(StudyError, match="same tensors"):
        next(patch_each(other.model, tuned.model, [1.0], "top"))


def test_a_grid_is_a_list_or_a_range_of_percentages():
    assert grid("0,10,50") == [0, 0.1, 0.5]
    assert grid("0-100/25") == [0, 0.25, 0.5, 0.75, 1]
    assert len(grid("0-10/1")) == 11
    for wrong in ("", "x", "0-200/10", "0-100/0", "-5", "1,2,nan"):
        with pytest.raises(StudyError, match="percentages"):
            grid(wrong)

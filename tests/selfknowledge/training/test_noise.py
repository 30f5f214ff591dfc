"""Noise is looked up, not drawn: by seed, tensor and element, the same wherever and however it is asked for."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metacog_pipeline.benchmarks.selfknowledge.training import noise, seeds

SEEDS = st.integers(0, 2**64 - 1)


def by_tensors(seed, name, start, count):
    """The path of other devices, on the processor."""
    first, skip = divmod(start, noise.LANES)
    words = noise.philox(seed, noise.name_key(name), first, -(-(skip + count) // noise.LANES), "cpu")
    lanes = (words.unsqueeze(-1) >> torch.tensor([0, 16, 32, 48])) & 0xFFFF
    return torch.from_numpy(noise.table().copy())[lanes.reshape(-1)[skip : skip + count]]


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.text(max_size=20), st.integers(0, 2**40), st.integers(1, 100))
def test_tensor_operations_give_the_numbers_of_numpy(seed, name, start, count):
    assert torch.equal(noise.normals(seed, name, start, count), by_tensors(seed, name, start, count))


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 500), st.integers(1, 300), st.integers(0, 299))
def test_any_split_of_a_tensor_gives_the_same_elements(seed, start, count, cut):
    whole = noise.normals(seed, "w", start, count)
    cut = min(cut, count)
    parts = [noise.normals(seed, "w", start, cut), noise.normals(seed, "w", start + cut, count - cut)]
    assert torch.equal(whole, torch.cat(parts))
    out = np.empty(count, dtype=np.float32)
    noise.fill(out, seed, "w", start)
    assert np.array_equal(out, whole.numpy())


def test_the_numbers_never_change():
    """Other numbers would make every log of commits worthless."""
    assert hashlib.sha256(noise.table().tobytes()).hexdigest() == noise.TABLE_SHA256
    assert noise.normals(1, "model.layers.0.weight", 0, 4).tolist() == pytest.approx(FIRST, abs=0)
    assert seeds.hash64(b"indiv", 42, 0, 0) == SEED


FIRST = [1.4676742553710938, 1.321451187133789, -1.5001068115234375, 0.8864469528198242]
SEED = 11118806157617079511


def test_the_numbers_are_standard_normal():
    drawn = noise.normals(7, "w", 0, 1_000_000).double().numpy()
    assert abs(drawn.mean()) < 4e-3
    assert abs(drawn.var() - 1) < 6e-3
    assert stats.kstest(drawn, "norm").pvalue > 1e-3
    assert abs(stats.kurtosis(drawn)) < 0.02


@pytest.mark.parametrize("other", [(8, "w", 0), (7, "v", 0), (7, "w", 50_000)])
def test_seeds_names_and_places_give_unrelated_numbers(other):
    a, b = noise.normals(7, "w", 0, 50_000), noise.normals(*other, 50_000)
    assert abs(float(torch.corrcoef(torch.stack([a, b]))[0, 1])) < 0.02


def test_seeds_do_not_repeat_over_a_run():
    drawn = [i.seed for run in (42, 43) for t in range(750) for i in seeds.population(run, t, 32)]
    assert len(set(drawn)) == len(drawn)


def test_antithetic_individuals_come_in_pairs():
    found = seeds.population(0, 3, 6, antithetic=True)
    assert [i.sign for i in found] == [1, -1] * 3
    assert len({i.seed for i in found}) == 3
    for size, pairs in ((1, False), (3, True), (0, True)):
        with pytest.raises(ValueError, match="two or more"):
            seeds.population(0, 0, size, pairs)


@settings(max_examples=60, deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 50), st.integers(1, 80), st.integers(0, 5))
def test_batches_go_through_all_items_before_any_comes_again(run_seed, size, items, turn):
    slices = -(-items // size)
    parts = [seeds.batch(run_seed, turn * slices + k, size, items) for k in range(slices)]
    assert sorted(np.concatenate(parts)) == list(range(items))
    assert all(len(part) == size for part in parts[:-1])


def test_the_kernels_of_a_card_make_the_same_weights_bit_for_bit():
    pytest.importorskip("triton", reason="triton is not installed")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("kernels_against_noise.py"))],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [True] * 12


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 3), st.integers(0, 200), st.integers(1, 60))
def test_any_split_of_low_rank_noise_gives_the_same_elements(seed, rank, start, count):
    shape = (13, 5, 4)
    count = min(count, 260 - start)
    whole = noise.low_rank(seed, "w", shape, rank, 0, 260, "cpu")
    assert torch.equal(
        noise.low_rank(seed, "w", shape, rank, start, count, "cpu"), whole[start : start + count]
    )
    assert torch.linalg.matrix_rank(whole.reshape(13, 20), rtol=1e-4) <= rank


def test_low_rank_noise_has_variance_1_and_is_no_other_noise():
    for rank in (1, 4):
        found = torch.cat([noise.low_rank(s, "w", (50, 40), rank, 0, 2000, "cpu") for s in range(20)])
        assert abs(float(found.mean())) < 0.05
        assert abs(float(found.var()) - 1) < 0.1
    low, full = noise.low_rank(1, "w", (50, 40), 1, 0, 2000, "cpu"), noise.normals(1, "w", 0, 2000)
    assert abs(float(torch.corrcoef(torch.stack([low, full]))[0, 1])) < 0.1

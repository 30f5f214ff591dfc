"""Refits of meta-d′ are kept by the digest of what was fitted; a file that cannot be read is fitted again."""

import numpy as np
import pytest

from metacog_pipeline.benchmarks.signaldetection.contrasts import refits

KEY, OTHER = (refits.digest(np.array([float(k)])) for k in range(2))


def fits() -> dict[str, tuple[float, np.ndarray]]:
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=5)
    drawn[2] = np.nan
    return {name: (float(rng.normal()), drawn) for name in refits.FITTED}


def test_what_is_kept_comes_back_in_every_bit(tmp_path):
    made = fits()
    refits.write(tmp_path, KEY, made)
    found = refits.read(tmp_path, KEY)
    assert found is not None
    for name in refits.FITTED:
        assert found[name][0] == made[name][0] and found[name][1].tobytes() == made[name][1].tobytes()
    assert refits.read(tmp_path, OTHER) is None


@pytest.mark.parametrize("harm", ["cut", "text", "of another key"])
def test_a_file_that_cannot_be_read_or_belongs_to_other_counts_is_not_taken(tmp_path, harm):
    refits.write(tmp_path, KEY, fits())
    file = tmp_path / f"{KEY}.parquet"
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-40])
    elif harm == "text":
        file.write_text("meta_d\n1\n")
    else:
        file.rename(tmp_path / f"{OTHER}.parquet")
    assert refits.read(tmp_path, KEY) is None and refits.read(tmp_path, OTHER) is None


def test_counts_of_another_shape_have_another_digest():
    assert refits.digest(np.zeros((2, 3))) != refits.digest(np.zeros((3, 2)))

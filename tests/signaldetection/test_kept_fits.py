"""Refits of meta-d′ are kept by what was fitted, and whatever stands in the file, the numbers are those computed anew."""

import numpy as np
import polars as pl
import pytest
from metacog_pipeline.benchmarks.signaldetection.contrasts.kept_fits import FITTED, KeptFits, digest

KEYS = [digest(np.array([float(k)])) for k in range(3)]


def fits(seed: int) -> dict[str, tuple[float, np.ndarray]]:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=5)
    drawn[2] = np.nan
    return {name: (float(rng.normal()), drawn) for name in FITTED}


@pytest.fixture
def file(tmp_path):
    kept = KeptFits(tmp_path, "set")
    for seed, key in enumerate(KEYS[:2]):
        kept.put(key, fits(seed))
    kept.write()
    (made,) = tmp_path.glob("*.parquet")
    return made


def test_what_is_kept_comes_back_in_every_bit(file):
    kept = KeptFits(file.parent, "set")
    for seed, key in enumerate(KEYS[:2]):
        found, made = kept.get(key), fits(seed)
        assert found is not None
        for name in FITTED:
            assert found[name][0] == made[name][0] and found[name][1].tobytes() == made[name][1].tobytes()
    assert kept.get(KEYS[2]) is None and KeptFits(file.parent, "another set").get(KEYS[0]) is None


def test_what_nobody_asks_for_any_more_is_dropped_and_an_unchanged_file_is_left_alone(file):
    kept, before = KeptFits(file.parent, "set"), file.stat().st_mtime_ns
    kept.get(KEYS[0]), kept.get(KEYS[1])
    kept.write()
    assert file.stat().st_mtime_ns == before
    kept = KeptFits(file.parent, "set")
    kept.get(KEYS[0])
    kept.write()
    assert pl.read_parquet(file)["made_from"].to_list() == KEYS[:1]


@pytest.mark.parametrize("harm", ["cut", "text", "a number", "a key", "columns", "gone"])
def test_what_was_damaged_is_left_unread(file, harm):
    mark = pl.read_parquet_metadata(file)
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-40])
    elif harm == "text":
        file.write_text("meta_d\n1\n")
    elif harm == "gone":
        file.unlink()
    else:
        frame = pl.read_parquet(file)
        changed = {
            "a number": frame.with_columns(m_ratio=pl.col("meta_d")),
            "a key": frame.with_columns(made_from=pl.col("made_from").reverse()),
            "columns": frame.rename({"m_ratio": "ratio"}),
        }
        changed[harm].write_parquet(file, metadata=mark)
    assert KeptFits(file.parent, "set").get(KEYS[0]) is None


def test_the_name_tells_apart_values_and_shapes():
    one = np.arange(6.0)
    assert len({digest(one), digest(one[::-1]), digest(one.reshape(2, 3)), digest(one[:3], one[3:])}) == 4

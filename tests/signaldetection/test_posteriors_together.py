"""Posteriors of many cells are read from one file of what is needed of them: it holds what the file of each does."""

import numpy as np
import pytest

from metacog_pipeline.benchmarks.signaldetection.measures import posteriors
from metacog_pipeline.benchmarks.signaldetection.measures.posteriors import KEPT, Kept
from metacog_pipeline.stats.bayes.gate import CONVERGED
from metacog_pipeline.study.kept import write_kept
from metacog_pipeline.study.many_files import MANY

NEEDED = ("m_ratio", "d1")


@pytest.fixture
def paths(tmp_path):
    rng = np.random.default_rng(3)
    found = []
    for number in range(MANY + 2):
        converged = number != 7
        draws = {name: rng.normal(size=50) for name in KEPT} if converged else {}
        status, reason = (CONVERGED, "") if converged else ("not converged", "rhat 1.2")
        path = tmp_path / f"{number:064x}.parquet"
        write_kept(posteriors._row(Kept(status, reason, {}, draws, {"rhat": 1.0 + number})), path, path.stem)
        found.append(path)
    return found


def _same(found, other):
    assert found.keys() == other.keys()
    for place, kept in found.items():
        assert kept.draws.keys() == other[place].draws.keys()
        assert all(np.array_equal(values, other[place].draws[name]) for name, values in kept.draws.items())
        assert (kept.status, kept.reason, kept.convergence) == (
            other[place].status,
            other[place].reason,
            other[place].convergence,
        )
    return True


def test_many_posteriors_read_from_one_file_are_those_of_the_files_of_each(paths, tmp_path):
    one_by_one = {place: posteriors._read([path], NEEDED, tmp_path)[0] for place, path in enumerate(paths)}
    kept = tmp_path / "m_ratio-d1.parquet"
    assert not kept.exists()
    first = posteriors._read(paths[:-1], NEEDED, tmp_path)
    assert (
        kept.exists()
        and _same(first, {place: one_by_one[place] for place in first})
        and len(first) == MANY + 1
    )
    turned = posteriors._read(paths[::-1], NEEDED, tmp_path)  # one more, and in another order
    assert _same(turned, {len(paths) - 1 - place: each for place, each in one_by_one.items()})
    for path in paths[:3]:
        path.unlink()
    assert _same(posteriors._read(paths, NEEDED, tmp_path), one_by_one)


def test_posteriors_are_read_one_by_one_where_the_file_of_many_is_damaged_and_not_found_where_they_are_not(
    paths, tmp_path
):
    whole = posteriors._read(paths, NEEDED, tmp_path)
    for kept in tmp_path.glob("m_ratio-d1*"):
        data = bytearray(kept.read_bytes())
        data[len(data) // 2] ^= 1
        kept.write_bytes(bytes(data))
    paths[4].unlink()
    paths[5].write_bytes(paths[6].read_bytes())  # what another was made from
    found = posteriors._read(paths, NEEDED, tmp_path)
    assert _same(found, {place: each for place, each in whole.items() if place not in (4, 5)})
    assert posteriors._read(paths[:MANY], KEPT, tmp_path)[0].draws.keys() == set(KEPT)

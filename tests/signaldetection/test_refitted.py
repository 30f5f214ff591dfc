"""The refit that ships with the release: what it was made from, and that it holds what is computed now.

``METACOG_WRITE_REFIT=1`` writes it anew.
"""

import json
import os
import shutil

import polars as pl
import pytest

from metacog_pipeline.benchmarks.signaldetection import published, refitted
from tests.signaldetection.scored import bound

PLACE = ("place", "task", "model", "condition", "quantity", "method")


@pytest.fixture(scope="module")
def shipped_refit(tmp_path_factory):
    bench = bound()
    if os.environ.get("METACOG_WRITE_REFIT"):
        posteriors = tmp_path_factory.mktemp("posteriors")
        found = published.refit_tables(published.folder(), refitted.SEED, posteriors)
        refitted.write(published.folder(), published.release(bench), found)
    kept = refitted.read(published.folder(), published.release(bench))
    assert kept is not None, (
        "the tables, or a version behind them, have changed: run METACOG_WRITE_REFIT=1 pytest "
        "tests/signaldetection/test_refitted.py"
    )
    return kept


def test_the_shipped_refit_is_that_of_the_tables_and_versions_of_now(shipped_refit):
    assert len(shipped_refit.claims) == 9 * 3 * 3 + 27 * 2
    assert {each.source for each in shipped_refit.contrasts} == {"published"}


def test_the_shipped_refit_equals_what_is_computed_now(shipped_refit, tmp_path):
    for name in published.FILES:
        shutil.copy(published.folder() / name, tmp_path)
    cells = pl.read_csv(tmp_path / "counts.csv").head(1)  # a sample of the posteriors: one costs a second
    cells.write_csv(tmp_path / "counts.csv")
    again = published.refit_tables(tmp_path, refitted.SEED, tmp_path / "posteriors")
    kept = {tuple(getattr(each, name) for name in PLACE): each for each in shipped_refit.claims}
    assert len(again.claims) == 9 + 27 * 2
    for each in again.claims:
        own = kept[tuple(getattr(each, name) for name in PLACE)]
        assert (own.published, own.follows, own.note, own.n, own.status) == (
            *(each.published, each.follows, each.note, each.n),
            each.status,
        )
        # Another processor may round the last bit otherwise, and chains then part: as sure as the draws are.
        sure = 1e-8 if each.method != published.BAYES else 0.02
        for found, other in ((own.recomputed, each.recomputed), (own.low, each.low), (own.high, each.high)):
            assert found == pytest.approx(other, abs=sure)
    tests = {(t.family, t.measure, t.task, t.model, t.a, t.b): t for t in shipped_refit.contrasts}
    for found in again.contrasts:
        other = tests[found.family, found.measure, found.task, found.model, found.a, found.b]
        assert other.value == pytest.approx(found.value, abs=0.02) and other.verdict == found.verdict


def test_a_study_reads_the_shipped_refit_and_draws_nothing(shipped_refit, tmp_path, monkeypatch):
    monkeypatch.setattr(published, "refit_tables", lambda *a: pytest.fail("the release has it"))
    found = published.refit(bound(tmp_path / "home", seed=5))  # whatever the seed of the study
    assert found.claims == shipped_refit.claims and found.contrasts == shipped_refit.contrasts


@pytest.mark.parametrize("spoiled", ["a table", "a version", "no file", "a torn file"])
def test_a_refit_of_something_else_is_computed_anew(spoiled, tmp_path, monkeypatch, shipped_refit):
    for name in (*published.FILES, refitted.FILE):
        shutil.copy(published.folder() / name, tmp_path)
    monkeypatch.setattr(published, "folder", lambda: tmp_path)
    anew = refitted.Refit((), ())
    monkeypatch.setattr(published, "refit_tables", lambda *a: anew)
    bench = bound(tmp_path / "home")
    assert published.refit(bench) == shipped_refit
    kept = tmp_path / refitted.FILE
    if spoiled == "a table":
        table = tmp_path / "table_s1.csv"
        table.write_text(table.read_text().replace("0.", "1.", 1))
    elif spoiled == "a version":
        monkeypatch.setattr(published, "MODEL_VERSION", "of another sampler")
    elif spoiled == "no file":
        kept.unlink()
    else:
        kept.write_text(kept.read_text()[:-40])
    assert published.refit(bench) is anew


def test_a_refit_that_is_written_is_read_back_whole(shipped_refit, tmp_path):
    refitted.write(tmp_path, "of this", shipped_refit)
    assert refitted.read(tmp_path, "of this") == shipped_refit
    assert refitted.read(tmp_path, "of that") is None
    assert set(json.loads((tmp_path / refitted.FILE).read_text())) == {"made_from", "claims", "contrasts"}

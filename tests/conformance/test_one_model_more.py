"""A model that is added to a finished study costs its own pairs and its own pages; nothing of the others is made again."""

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.scoring import files, kept_pairs
from metacog_pipeline.study import load_study
from tests.performance.test_growth import ASKED, _study

OLD = ("m000", "m001")
NEW = "m002"
pytestmark = pytest.mark.slow


def _run(study: Path) -> None:
    subprocess.run([sys.executable, "-m", "metacog_pipeline", "run", str(study), "--quiet"], check=True)


def _pages(report: Path) -> dict[str, tuple[int, int]]:
    """Return which file stands at each place of a report: one that is written again is another."""
    found = (
        (path.relative_to(report).as_posix(), path.stat()) for path in report.rglob("*") if path.is_file()
    )
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in found}


def _of_old_models(pages: dict[str, tuple[int, int]]) -> set[str]:
    return {name for name in pages if set(OLD) & set(Path(name).parts)}


@pytest.fixture(params=sorted(ASKED))
def added(request, tmp_path):
    """The study of two models with its report, then of three: the study, what was kept and the pages before."""
    study = _study(tmp_path, request.param, len(OLD))
    _run(study)
    shutil.copytree(tmp_path / "home", tmp_path / "before")
    pages = _pages(tmp_path / "home" / "report")
    _run(_study(tmp_path, request.param, len(OLD) + 1))
    return study, tmp_path / "before", pages


def test_one_model_more_computes_its_own_pairs_and_writes_no_page_of_another(added, monkeypatch):
    study, before, pages = added
    (benchmark,) = enabled(load_study(study))
    now = _pages(study.parent / "home" / "report")
    again = {name for name in pages if now.get(name) != pages[name]}
    assert _of_old_models(pages) and not again & _of_old_models(pages)
    assert {name for name in now.keys() - pages.keys() if NEW in Path(name).parts}

    own = files.table_path(benchmark, "comparisons")
    made = pl.read_parquet(own)
    cache = Path("cache", "pairs", benchmark.name)
    shutil.rmtree(study.parent / "home" / cache)
    shutil.copytree(before / cache, study.parent / "home" / cache)
    own.unlink()
    asked: dict[str, list[tuple[str, ...]]] = {}
    compute = kept_pairs._rows

    def seen(benchmark, contrast, groups, wanted):
        asked[contrast.family] = list(wanted)
        return compute(benchmark, contrast, groups, wanted)

    monkeypatch.setattr(kept_pairs, "_rows", seen)
    found = files.compare(benchmark)
    pairs = [each.family for each in benchmark.contrasts if each.pairs]
    assert pairs and all(sorted(asked[family]) == [(old, NEW) for old in OLD] for family in pairs)
    assert found.pairs_computed == len(OLD) * len(pairs)
    assert found.pairs_read == len(list(itertools.combinations(OLD, 2))) * len(pairs)
    assert all(of == [(NEW,)] for family, of in asked.items() if family not in pairs)
    assert pl.read_parquet(own).equals(made)

"""A model that is added to a finished study costs its own pairs and its own pages; nothing of the others is made again."""

import itertools
import shutil
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.cli import main
from metacog_pipeline.scoring import files, kept_pairs
from metacog_pipeline.study import load_study
from tests.forked import FEW_DRAWS
from tests.performance.test_growth import ASKED, _study

#: Which pairs are computed and which pages are written hangs neither on how much is asked nor on how often is drawn.
FEWER = {
    "metamedqa": ["limit = 8"],
    "selfknowledge": ["limit = 8"],
    "metacogbench": ["limit = 2"],
    "signaldetection": ["trials = 8"],
}
SMALL = {name: [*FEWER.get(name, []), *lines] for name, lines in ASKED.items()}
OLD = ("m000", "m001")
NEW = "m002"
pytestmark = pytest.mark.slow


def _run(study: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", str(study), "--quiet"])
    assert not ended.value.code


def _pages(report: Path) -> dict[str, tuple[int, int]]:
    """Return which file stands at each place of a report: one that is written again is another."""
    found = (
        (path.relative_to(report).as_posix(), path.stat()) for path in report.rglob("*") if path.is_file()
    )
    return {name: (state.st_ino, state.st_mtime_ns) for name, state in found}


def _of_old_models(pages: dict[str, tuple[int, int]]) -> set[str]:
    return {name for name in pages if set(OLD) & set(Path(name).parts)}


class Added(NamedTuple):
    """A study of two models to which a third was added: the home of the two, and the report's files before and after."""

    study: Path
    before: Path
    pages: dict[str, tuple[int, int]]
    now: dict[str, tuple[int, int]]


@pytest.fixture(scope="module")
def added(tmp_path_factory, loaded, few_resamples):
    folder = tmp_path_factory.mktemp("growing")
    home, before = folder / "home", folder / "before"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FEW_DRAWS, "1")
        return _grown(folder, home, before)


def _grown(folder: Path, home: Path, before: Path) -> Added:
    _run(_study(folder, SMALL, len(OLD)))
    shutil.copytree(home / "cache" / "pairs", before)
    pages = _pages(home / "report")
    study = _study(folder, SMALL, len(OLD) + 1)
    _run(study)
    return Added(study, before, pages, _pages(home / "report"))


def test_one_model_more_writes_no_page_of_another(added):
    again = {name for name in added.pages if added.now.get(name) != added.pages[name]}
    assert _of_old_models(added.pages) and not again & _of_old_models(added.pages)
    assert {name for name in added.now.keys() - added.pages.keys() if NEW in Path(name).parts}


@pytest.mark.parametrize("name", ASKED)
def test_one_model_more_computes_its_own_pairs(name, added, monkeypatch):
    benchmark = next(each for each in enabled(load_study(added.study)) if each.name == name)
    own = files.table_path(benchmark, "comparisons")
    made = pl.read_parquet(own)
    kept = added.study.parent / "home" / "cache" / "pairs" / name
    shutil.rmtree(kept)
    shutil.copytree(added.before / name, kept)
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

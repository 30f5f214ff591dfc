"""Results of pairs are kept by what they were computed from: a model more costs its own pairs, and no number changes."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Comparison, Contrast
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring.kept_pairs import Kept
from metacog_pipeline.scoring.schemas import COMPARISON
from metacog_pipeline.study.kept import MOST_PARTS


class Study:
    """Models with one number each, and the pairs whose difference was asked for."""

    def __init__(self, folder: Path, **values: float) -> None:
        self.folder, self.values, self.asked = folder, values, []
        self.failing: set[str] = set()

    def compute(self, benchmark: Any, groups: Any, pairs: list[tuple[str, str]]) -> Iterator[Comparison]:
        self.asked += pairs
        there = {group.model for group in groups}
        for a, b in pairs:
            assert {a, b} <= there
            if {a, b} & self.failing:
                raise ZeroDivisionError(a)
            if "mute" in (a, b):
                continue
            gap = self.values[a] - self.values[b]
            for measure in ("later", "earlier"):
                p = min(1.0, 0.001 / abs(gap) if gap else 1.0)
                yield Comparison("pairs", measure, a, b, dataset="d", source="s", value=gap, p=p, n=40)

    def tests(self, kept: Kept | None) -> pl.DataFrame:
        contrast = Contrast("pairs", self.compute, within=("measure",), pairs=True)
        bench: Any = SimpleNamespace(name="bench", contrasts=(contrast,), questions=())
        groups: Any = [SimpleNamespace(model=name, dataset="d", source="s") for name in self.values]
        self.asked.clear()
        return comparing.comparisons(bench, groups, kept)

    def kept(self) -> Kept:
        return Kept(self.folder, {name: f"{name} {value}" for name, value in self.values.items()})


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path, **{f"m{place}": place * place / 7 for place in range(5)})


def written(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.rechunk().write_parquet(file)
    return file.getvalue()


def test_a_model_more_costs_its_own_pairs_and_the_table_is_that_of_all_computed_anew(study):
    first = study.kept()
    study.tests(first)
    assert (first.computed, first.read) == (10, 0)
    study.values["between"] = 0.3
    second = study.kept()
    found = study.tests(second)
    assert (second.computed, second.read) == (5, 10)
    assert len(study.asked) == 5 and all("between" in pair for pair in study.asked)
    assert written(found) == written(study.tests(None)) and found.schema == COMPARISON
    assert len(study.asked) == 15


def test_the_correction_counts_kept_and_new_pairs(study):
    alone = study.tests(study.kept()).filter(a="m3", b="m4", measure="later")["p_adjusted"][0]
    study.values["between"] = 0.3
    assert study.tests(study.kept()).filter(a="m3", b="m4", measure="later")["p_adjusted"][0] > alone


def test_a_model_that_changed_costs_its_own_pairs(study):
    study.tests(study.kept())
    study.values["m2"] = 9.0
    kept = study.kept()
    assert written(study.tests(kept)) == written(study.tests(None)) and kept.computed == 4


def test_a_model_that_went_takes_its_pairs_with_it(study):
    study.tests(study.kept())
    del study.values["m2"]
    kept = study.kept()
    assert written(study.tests(kept)) == written(study.tests(None)) and kept.computed == 0


def test_a_pair_without_rows_is_not_computed_again(study):
    study.values["mute"] = 1.0
    study.tests(study.kept())
    kept = study.kept()
    assert written(study.tests(kept)) == written(study.tests(None)) and kept.computed == 0


def many(folder: Path) -> Study:
    """A study of so many models that the pairs of one more are few."""
    return Study(folder, **{f"m{place:02}": place * place / 7 for place in range(20)})


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "bench").iterdir()}


def test_pairs_of_one_more_model_do_not_have_those_of_all_written_again(tmp_path):
    study = many(tmp_path)
    study.tests(study.kept())
    before = files(tmp_path)
    for number in range(MOST_PARTS + 2):
        study.values[f"more{number}"] = 0.3 + number / 10
        kept = study.kept()
        found = study.tests(kept)
        assert written(found) == written(study.tests(None)) and kept.computed == len(study.values) - 1
        there = files(tmp_path)
        same = there["pairs.parquet"] == before["pairs.parquet"]
        assert (same, len(there)) == (
            (True, number + 2) if number < MOST_PARTS else (False, number - MOST_PARTS + 1)
        )
    del study.values["m03"], study.values["more2"]
    kept = study.kept()
    assert written(study.tests(kept)) == written(study.tests(None)) and not kept.computed


@pytest.mark.parametrize("harm", ["cut", "gone", "twice"])
def test_a_part_that_is_damaged_gone_or_twice_there_costs_its_own_pairs(tmp_path, harm):
    study = many(tmp_path)
    study.tests(study.kept())
    study.values["more"] = 0.3
    whole = study.tests(study.kept())
    part = tmp_path / "bench" / "pairs.1.parquet"
    if harm == "cut":
        part.write_bytes(part.read_bytes()[:-100])
    elif harm == "gone":
        part.unlink()
    else:
        (tmp_path / "bench" / "pairs.2.parquet").write_bytes(part.read_bytes())
    kept = study.kept()
    assert written(study.tests(kept)) == written(whole) and kept.computed == (0 if harm == "twice" else 20)


@pytest.mark.parametrize("harm", ["cut", "empty", "text", "a number", "another study", "other columns"])
def test_what_was_damaged_or_comes_from_elsewhere_is_computed_anew(study, harm):
    whole = study.tests(study.kept())
    path = study.folder / "bench" / "pairs.parquet"
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif harm in ("empty", "text"):
        path.write_text("" if harm == "empty" else "model,p\n")
    elif harm == "a number":
        mark = pl.read_parquet_metadata(path)
        changed = pl.read_parquet(path).with_columns(p=pl.lit(0.001))
        changed.write_parquet(path, metadata=mark)
    elif harm == "other columns":
        pl.DataFrame({"p": [0.1]}).write_parquet(path, metadata=pl.read_parquet_metadata(path))
    else:
        other = Study(study.folder, **{name: value + 1 / 3 for name, value in study.values.items()})
        other.tests(other.kept())
    kept = study.kept()
    assert written(study.tests(kept)) == written(whole) and kept.computed == 10
    again = study.kept()
    study.tests(again)
    assert again.computed == 0


def test_a_pair_that_fails_leaves_its_own_row_and_is_tried_again(study):
    study.failing = {"m2"}
    found = study.tests(study.kept())
    failed = found.filter(pl.col("status") != "ok")
    assert failed.height == 4 and failed["status"].str.starts_with("failed: ZeroDivisionError").all()
    assert all("m2" in (row["a"], row["b"]) for row in failed.iter_rows(named=True))
    assert comparing.failures_in(found)
    study.failing = set()
    kept = study.kept()
    assert written(study.tests(kept)) == written(study.tests(None)) and kept.computed == 4


class Alone(Study):
    """Models each of which has rows of its own."""

    def each(self, benchmark: Any, groups: Any) -> Iterator[Comparison]:
        for group in groups:
            self.asked.append((group.model,))
            if group.model in self.failing:
                raise ZeroDivisionError(group.model)
            if group.model != "mute":
                value = self.values[group.model]
                for a in ("later", "earlier"):
                    p = min(1.0, 0.01 / (1 + value))
                    yield Comparison(
                        "own", "m", a, "none", dataset="d", source="s", model=group.model, value=value, p=p
                    )

    def tests(self, kept: Kept | None) -> pl.DataFrame:
        contrast = Contrast("own", self.each, within=("measure",), by_model=True)
        bench: Any = SimpleNamespace(name="bench", contrasts=(contrast,), questions=())
        groups: Any = [SimpleNamespace(model=name, dataset="d", source="s") for name in self.values]
        self.asked.clear()
        return comparing.comparisons(bench, groups, kept)


def test_rows_of_one_model_are_kept_by_model_and_corrected_over_all(tmp_path):
    study = Alone(tmp_path, one=0.5, two=1.5, mute=2.0)
    first = study.tests(study.kept())
    assert study.asked == [("one",), ("two",), ("mute",)]
    study.values["three"] = 0.7
    found = study.tests(study.kept())
    assert study.asked == [("three",)]
    assert written(found) == written(study.tests(None)) and found["n_tests"].unique().to_list() == [6]
    assert found["p_adjusted"][0] > first["p_adjusted"][0]
    study.values["two"] = 9.0
    assert written(study.tests(study.kept())) == written(study.tests(None))
    study.tests(study.kept())
    assert not study.asked


def test_a_model_whose_own_rows_fail_leaves_a_row_with_its_name_and_is_tried_again(tmp_path):
    study = Alone(tmp_path, one=0.5, two=1.5)
    study.failing = {"two"}
    found = study.tests(study.kept())
    assert found.filter(model="one").height == 2
    (status,) = found.filter(model="two")["status"].to_list()
    assert status.startswith("failed: ZeroDivisionError")
    study.failing = set()
    kept = study.kept()
    assert written(study.tests(kept)) == written(study.tests(None)) and not kept.computed


def test_a_file_whose_numbers_were_changed_by_hand_is_computed_anew(tmp_path):
    study = Alone(tmp_path, one=0.5, two=1.5)
    whole = study.tests(study.kept())
    path = tmp_path / "bench" / "own.parquet"
    mark = pl.read_parquet_metadata(path)
    pl.read_parquet(path).with_columns(value=pl.col("value") + 1).write_parquet(path, metadata=mark)
    assert written(study.tests(study.kept())) == written(whole) and len(study.asked) == 2

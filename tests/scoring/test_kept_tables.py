"""Rows of one model are kept by what they were made from: a model more costs its own, and the table is the same."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from metacog_pipeline.benchmark.contract import Table
from metacog_pipeline.scoring import comparisons as comparing
from metacog_pipeline.scoring.kept_pairs import Kept


@dataclass(slots=True)
class Row:
    """One number of a group."""

    condition: str
    model: str
    value: float
    share: float | None


class Study:
    """Models under two conditions, whose rows are counted as they are made."""

    def __init__(self, folder: Any) -> None:
        self.folder, self.models, self.asked = folder, {"m1": 1.0, "m3": 3.0}, []

    def of_group(self, benchmark: Any, group: Any) -> Any:
        self.asked.append((group.condition, group.model))
        for place in range(2):
            yield group.condition, group.model, self.models[group.model] + place, None

    def made(self, kept: bool = True, version: str = "1") -> tuple[pl.DataFrame, str | None]:
        def finish(rows: pl.DataFrame) -> pl.DataFrame:
            return rows.with_columns(share=pl.col("value") / pl.col("value").sum())

        table = Table("own", Row, None, "Numbers.", of_group=self.of_group, finish=finish, version=version)
        bench: Any = SimpleNamespace(name="bench")
        groups = [
            SimpleNamespace(condition=condition, model=model)
            for condition in ("a", "b")
            for model in sorted(self.models)
        ]
        known = Kept(self.folder, {name: f"{value}" for name, value in self.models.items()})
        self.asked.clear()
        scored: Any = SimpleNamespace(groups=groups)
        return comparing.table(bench, table, scored, known if kept else None)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


def test_a_model_more_costs_its_own_rows_and_the_table_is_that_of_all_computed_anew(study):
    study.made()
    study.models["m2"] = 2.0
    found, why = study.made()
    assert study.asked == [("a", "m2"), ("b", "m2")] and why is None
    whole, _ = study.made(kept=False)
    assert found.equals(whole) and found["model"].to_list() == ["m1", "m1", "m2", "m2", "m3", "m3"] * 2


def test_a_model_that_changed_and_a_new_version_are_computed_again(study):
    study.made()
    study.models["m1"] = 7.0
    found, _ = study.made()
    assert study.asked == [("a", "m1"), ("b", "m1")] and found.equals(study.made(kept=False)[0])
    study.made(version="2")
    assert len(study.asked) == 4


def test_a_model_that_left_is_not_in_the_table(study):
    study.made()
    del study.models["m1"]
    found, _ = study.made()
    assert set(found["model"]) == {"m3"} and not study.asked


def test_rows_that_fail_leave_the_table_empty_with_the_reason_and_are_tried_again(study):
    study.made()
    study.models["odd"] = "no number"
    found, why = study.made()
    assert found.is_empty() and "bench_own: TypeError" in why
    study.models["odd"] = 5.0
    assert study.made()[0].equals(study.made(kept=False)[0])

"""Numbers of the table over all benchmarks are kept per model: who did not change is not measured again."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.scoring import cross_benchmark
from metacog_pipeline.scoring.schemas import HARMONISED
from metacog_pipeline.study.frames import read_frame, write_frame


class Answered:
    """A study of models with harmonised responses on disk, and which models were measured."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.measured = folder, []
        monkeypatch.setattr(cross_benchmark, "paths", self._files)
        monkeypatch.setattr(cross_benchmark, "answers", lambda study, models: self._answers(*models))

    def study(self, *models: str) -> SimpleNamespace:
        return SimpleNamespace(
            home=Home(self.path),
            models=[SimpleNamespace(name=name) for name in models],
            study=SimpleNamespace(seed=1),
            enabled=(),
        )

    def answer(self, model: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame(
            {
                "benchmark": "metamedqa", "dataset": "sample", "condition": "baseline", "model": model,
                "source": "measured", "run": 1, "item_id": [str(n) for n in range(40)],
                "cluster": [str(n) for n in range(40)], "correct": rng.integers(0, 2, 40).astype(float),
                "confidence": rng.integers(0, 101, 40) / 100, "n_alternatives": 4, "response": None,
            },
            schema=HARMONISED,
        )  # fmt: skip
        write_frame(frame, self._file(model), f"{model} {seed}")

    def _files(self, study: SimpleNamespace) -> list[Path]:
        return [self._file(each.name) for each in study.models]

    def _file(self, model: str) -> Path:
        return self.path / "harmonised" / f"model={model}" / "run=1.parquet"

    def _answers(self, model: str) -> pl.DataFrame:
        self.measured.append(model)
        return read_frame(self._file(model))


def test_a_model_that_is_added_or_answers_anew_is_measured_alone(tmp_path, monkeypatch):
    home = Answered(tmp_path, monkeypatch)
    for seed, name in enumerate(("one", "two", "three")):
        home.answer(name, seed)
    first = cross_benchmark._calibration(home.study("two", "one"))
    assert home.measured == ["two", "one"] and first["model"].unique().sort().to_list() == ["one", "two"]
    again = cross_benchmark._calibration(home.study("one", "three", "two"))
    assert home.measured == ["two", "one", "three"]
    assert again.filter(pl.col("model") != "three").equals(first)
    home.answer("one", 9)
    changed = cross_benchmark._calibration(home.study("one", "two", "three"))
    assert home.measured == ["two", "one", "three", "one"]
    assert not changed.filter(pl.col("model") == "one").equals(again.filter(pl.col("model") == "one"))
    curves = read_frame(cross_benchmark.table_path(home.study(), cross_benchmark.CURVES))
    assert curves.group_by("model").len().sort("model")["len"].to_list() == [40, 40, 40]


@pytest.mark.parametrize("harm", ["torn", "a number", "another model", "another version", "gone"])
def test_kept_numbers_that_are_not_those_asked_for_are_made_again(tmp_path, monkeypatch, harm):
    home = Answered(tmp_path, monkeypatch)
    for seed, name in enumerate(("one", "two")):
        home.answer(name, seed)
    cross_benchmark._calibration(home.study("two"))
    path, other = (tmp_path / "cache" / "calibration" / f"{name}.parquet" for name in ("one", "two"))
    if harm == "another version":
        with monkeypatch.context() as earlier:
            earlier.setattr(cross_benchmark.calibrating, "VERSION", "earlier")
            cross_benchmark._calibration(home.study("one"))
    first = cross_benchmark._calibration(home.study("one"))
    table = (cross_benchmark.table_path(home.study(), name) for name in ("calibration", "curves"))
    written = [each.read_bytes() for each in table]
    frame, mark = pl.read_parquet(path), pl.read_parquet_metadata(path)
    match harm:
        case "torn":
            path.write_bytes(path.read_bytes()[:-9])
        case "a number":
            frame.with_columns(estimate=pl.col("estimate") + 0.1).write_parquet(path, metadata=mark)
        case "another model":
            path.write_bytes(other.read_bytes())
        case "gone":
            path.unlink()
    assert home.measured.count("one") == (2 if harm == "another version" else 1)
    home.measured.clear()
    assert cross_benchmark._calibration(home.study("one")).equals(first)
    assert home.measured == ([] if harm == "another version" else ["one"])
    table = (cross_benchmark.table_path(home.study(), name) for name in ("calibration", "curves"))
    assert [each.read_bytes() for each in table] == written, "kept or made again, the tables are the same"


def test_a_study_without_answers_has_empty_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(cross_benchmark, "paths", lambda study: [])
    monkeypatch.setattr(cross_benchmark, "answers", lambda study, models: HARMONISED.to_frame())
    study = SimpleNamespace(
        home=Home(tmp_path),
        models=[SimpleNamespace(name="one")],
        study=SimpleNamespace(seed=1),
        enabled=(),
    )
    assert cross_benchmark._calibration(study).is_empty()

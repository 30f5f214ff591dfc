"""What a paper prints is computed once, and again for another version, another seed or other tables."""

from types import SimpleNamespace
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Stage
from metacog_pipeline.home import Home
from metacog_pipeline.scoring import printed
from metacog_pipeline.study.frames import read_frame


def of(home: Home, made: list[str], *, name: str = "medley", version: str = "1", seed: int = 0) -> Any:
    def values(_: object) -> pl.DataFrame:
        made.append(version)
        return pl.DataFrame({"model": ["m"], "value": [1.0]})

    declared = SimpleNamespace(values=values, claims=lambda _: pl.DataFrame(), contrasts=None)
    return SimpleNamespace(
        name=name,
        published=declared,
        versions={Stage.SCORING: version},
        contrasts=(),
        questions=(),
        study=SimpleNamespace(home=home),
        seed=seed,
    )


def test_what_is_printed_is_made_anew_for_another_version_or_seed_and_where_a_file_is_gone(tmp_path):
    made: list[str] = []
    for version, seed in (("1", 0), ("1", 0), ("2", 0), ("2", 1), ("2", 1)):
        printed.write(of(Home(tmp_path), made, version=version, seed=seed))
    assert made == ["1", "2", "2"]
    values, claims, _ = map(read_frame, printed.paths(of(Home(tmp_path), made)))
    assert values.select("benchmark", "model", "value").rows() == [("medley", "m", 1.0)] and claims.is_empty()
    (tmp_path / "estimates" / "medley" / "published" / "published_claims.parquet").unlink()
    printed.write(of(Home(tmp_path), made, version="2", seed=1))
    assert len(made) == 4


def test_a_changed_table_is_read_again(tmp_path, monkeypatch):
    tables = tmp_path / "tables"
    tables.mkdir()
    monkeypatch.setattr(printed, "shipped", lambda *_: tables)
    made: list[str] = []
    for content in ("a\n1\n", "a\n1\n", "a\n2\n"):
        (tables / "table_1.csv").write_text(content, encoding="utf-8")
        printed.write(of(Home(tmp_path), made))
    assert len(made) == 2

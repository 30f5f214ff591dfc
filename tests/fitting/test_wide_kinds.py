"""Columns side by side that hold different kinds of things become rows, or the one that cannot is named."""

import json

import polars as pl
import pytest

from metacog_pipeline.errors import StudyError
from metacog_pipeline.fitting import reading
from tests.tables import every

WIDE = ("conf_*", "correct_*")


def read(tmp_path, a, b, wanted, wide=WIDE, **more):
    path = tmp_path / "w.jsonl"
    row = {"conf_a": a, "correct_a": 1, "conf_b": b, "correct_b": 0, **more}
    path.write_text(f"{json.dumps({name: value for name, value in row.items() if value != 'gone'})}\n" * 2)
    return reading.read(path, wanted, wide).frame.rows()


@every(
    ("a", "b", "column"),
    [
        (0.5, [0.4], "conf_b"),
        ([0.4], 0.5, "conf_a"),
        (0.5, {"p": 0.4}, "conf_b"),
        ([], 0.5, "conf_a"),
        ([0.4], "gone", "conf_a"),
        ([0.5], [0.4], "conf_a"),
    ],
)
def test_a_wide_column_of_lists_or_objects_is_named(tmp_path, a, b, column):
    with pytest.raises(StudyError, match=f"column '{column}' holds objects or lists; one number or label"):
        read(tmp_path, a, b, ["conf", "correct"])


@every(
    ("a", "b", "path", "found"),
    [
        ([0.5], [0.4], "conf[0]", [0.5, 0.5, 0.4, 0.4]),
        (0.5, [0.4], "conf[0]", [None, None, 0.4, 0.4]),
        ({"p": 0.5}, {"p": 0.4, "q": 1}, "conf.p", [0.5, 0.5, 0.4, 0.4]),
        ('{"p": 0.5}', {"p": 0.4}, "conf.p", [0.5, 0.5, 0.4, 0.4]),
        ([0.5], "gone", "conf[0]", [0.5, 0.5, None, None]),
    ],
)
def test_a_path_leads_into_wide_columns_of_any_kind(tmp_path, a, b, path, found):
    assert read(tmp_path, a, b, [path, "correct"]) == [*zip(found, [1, 1, 0, 0], strict=True)]


def test_a_wide_column_that_is_not_asked_for_may_hold_anything(tmp_path):
    rows = read(tmp_path, 0.5, 0.4, ["conf"], (*WIDE, "note_*"), note_a=[1], note_b="x")
    assert rows == [(0.5,), (0.5,), (0.4,), (0.4,)]


@every(
    ("other", "said"),
    [
        (pl.lit("2024-05-01").str.to_date(), "column 'conf_b' holds Date values"),
        (pl.lit(b"x"), "column 'conf_b' holds Binary values"),
        (pl.duration(days=1), "column 'conf_b' holds Duration"),
        (pl.lit("0.4").cast(pl.Categorical), "cannot be read as parquet"),
        (pl.struct(p=pl.lit(0.4)), "column 'conf_b' holds objects or lists"),
    ],
)
def test_kinds_of_parquet_that_do_not_go_together_are_one_line(tmp_path, other, said):
    path = tmp_path / "w.parquet"
    frame = pl.DataFrame({"conf_a": [0.5, 0.6], "correct_a": [1, 0], "correct_b": [0, 1]})
    frame.with_columns(conf_b=other).write_parquet(path)
    with pytest.raises(StudyError, match=said):
        reading.read(path, ["conf", "correct"], WIDE)

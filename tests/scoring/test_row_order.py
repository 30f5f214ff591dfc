"""Rows in the order of their columns, as polars sorts them."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.scoring import row_order
from metacog_pipeline.scoring.row_order import ordered

WORDS = st.one_of(st.none(), st.sampled_from(["", "a", "B", "b", "ä", "a b", "aa", "\U0001f600"]))
ROWS = st.lists(st.tuples(WORDS, st.one_of(st.none(), st.integers(0, 2**40)), WORDS), max_size=40)


@given(rows=ROWS, several=st.booleans())
def test_rows_stand_as_polars_sorts_them_and_equal_ones_as_they_stood(rows, several):
    schema = {"word": pl.String, "number": pl.Int64, "other": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("stood")
    if several:
        frame = pl.concat([frame[:3], frame[3:]], rechunk=False)
    expected = frame.sort("word", "number", "other", maintain_order=True)
    assert ordered(frame, ["word", "number", "other"]).equals(expected)


def test_more_combinations_than_fit_one_number_are_numbered_by_row(monkeypatch):
    monkeypatch.setattr(row_order, "_LARGEST", 10)
    frame = pl.DataFrame(
        {
            name: [(place * step) % 7 for place in range(20)]
            for name, step in zip("abc", (3, 5, 1), strict=True)
        }
    )
    assert ordered(frame, list("abc")).equals(frame.sort("a", "b", "c", maintain_order=True))

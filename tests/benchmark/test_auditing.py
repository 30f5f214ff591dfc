"""A printed number follows when rounding explains the difference; what is computed of tables is computed once."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmark.published_checks import AUDIT_SCHEMA, audit_frame, check
from metacog_pipeline.study.frames import computed

FINITE = st.floats(-1e6, 1e6)


@given(FINITE, FINITE, st.floats(0, 10))
def test_a_number_follows_within_the_tolerance_and_is_remarked_on_only_beyond(
    published, recomputed, tolerance
):
    made = check("table 1", "m", "d", "its parts", published, recomputed, tolerance, "otherwise")
    assert made.difference == recomputed - published
    assert made.follows == (abs(made.difference) <= tolerance + 1e-9)
    assert made.note == (None if made.follows else "otherwise")


def test_whole_numbers_are_kept_as_numbers_of_the_schema():
    frame = audit_frame(
        [check("t", "m", "n", "sum", 3, 4, 0.0, "no"), check("t", "m", "k", "sum", 3, 3, 0.0)]
    )
    assert frame.schema == AUDIT_SCHEMA
    assert frame.select("difference", "follows", "note").rows() == [(1.0, False, "no"), (0.0, True, None)]
    assert audit_frame([]).schema == AUDIT_SCHEMA


def test_frames_are_computed_again_only_when_one_was_made_from_something_else(tmp_path):
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    made: list[str] = []

    def ask(mark: str) -> list[pl.DataFrame]:
        def compute() -> list[pl.DataFrame]:
            made.append(mark)
            return [pl.DataFrame({"mark": [mark, name]}) for name in ("one", "two")]

        return computed(paths, mark, compute)

    first = ask("a")
    assert [frame["mark"].to_list() for frame in first] == [["a", "one"], ["a", "two"]]
    assert all(one.equals(other) for one, other in zip(ask("a"), first, strict=True)) and made == ["a"]
    paths[1].unlink()
    ask("a")
    ask("b")
    assert made == ["a", "a", "b"]

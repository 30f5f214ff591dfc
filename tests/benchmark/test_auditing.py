"""A printed number follows when rounding explains the difference; what is computed of tables is computed once."""

from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.scoring.published import AUDIT_SCHEMA, audit_frame, check

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

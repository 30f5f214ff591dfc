"""A number is right however it is written; a share and a percentage are one where somebody speaks of percent."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.benchmark.answers import shares, stated
from metacog_pipeline.benchmark.answers.question_rows import Question, question_of


def right(key, reply, question="What is it?", **columns):
    row = {"id": "q", "question": question, "answer": key, **columns}
    return stated.answer_of(reply, Question(**question_of(row, "own")).key).correct


DENOMINATORS = st.sampled_from([2, 4, 5, 8, 10, 16, 20, 25, 40, 50, 100])
FRACTIONS = st.tuples(st.integers(1, 400), DENOMINATORS).filter(lambda each: each[0] != each[1])


def decimal(value):
    return f"{float(value):.6f}".rstrip("0").rstrip(".")


@given(FRACTIONS)
def test_a_fraction_is_its_decimal_either_way(fraction):
    above, below = fraction
    value = Fraction(above, below)
    for said in (decimal(value), f"Answer: {decimal(value)}\nConfidence: 80%", f"It is {decimal(value)}."):
        assert right(f"{above}/{below}", said) is True
        assert (
            right(f"{above}/{below}", said.replace(decimal(value), decimal(value + Fraction(1, 16))))
            is not True
        )
    assert right(decimal(value), f"{above}/{below}") is True
    assert right(f"-{above}/{below}", f"-{decimal(value)}") is True
    assert right(f"-{above}/{below}", decimal(value)) is not True


@given(FRACTIONS)
def test_a_percentage_is_its_share_where_somebody_speaks_of_percent(fraction):
    above, below = fraction
    value = Fraction(above, below)
    percent = decimal(value * 100)
    share = f"{above}/{below}"
    assert right(f"{percent}%", f"{percent}%") is True
    assert right(share, f"{percent}%") is True
    assert right(share, percent) is False
    if value.denominator > 1:  # 1 is no 100 %
        assert right(f"{percent}%", share) is right(f"{percent}%", decimal(value)) is True
        assert right(percent, decimal(value), "What percentage is that?") is True
        assert right(percent, decimal(value)) is False
    assert right(decimal(value), f"{percent}%", "What is it in percent?") is False


@pytest.mark.parametrize(
    ("key", "said"),
    [("½", "0.5"), ("1 1/2", "1.5"), ("1½", "1.5"), ("1.5", "1 1/2"), ("1.5", "It takes 1½ hours."),
     ("3/4", "three quarters"), ("1/2", "half"), ("\\frac{3}{8}", "0.375"), ("1/2", "0,5"), ("50 %", "one half"),
     ("Seven", "7"), ("7", "ſeven"), ("1990-1995", "1990 to 1995"), ("1914-1918", "1914–18"), (["50%", "half"], ".5")],
)  # fmt: skip
def test_a_number_may_be_written_in_another_way(key, said):
    assert right(key, said) is True


@pytest.mark.parametrize(
    ("key", "said"),
    [("50/50", "1"), ("50/50", "100%"), ("100%", "1"), ("1/3", "0.333"), ("1/2", "50"), ("20", "0.2"),
     ("1/2", "0.5 or 0.6"), ("Ten", "There are 10 albums."), ("1990-1995", "1990-1996"), ("1990-1995", "1995")],
)  # fmt: skip
def test_another_number_is_wrong(key, said):
    assert right(key, said) is not True


YEARS = st.integers(1000, 2100)


SAID = ("{}-{}", "{} – {}", "{} to {}", "between {} and {}", "from {} until {}")


@given(YEARS, st.integers(1, 500), st.sampled_from(SAID))
def test_a_range_is_not_one_of_its_ends(low, more, said):
    reply = said.format(low, low + more)
    for kind in ("text", "number"):
        assert right(str(low), reply, kind=kind) is not True
        assert right(str(low + more), reply, kind=kind) is not True
    assert right(f"{low}-{low + more}", reply) is True


@pytest.mark.parametrize(
    "said",
    [
        "1995-03-12", "12-03-1995", "1995-03", "1995 - I am sure", "not 1990-1994 but 1995", "Windows-1995", "1995.",
    ],
)  # fmt: skip
def test_a_number_in_a_date_or_a_name_is_no_end_of_a_range(said):
    assert right("1995", said, kind="text") is True


@given(st.text(max_size=80))
def test_any_text_is_a_number_or_none(text):
    found = shares.share_of(text)
    assert found is None or isinstance(found.value, Fraction)

"""A column of confidence is on one scale: what seems to be on two is refused, unless a scale is declared."""

import pytest

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.answer_cells import RowError
from metacog_pipeline.interchange.cells import parse_scale
from metacog_pipeline.interchange.confidence import Confidence
from metacog_pipeline.interchange.import_rules import ImportOptions, QuestionRows
from tests.tables import every

MIXED = "two scales seem to be mixed"
SIGNS = ["85%", "0.85", "90%", "0.4", "85%", "0.85", "90%", "0.4", "85%"]


def imported(tmp_path, values, scale=None):
    found = Confidence(tmp_path / "t.csv", QuestionRows(None), ImportOptions(scale=parse_scale(scale)))
    for row, value in enumerate(values):
        found.take(value, row)
    found.check()


@every("values", [
    SIGNS, ["85%", "0.85"], ["85%"] * 200 + ["0.85"], ["85.5%", "91.5 %", "0.85"], ["85％", "0.85"], ["0.5%", "0.5"],
])  # fmt: skip
def test_a_sign_of_percent_beside_a_bare_share_is_refused_at_any_size(tmp_path, values):
    with pytest.raises(StudyError, match=MIXED):
        imported(tmp_path, values)


@every("values", [
    ["90"] * 300 + ["0.85"] * 10, ["90"] * 300 + ["0.85"], ["90", "85.0", "0.85"], ["85", "0.85"],
    ["0.85", "0.9"] * 20 + ["85"], [str(each) for each in range(2, 101)] + ["0.4"], ["100", "0.999", "99"] * 5,
])  # fmt: skip
def test_a_share_among_whole_numbers_is_refused_at_any_size(tmp_path, values):
    with pytest.raises(StudyError, match=rf"between 0 and 1 and .* above: {MIXED}"):
        imported(tmp_path, values)


@every("values", [
    ["85%", "0.5%", "90%"], ["85%", "0.5%", "0.1%", "90%"] * 5, ["37.4", "0.7", "88.2", "55.0", "0.2", "12.1"] * 3,
    ["85", "99.5", "0.5", "90"] * 5, ["85", "90", "0", "1", "100"] * 3, ["85", "90", "70"], ["85%", "90", "1"],
])  # fmt: skip
def test_half_a_per_cent_where_all_are_in_per_cent_or_have_places_is_kept(tmp_path, values):
    imported(tmp_path, values)


def test_a_declared_scale_is_that_of_bare_shares_and_takes_a_few_as_they_stand(tmp_path):
    for values in (["90"] * 300 + ["0.85"] * 10, ["90", "0.5", "85"], SIGNS):
        imported(tmp_path, values, "0..100")
    with pytest.raises(StudyError, match=f"{MIXED}; put all on one(;|$)"):
        imported(tmp_path, ["90", "0.85"] * 10, "0..100")
    with pytest.raises(RowError, match=r"outside 0\.\.1"):
        imported(tmp_path, SIGNS, "0..1")


def test_a_number_with_a_comma_is_refused_with_its_row(tmp_path):
    with pytest.raises(
        StudyError, match=r"row 1: confidence '0,75' is a number with a comma.*nothing was kept"
    ):
        imported(tmp_path, ["1", "0,75"])

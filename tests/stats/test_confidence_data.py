"""Which column is what and what its cells stand for is inferred by column; a column that can be read stays as it is."""

import numpy as np
import pytest

from metacog_pipeline.stats.confidence_columns import DataError, column, roles
from metacog_pipeline.stats.confidence_data import Given, read
from metacog_pipeline.stats.confidence_scale import Scale
from tests.tables import every

RATED = [1, 2, 3, 4, 2, 3, 1, 4]


def data(columns, **given):
    """Return the trials of columns of any length, the shorter ones repeated."""
    rows = max(map(len, columns.values()))
    table = {
        name: column(name, [cells[i % len(cells)] for i in range(rows)]) for name, cells in columns.items()
    }
    return read(table, Given(**given))


def refused(columns, *parts, **given):
    with pytest.raises(DataError) as error:
        data(columns, **given)
    assert all(part in str(error.value) for part in parts), error.value
    assert "\n" not in str(error.value)


@every(
    ("stimulus", "response"),
    [
        ([0, 1, 1, 0], [0, 1, 0, 1]),
        ([1, 2, 2, 1], [1, 2, 1, 2]),
        ([0, 1, 1, 0], [1, 2, 1, 2]),
        ([-1, 1, 1, -1], [0, 1, 0, 1]),
        (["1.0", "2.0", "2.0", "1.0"], [1, 2, 1, 2]),
        (["Left", "Right", "Right", "Left"], ["left", "RIGHT", " left", "right"]),
        (["absent", "present", "present", "absent"], ["absent", "present", "absent", "present"]),
        (["absent", "present", "present", "absent"], ["no", "yes", "no", "yes"]),
        (["noise", "signal", "signal", "noise"], [0, 1, 0, 1]),
        ([False, True, True, False], ["false", "true", "false", "true"]),
        ([7, 9, 9, 7], [7, 9, 7, 9]),
    ],
)
def test_two_labels_of_any_coding_are_s1_and_s2_in_each_column(stimulus, response):
    found = data({"stim": list(stimulus), "resp": list(response), "conf": RATED})
    assert found.stimulus.tolist() == [0, 1, 1, 0] * 2 and found.response.tolist() == [0, 1, 0, 1] * 2
    assert found.correct.tolist() == [1, 1, 0, 0] * 2


def test_what_is_known_to_be_right_decides_which_labels_are_the_same():
    stimulus, response = ["L", "R", "R", "L"], [1, 0, 1, 0]
    found = data({"stim": stimulus, "resp": response, "acc": [1, 1, 0, 0], "conf": RATED})
    assert found.correct.tolist() == [1, 1, 0, 0] * 2
    refused(
        {"stim": stimulus, "resp": response, "conf": RATED},
        "'stim' holds L, R",
        "'resp' holds 0, 1",
        "--map-values",
    )


@every(
    ("stimulus", "response", "right", "m"),
    [
        ([1, 2, 3, 4], [1, 2, 4, 4], [1, 1, 0, 1], 4),
        ([1, 2, 3], [0, 1, 0], [1, 1, 0], 3),
        (list("ABC"), list("abb"), [1, 1, 0], 3),
        (list("ABCDE"), list("AAAAA"), [1, 0, 0, 0, 0], 5),
    ],
)
def test_more_than_two_labels_are_a_choice_among_them(stimulus, response, right, m):
    found = data({"target": stimulus, "answer": response, "confidence": [1, 2, 3, 4, 5][: len(right)]})
    assert found.stimulus is None and found.correct.tolist() == right and found.m == m


def test_a_stimulus_that_is_a_quantity_is_not_used_where_right_and_wrong_are_known():
    strength = np.linspace(-1, 1, 50).round(2).tolist()
    found = data({"Stimulus": strength, "Accuracy": [0, 1], "Confidence": RATED})
    assert found.stimulus is None and found.correct[:2].tolist() == [0, 1]
    assert any("not used: Stimulus" in note for note in found.notes)
    refused(
        {"Stimulus": strength, "Response": [0, 1], "Confidence": RATED},
        "'Stimulus' holds 50 different values",
    )


@every(
    ("columns", "left"),
    [
        ({"stim": [1, 2], "resp": [1, 2, -1, 1, 2, 2, 1, 2], "conf": RATED}, {"resp missing (-1)": 1}),
        ({"stim": [1, 2], "resp": [1, 2, 0, 1, 2, 2, 1, 2], "conf": RATED}, {"resp missing (0)": 1}),
        ({"stim": [-1, 1], "resp": [-1, 1, 0, 1, -1, 1, 1, 1], "conf": RATED}, {"resp missing (0)": 1}),
        ({"stim": [0, 1], "resp": [0, 1], "conf": [1, 2, 99, 4]}, {"conf missing (99)": 1}),
        (
            {"stim": [0, 1], "resp": [0, 1, "NaN", "n/a"], "conf": [1, "", 2, 4]},
            {"resp missing": 2, "conf missing": 1},
        ),
        ({"ok": [1, 0, -1, 1], "conf": RATED}, {"ok missing (-1)": 2}),
        (
            {"stim": ["L", "R"], "resp": ["L", "R"] * 6 + ["timeout"], "conf": RATED},
            {"resp is neither L nor R": 1},
        ),
    ],
)
def test_codes_for_no_answer_are_missing_and_counted(columns, left):
    assert data(columns).account.counts == left


def test_minus_one_beside_one_is_a_label_and_where_it_may_be_either_the_table_is_refused():
    assert data({"ok": [1, -1, 1, 1], "conf": RATED}).correct.tolist() == [1, 0, 1, 1] * 2
    refused({"ok": [1] * 40 + [-1], "conf": RATED}, "wrong or no answer", "--map-values ok:-1=0")


@every(
    ("cells", "expected"),
    [
        (["50%", "75 %", "100%"], [50, 75, 100]),
        ([0.5, None, float("nan")], [0.5, None, None]),
        (["1.5", "0,5", "2"], [1.5, None, 2]),
        (["1", "1,000", "2"], [1, None, 2]),
        (["1", "7/10", "2", "0x1F", "5", "1_000", "4"], [1, None, 2, None, 5, None, 4]),
        (["3", "inf", "1e308"], None),
    ],
)
def test_numbers_are_read_as_people_write_them(cells, expected):
    if expected is None:
        refused({"ok": [1, 0, 1], "conf": cells}, "'conf' cannot be used in 2 of 3 rows")
    else:
        found = data({"ok": [1, 0, 1], "conf": cells}).confidence
        assert [None if np.isnan(each) else each for each in found] == expected


OK = [1, 1, 0, 1, 0, 0, 1]
ONE_TWO = [2, 2, 1, 2, 1, 1, 2]


@every(
    ("words", "columns", "expected"),
    [
        ("1=0,2=1", {"ok": ONE_TWO, "conf": [1, 2, 3]}, {"correct": OK, "confidence": [1, 2, 3, 1, 2, 3, 1]}),
        (
            "high=5,low=1",
            {"ok": [1, 0, 1], "conf": ["low", "High", 3]},
            {"correct": [1, 0, 1], "confidence": [1, 5, 3]},
        ),
        ("sure=90%", {"ok": [1, 0], "conf": ["85%", "sure"]}, {"confidence": [85, 90]}),
        (
            "maybe=0",
            {"ok": [1, "maybe"], "conf": [0.5, 0.25]},
            {"correct": [1, 0], "confidence": [0.5, 0.25]},
        ),
        ("ok:1=0,ok:0=1", {"ok": [1, 0], "conf": [1, 2]}, {"correct": [0, 1], "confidence": [1, 2]}),
        (
            "conf:1=3,conf:3=1",
            {"ok": [1, 0, 1], "conf": [1, 2, 3]},
            {"correct": [1, 0, 1], "confidence": [3, 2, 1]},
        ),
        ("1=0,2=1", {"s": [1, 2], "r": [1], "conf": [1, 2]}, {"stimulus": [0, 1], "response": [0, 0]}),
    ],
)
def test_words_are_for_columns_that_cannot_be_read_without_them_or_that_are_named(words, columns, expected):
    given: dict[str, dict[str, str]] = {}
    for pair in words.split(","):
        (name, word), value = pair.partition("=")[0].rpartition(":")[::2], pair.partition("=")[2]
        given.setdefault(name, {})[word] = value
    found = data(columns, words=given)
    assert {name: getattr(found, name).tolist() for name in expected} == expected


@every(
    ("conf", "given", "rating", "ratings", "note"),
    [
        ([1, 2, 4], {}, [1, 2, 4], 4, "ratings 1..4, the largest one seen"),
        ([0, 1, 2], {}, [1, 2, 3], 3, "its 3 levels from 0 to 2"),
        ([0.5, 0.75, 1.0], {}, [1, 2, 3], 3, "its 3 levels"),
        ([0, 25, 100], {}, [1, 2, 3], 3, "its 3 levels"),
        ([5, 10, 20], {}, [1, 2, 3], 3, "its 3 levels"),
        (np.linspace(0, 1, 12).tolist(), {}, [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3, 4, "4 quantile bins"),
        ([0, 1, 2], {"scale": Scale(0, 4)}, [1, 2, 3], 5, "ratings 0..4"),
        ([1, 2, 3, 4], {"bins": 2}, [1, 1, 2, 2], 2, "2 quantile bins"),
    ],
)
def test_confidence_becomes_ratings_and_it_is_said_how(conf, given, rating, ratings, note):
    found = data({"stim": [0, 1] * 6, "resp": [0, 1] * 6, "conf": conf * (12 // len(conf))}, **given)
    assert found.rating[: len(conf)].tolist() == rating and found.ratings == ratings
    assert any(note in each for each in found.notes)


def test_subjects_may_rate_on_scales_of_their_own():
    rng = np.random.default_rng(1)
    narrow, wide = rng.integers(1, 5, 60), rng.integers(0, 11, 60) * 10
    columns = {"subj": ["a"] * 60 + ["b"] * 60, "ok": [1, 0, 1], "conf": [*narrow, *wide]}
    found = data(columns)
    assert np.isnan(found.share[:60]).all() and (found.share[60:] == wide / 100).all()
    assert found.unscaled[0].startswith("no --scale declared") and found.unscaled[1] == ""
    columns |= {"stim": [0, 1], "resp": [0, 1, 1]}
    rated = data(columns)
    assert (
        rated.ratings == 4 and (rated.rating[:60] == narrow).all() and set(rated.rating[60:]) == {1, 2, 3, 4}
    )
    mixed = {**columns, "subj": ["a", "b"], "conf": [*narrow, *wide]}
    refused(mixed, "'conf' of a", "two scales seem to be mixed")
    assert data({**mixed, "conf": np.ravel([narrow, wide], order="F").tolist()}).ratings == 4


@every(
    ("names", "expected"),
    [
        (
            ["Subj_idx", "Stimulus", "Response", "Confidence", "RT_dec", "RT_conf"],
            "Subj_idx Stimulus Response Confidence",
        ),
        (["SubjectID", "target", "choice", "conf"], "SubjectID target choice conf"),
        (["sub", "correct_response", "response", "conf_level"], "sub correct_response response conf_level"),
        (["worker_id", "accuracy", "certainty"], "worker_id None None certainty"),
    ],
)
def test_columns_are_found_by_names_in_common_use(names, expected):
    found = roles(names)
    told = [found.get(role) for role in ("subject", "stimulus", "response", "confidence")]
    assert " ".join(map(str, told)) == expected


@every(
    ("columns", "parts"),
    [
        ({"a": [1], "b": [2]}, ["nothing shows right from wrong", "'a', 'b'"]),
        ({"stim": [0, 1], "conf": [1]}, ["'stim' (--stimulus) alone"]),
        ({"ok": [0, 1], "note": [1]}, ["no column of confidence"]),
        ({"ok": [0, 1], "Confidence": [1], "confidence": [2]}, ["'Confidence' and 'confidence' are both"]),
        (
            {"ok": [0, 1], "conf": ["sure", "unsure"]},
            ["'conf' cannot be used in 2 of 2 rows", "row 1 holds 'sure'"],
        ),
        ({"ok": ["A", "B", "C"], "conf": [1]}, ["'ok' cannot be used in 3 of 3 rows: row 1 holds 'A'"]),
        ({"ok": [1, 2], "conf": [1]}, ["'ok' cannot be used in 1 of 2 rows: row 2 holds '2'"]),
        ({"ok": [1, 0], "conf": [""]}, ["'conf' holds nothing"]),
        ({"ok": [1, 0], "conf": ["85%", "0.85"]}, ["per cent and plain numbers, '85%' and '0.85'"]),
        ({"ok": [1, 0], "conf": [0.85, 85, 0.9, 90]}, ["two scales seem to be mixed"]),
        (
            {"ok": [1, 0], "conf": [1, 2, 3, 4, 25, 50, 75, 100]},
            ["from 1 to 4 and 4 values from 25 to 100: two scales"],
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line_that_says_what_and_where(columns, parts):
    refused(columns, *parts)

"""What words stand for is said once for a table: it changes the columns that need it, and never turns right into wrong."""

import pytest

from metacog_pipeline.errors import StudyError
from metacog_pipeline.fitting.trials import Columns, trials
from metacog_pipeline.interchange.columns import Shape, parse_scale, parse_words
from tests.tables import every

OK, KEEP = [1, 1, 0, 1, 0, 0, 1], [2, 2, 1, 2, 1, 2, 1]
KEPT = [1, 1, 0, 1, 0, 1, 0]


def read(tmp_path, words, columns, **more):
    path = tmp_path / "t.csv"
    n = max(map(len, columns.values()))
    rows = [[str(values[row % len(values)]) for values in columns.values()] for row in range(n)]
    path.write_text("\n".join(map(",".join, [list(columns), *rows])))
    roles = {"correct": "ok", "keep": "keep", "confidence": "conf", "stimulus": "s", "response": "r"}
    named = {role: name for role, name in roles.items() if name in columns}
    return trials(path, Columns(**named, **more, shape=Shape((), parse_words([words]))))


def answers(tmp_path, words, columns, **more):
    (found,) = read(tmp_path, words, columns, **more).answers
    values = {"ok": found.correct, "keep": found.keep, "conf": found.confidence}
    return {name: each.tolist() for name, each in values.items() if each is not None}


@every(
    ("words", "keep", "expected"),
    [
        ("1=0,2=1", KEEP, KEPT),
        ("2=keep,1=withdraw", KEEP, KEPT),
        ("2=KEEP,1=Withdraw", KEEP, KEPT),
        ("1=0,2=1", [f"{each}.0" for each in KEEP], KEPT),
        ("2=yes,1=no", KEEP, KEPT),
        ("KEEP=1,WITHDRAW=0", ["KEEP", "WITHDRAW"], [1, 0, 1, 0, 1, 0, 1]),
        ("sure=1,not sure=0", ["sure", "Not sure"], [1, 0, 1, 0, 1, 0, 1]),
        ("1=0,2=1", [2, 1, "odd", 1, 2, 1, 2], None),
        ("0=keep,1=withdraw", KEPT, [0, 0, 1, 0, 1, 0, 1]),
        ("1=1,2=0", KEEP, [0, 0, 1, 0, 1, 0, 1]),
    ],
)
@pytest.mark.parametrize(
    "right", [OK, ["right" if each else "wrong" for each in OK], [float(each) for each in OK]]
)
def test_a_correctness_that_can_be_read_is_not_changed_by_words_for_another_column(
    tmp_path, words, keep, expected, right
):
    columns = {"ok": right, "keep": keep}
    if expected is None:
        with pytest.raises(StudyError, match="'keep'"):
            read(tmp_path, words, columns)
    else:
        assert answers(tmp_path, words, columns) == {"ok": OK, "keep": expected}


@every(
    ("words", "columns", "expected"),
    [
        ("1=0,2=1", {"ok": [2, 1], "keep": KEEP}, {"ok": [1, 0, 1, 0, 1, 0, 1], "keep": KEPT}),
        ("1=0,2=1", {"ok": [2, 1], "keep": KEPT}, {"ok": [1, 0, 1, 0, 1, 0, 1], "keep": KEPT}),
        (
            "1=0,0=1",
            {"ok": [1, 0], "conf": [0.5, 1.0, 0.0, 0.25]},
            {"ok": [0, 1, 0, 1], "conf": [0.5, 1, 0, 0.25]},
        ),
        ("1=wrong,0=right", {"ok": [1, 0], "keep": [1, 1, 0]}, {"ok": [0, 1, 0], "keep": [1, 1, 0]}),
        ("maybe=0", {"ok": [1, "maybe"], "conf": [0.5, 0.25]}, {"ok": [1, 0], "conf": [0.5, 0.25]}),
        ("high=5,low=1", {"ok": [1, 0], "conf": ["low", "High", 3]}, {"ok": [1, 0, 1], "conf": [1, 5, 3]}),
        ("1=4,2=3,3=2,4=1", {"ok": [1, 0], "conf": [1, 2, 3, 4]}, {"ok": [1, 0, 1, 0], "conf": [4, 3, 2, 1]}),
        ("sure=90%", {"ok": [1, 0], "conf": ["85%", "sure"]}, {"ok": [1, 0], "conf": [85, 90]}),
        ("t=0.9,f=0.1", {"ok": ["T", "F"], "conf": ["t", "f"]}, {"ok": [1, 0], "conf": [0.9, 0.1]}),
        ("99=na", {"ok": [1, 0, 0], "conf": [1, 2, 99]}, {"ok": [1, 0], "conf": [1, 2]}),
        ("-1=nan", {"ok": [1, 0, -1, 1], "conf": [0.5, 0.25, 1, -1]}, {"ok": [1, 0], "conf": [0.5, 0.25]}),
        (
            "1=0,2=1",
            {"ok": [1, 0], "keep": [1, 2, 2, 1, 2], "conf": [1, 2, 3, 4, 5]},
            {"ok": [1, 0, 1, 0, 1], "keep": [0, 1, 1, 0, 1], "conf": [1, 2, 3, 4, 5]},
        ),
    ],
)
def test_words_are_for_the_columns_that_need_them_or_for_the_one_they_change(
    tmp_path, words, columns, expected
):
    assert answers(tmp_path, words, columns) == expected


def test_it_is_said_which_column_words_are_for_where_another_would_be_changed(tmp_path):
    notes = read(tmp_path, "1=0,2=1", {"ok": OK, "keep": KEEP}).notes
    assert "--map-values is for 'keep' (--keep), not for 'ok' (--correct)" in notes
    assert not any(
        "map-values" in note for note in read(tmp_path, "2=1,1=0", {"ok": [2, 1], "keep": KEEP}).notes
    )


@every(
    ("words", "columns"),
    [
        ("1=0,0=1", {"ok": [1, 0], "keep": [1, 1, 0]}),
        ("true=0,false=1", {"ok": ["true", "false"], "keep": ["True", "true", "false"]}),
        ("0=1,1=0", {"ok": [1, 0], "conf": [0, 1, 1]}),
        ("0=na", {"ok": [1, 0], "conf": [0, 1, 2, 3]}),
        ("1=0,2=1", {"ok": [1, 0] * 20 + [2], "keep": KEEP}),
    ],
)
def test_words_that_may_be_for_either_of_two_columns_refuse_the_file(tmp_path, words, columns):
    with pytest.raises(
        StudyError, match=r"t.csv: --map-values: 'ok' \(--correct\).* would be changed by it; recode"
    ):
        read(tmp_path, words, columns)


def test_stimulus_and_response_take_the_same_words_though_one_has_a_single_value(tmp_path):
    columns = {"s": [1, 2], "r": [1], "conf": [1, 2, 3, 3]}
    counts = read(tmp_path, "1=0,2=1", columns).counts
    assert counts is not None
    assert counts.table.n_s1.tolist() == [[1, 0, 1, 0, 0, 0]]
    assert counts.table.n_s2.tolist() == [[1, 1, 0, 0, 0, 0]]


def test_a_declared_scale_tells_what_a_code_outside_it_is(tmp_path):
    columns = {"ok": [1, 0, 1], "conf": [-1, 50, 80]}
    assert answers(tmp_path, "-1=nan", columns, scale=parse_scale("0..100"))["conf"] == [50, 80]

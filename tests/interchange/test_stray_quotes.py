"""A quote that was not meant as one never takes rows out of a table: the file is refused, or read as it stands."""

import csv
import io
import random

import polars as pl
import pytest

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.answer_files import AnswerFile
from tests.tables import every

N = 12
OPEN = "is not closed before the end of the file"
BEHIND = "with text behind it"
ROWS = "the lines between look like rows"


def table(notes=None, usual="fine", between=",", end="\n", quoted=False):
    """Return a table of twelve rows with the given notes by row, from 0, as they stand."""
    mark = '"' if quoted else ""

    def line(*cells):
        return between.join(f"{mark}{cell}{mark}" for cell in cells)

    usual = usual if usual[:1] == '"' else line(usual)
    rows = [
        between.join([line(f"x{n}", n % 2, f"0.{11 + n}"), (notes or {}).get(n, usual)]) for n in range(N)
    ]
    return end.join([line("id", "ok", "conf", "note"), *rows])


def notes_of(path, text):
    """Return the last cell of each row of a file."""
    path.write_bytes(text.encode())
    file = AnswerFile(path)
    return [row.cells[file.columns[-1]] for row in file]


def refused(path, text, *parts):
    path.write_bytes(text.encode())
    with pytest.raises(StudyError) as error:
        AnswerFile(path)
    assert all(part in str(error.value) for part in (path.name, *parts)), error.value
    assert str(error.value).endswith("take it out, or write it twice within a cell in quotes")


@every(
    ("text", "line", "why"),
    [
        (table({3: '"unclear'}), 5, OPEN),
        (table({N - 1: '"unclear'}), 13, OPEN),
        (table({3: '"'}), 5, OPEN),
        (table({3: '"""Well'}), 5, OPEN),
        (table({3: '"she ""agreed'}), 5, OPEN),
        (table({3: '"später'}, between=";"), 5, OPEN),
        (table({3: '"later'}, between="\t"), 5, OPEN),
        (table({3: '"later'}, end="\r\n"), 5, OPEN),
        (table({3: '"later'}, end="\r"), 5, OPEN),
        ("sep=;\n" + table({3: '"later'}, between=";"), 6, OPEN),
        (table().replace("note", '"note', 1), 1, OPEN),
        (table().replace("x3,", '"x3,'), 5, OPEN),
        (table().replace("0.14", '"0.14'), 5, OPEN),
        (table({3: '"he said', 7: '"he said'}), 5, BEHIND),
        (table({2: '"so', 5: '"so', 9: '"so'}), 4, BEHIND),
        (table({3: '"so', 7: '5" pipe'}), 5, BEHIND),
        (table({3: '"so', 7: '"all in quotes"'}), 5, BEHIND),
        (table({3: '"so'}, usual='"all in quotes"'), 5, BEHIND),
        (table({3: '"so'}, quoted=True), 5, BEHIND),
        (table({3: '"she said "no" to it"'}, quoted=True), 5, BEHIND),
        (table({3: '"Oslo" it is'}), 5, BEHIND),
        (table({3: '"a \\"backslash\\" is no quote"'}), 5, BEHIND),
        (table({3: '"', 7: '"'}), 5, ROWS),
        (table({3: '"so', 7: '5"'}), 5, ROWS),
        (table({3: '"so', 4: '5"'}), 5, ROWS),
        (table({3: '"so', 7: '5"'}, end="\r\n"), 5, ROWS),
        (table({3: '"so', 7: '5"'}, usual=""), 5, ROWS),
        (table({3: '"so', 7: '5"'}, usual='""'), 5, ROWS),
    ],
)
def test_a_quote_that_takes_rows_into_a_cell_is_refused_with_its_line(tmp_path, text, line, why):
    refused(tmp_path / "t.csv", text, f": line {line}: the quote before", why)


def test_the_line_of_the_closing_quote_is_told(tmp_path):
    refused(tmp_path / "t.csv", table({3: '"he said', 7: '"he said'}), "'he said' is closed in line 9 with")


@every(
    ("cell", "value"),
    [
        ('"with, a comma"', "with, a comma"),
        ('"one line\nanother"', "one line\nanother"),
        ('"one line\n\nanother, and so on"', "one line\n\nanother, and so on"),
        ('"steps:\n1, look\n2, think"', "steps:\n1, look\n2, think"),
        ('"a table:\na,b\n1,2\n3,4"', "a table:\na,b\n1,2\n3,4"),
        ('"so, it, is, this\nor, it, is, that"', "so, it, is, this\nor, it, is, that"),
        ('"def f(a, b):\n    return a, b"', "def f(a, b):\n    return a, b"),
        ('"{""a"": 1,\n ""b"": [1,\n2]}"', '{"a": 1,\n "b": [1,\n2]}'),
        ('"she said ""no"" to it"', 'she said "no" to it'),
        ('"""no"""', '"no"'),
        ('""""', '"'),
        ('""', ""),
        ('5" pipe', '5" pipe'),
        ('5" by 6"', '5" by 6"'),
        ('5"', '5"'),
        ('she said "no" to it', 'she said "no" to it'),
        (' "no"', ' "no"'),
        ('"no" ', "no "),
        ('{"a": 1}', '{"a": 1}'),
        ("“no”", "“no”"),
        ("it's 5' long", "it's 5' long"),
    ],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_quotes_that_are_meant_are_read(tmp_path, cell, value, quoted):
    notes = {3: cell, 8: cell}
    expected = [value if n in notes else "fine" for n in range(N)]
    assert notes_of(tmp_path / "t.csv", table(notes, quoted=quoted)) == expected


def test_a_name_and_an_id_may_go_over_two_lines(tmp_path):
    text = table().replace("conf", '"conf\n(0 to 1)"', 1).replace("x3,", '"x3\nagain",')
    assert notes_of(tmp_path / "t.csv", text) == ["fine"] * N
    assert AnswerFile(tmp_path / "t.csv").columns == ["id", "ok", "conf\n(0 to 1)", "note"]


def test_what_is_refused_is_what_a_strict_reader_refuses(tmp_path):
    draw, path, refusals = random.Random(3), tmp_path / "t.csv", 0
    for _ in range(3000):
        text = "a,b\n" + "".join(draw.choice('"",,\n\nxyz\r') for _ in range(draw.randint(1, 24)))
        path.write_bytes(text.encode())
        try:
            list(csv.reader(io.StringIO(text, newline=""), strict=True))
            strict = False
        except csv.Error:
            strict = True
        try:
            AnswerFile(path)
            why = ""
        except StudyError as error:
            why = str(error)
        assert ("the quote before" in why) == strict, (text, why)
        refusals += strict
    assert 500 < refusals < 2500


def test_a_long_table_with_a_quote_near_its_end_is_refused_at_that_line(tmp_path):
    rows = pl.DataFrame({"ok": [0, 1] * 50_000, "conf": [0.5, 0.25] * 50_000, "note": ["fine, ok"] * 100_000})
    text = rows.write_csv()
    path = tmp_path / "t.csv"
    assert notes_of(path, text)[-1] == "fine, ok"
    refused(path, f'{text}1,0.5,5" pipe\n1,0.5,"so\n1,0.5,fine\n', "line 100003", OPEN)

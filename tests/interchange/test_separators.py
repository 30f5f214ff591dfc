"""What separates the cells of a table is told by its name and its header, names in quotes put aside."""

import gzip

import pytest

from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange.answer_files import AnswerFile
from tests.tables import every


@every(("name", "header", "names"), [
    ("t.tsv", "ok\tconf, percent, 0 to 100", ["ok", "conf, percent, 0 to 100"]),
    ("t.tsv.gz", "ok\tconf, percent, 0 to 100", ["ok", "conf, percent, 0 to 100"]),
    ("T.TSV", "ok\ta;b;c;d", ["ok", "a;b;c;d"]), ("t.tsv", "\n\nok\ta,b,c", ["ok", "a,b,c"]),
    ("t.tsv", "ok,conf", ["ok", "conf"]), ("t.tsv", "ok;conf", ["ok", "conf"]), ("t.tsv", '"a\tb",c', ["a\tb", "c"]),
    ("t.csv", "ok\tconf", ["ok", "conf"]),
    ("t.csv", 'ok;"conf, percent, 0 to 100"', ["ok", "conf, percent, 0 to 100"]),
    ("t.csv", '"a,b","c;d;e;f"', ["a,b", "c;d;e;f"]), ("t.csv", '"she said ""a,b,c""";ok', ['she said "a,b,c"', "ok"]),
    ("t.csv", 'ok;"a,b,c\nd,e"', ["ok", "a,b,c\nd,e"]), ("t.csv", '"ok\n1/0";"a,b,c"', ["ok\n1/0", "a,b,c"]),
    ("t.csv", 'a|b|"c,d,e"', ["a", "b", "c,d,e"]), ("t.csv", '5" pipe, 6" pipe,ok', ['5" pipe', '6" pipe', "ok"]),
    ("t.csv", "ok", ["ok"]), ("t.csv", "ok,conf;x,y", ["ok", "conf;x", "y"]),
])  # fmt: skip
def test_the_separator_of_a_header(tmp_path, name, header, names):
    text = f"{header}\n1\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert AnswerFile(tmp_path / name).columns == names


@every(("cell", "why"), [
    ('"unclear', "is not closed"), ('"', "is not closed"), ('"she ""agreed', "is not closed"),
    ('"well" he said', "follows its end"), ('"a "b" c"', "follows its end"),
])  # fmt: skip
def test_a_quote_that_would_take_rows_into_a_cell_refuses_the_file_with_its_line(tmp_path, cell, why):
    rows = [f"x{n},{cell if n == 3 else 'fine'}" for n in range(9)]
    (tmp_path / "t.csv").write_text("\n".join(["id,note", *rows]))
    with pytest.raises(StudyError, match=r"t\.csv: line \d+: .*" + why):
        list(AnswerFile(tmp_path / "t.csv"))


def test_quotes_within_a_cell_and_lines_in_quotes_stay_as_they_are(tmp_path):
    (tmp_path / "t.csv").write_text('id,note\n1,5" pipe\n2,"one\ntwo, ""three"""\n3,end\n')
    rows = [(row.number, row.cells["note"]) for row in AnswerFile(tmp_path / "t.csv")]
    assert rows == [(2, '5" pipe'), (3, 'one\ntwo, "three"'), (5, "end")]

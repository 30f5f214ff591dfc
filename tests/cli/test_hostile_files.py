"""Files made to hurt their reader are refused in one line or are inert, within bounded memory and time."""

import gzip
import json
import random
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.files import MOST_TOML, TooLargeError
from metacog_pipeline.interchange import parquet_bounds

ROW = {"item_id": "sample-0001", "choice": "A", "confidence": 4}
METACOG = (sys.executable, "-m", "metacog_pipeline")
MOST_MEMORY = 1_500_000_000  # bytes of address space; a plain import takes 0.9 GB of it


def _import(metacog, study: Path, file: Path):
    return metacog("import", "metamedqa", file, "--study", study, "--model", "theirs", "--run", "1")


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        '{"item_id": "sample-0002", "choice": ' + "9" * 100_000 + "}",
        json.dumps({"item_id": "sample-0002\x1b[2J\x07", "choice": "<script>alert(1)</script>"}),
        "\x00" * 1000,
    ],
    ids=["deep-list", "long-number", "markup", "nul"],
)
def test_a_hostile_line_is_told_and_the_others_are_kept(metacog, study, line):
    file = study.parent / "answers.jsonl"
    file.write_text(f"{json.dumps(ROW)}\n{line}\n", encoding="utf-8")
    result = _import(metacog, study, file)
    assert result.code == 8 and "1 answers kept" in result.out, (result.out, result.err)
    assert "Traceback" not in result.err and "\x1b" not in result.out + result.err
    assert len(result.err) < 20_000, "a long value is not printed whole"


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(study):
    file = study.parent / "answers.jsonl.gz"
    with gzip.open(file, "wb", compresslevel=9) as out:
        for _ in range(70):
            out.write(b" " * 2**20)
    limited = subprocess.run(
        [*METACOG, "import", "metamedqa", file, "--study", study, "--model", "theirs", "--run", "1"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY)),
    )
    assert limited.returncode == 2 and limited.stderr.count("\n") == 1, limited.stderr
    assert f"larger than {64 * 2**20} bytes unpacked" in limited.stderr


def test_a_table_that_says_it_has_a_billion_rows_is_refused(metacog, study):
    file = study.parent / "answers.parquet"
    empty = pa.table({"item_id": pa.nulls(10_000_000, pa.string())})
    with pq.ParquetWriter(file, empty.schema) as out:
        for _ in range(6):
            out.write_table(empty)
    assert file.stat().st_size < 1_000_000
    _import(metacog, study, file).refused_in_one_line("60,000,000 rows", "at most 50,000,000")


def test_a_table_with_a_lying_footer_is_refused_or_read_as_it_is(metacog, study):
    file = study.parent / "answers.parquet"
    pq.write_table(pa.Table.from_pylist([{**ROW, "response": "Answer: A\nConfidence: 4"}] * 3), file)
    whole, draw = file.read_bytes(), random.Random(8)
    footer = int.from_bytes(whole[-8:-4], "little")
    for _ in range(25):
        place = len(whole) - 8 - draw.randrange(footer + 4)
        lying = whole[:place] + bytes([draw.randrange(256)]) + whole[place + 1 :]
        file.write_bytes(lying)
        result = _import(metacog, study, file)
        assert "Traceback" not in result.err and result.code in (0, 2, 8), result.err


def _repeated(text, count):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), [text])


@pytest.mark.parametrize(
    ("column", "options"),
    [
        (lambda: _repeated("x" * 2_000_000, 100_000), {}),
        (lambda: pa.array(["x" * 1_000_000] * 100), {"use_dictionary": False, "compression": "zstd"}),
        (lambda: pa.ListArray.from_arrays([0, 20_000_000], pa.array(np.zeros(20_000_000, np.int8))), {}),
        (lambda: pa.StructArray.from_arrays([_repeated("x" * 2_000_000, 100_000)], ["s"]), {}),
    ],
    ids=["one long text in every row", "packed pages", "a list of zeros", "within a structure"],
)
def test_a_table_that_unpacks_to_far_more_than_it_is_is_refused(metacog, study, column, options):
    file = study.parent / "answers.parquet"
    pq.write_table(pa.table({"item_id": column()}), file, **options)
    assert file.stat().st_size < 3_000_000
    with pytest.raises(TooLargeError):
        for _ in parquet_bounds.batches(file):
            pass
    _import(metacog, study, file).refused_in_one_line("answers.parquet", "bytes unpacked")


def test_long_texts_are_read_in_pieces_and_come_back_whole(tmp_path):
    texts = [f"{number}" + "y" * 3_000_000 for number in range(24)]
    table = pa.table({"text": texts, "note": [["a", None], []] * 12, "n": range(24)})
    pq.write_table(table, tmp_path / "t.parquet", compression="none")
    pieces = list(parquet_bounds.batches(tmp_path / "t.parquet"))
    assert len(pieces) > 1 and max(sum(map(len, piece["text"].to_pylist())) for piece in pieces) <= 2**26
    assert [row for piece in pieces for row in piece.to_pylist()] == table.to_pylist()


def test_a_study_file_or_words_that_are_too_large_or_too_deep_are_refused(metacog, study):
    words, text = study.with_name("words.toml"), study.read_text()
    study.write_text(text.replace("limit = 10", 'limit = 10\nwording = "words.toml"'))
    words.write_text("a = " + "[" * 100_000)
    metacog("plan", study).refused_in_one_line("words.toml", "nested too deeply")
    words.write_bytes(b"#" * (MOST_TOML + 1))
    metacog("plan", study).refused_in_one_line("words.toml", "larger than")
    with study.open("ab") as file:
        file.truncate(100 * 2**20)
    metacog("plan", study).refused_in_one_line("study.toml", f"larger than {MOST_TOML} bytes")


def test_control_characters_of_a_study_file_never_reach_the_terminal(metacog, study):
    escape = "\\u001b]0;owned\\u0007\\u001b[31m\\u202e"
    plain = study.read_text()
    for old, new in (
        ('name = "t"', f'name = "{escape}"'),
        ('name = "sim"', f'name = "{escape}"'),
        ("limit = 10", f'limit = 10\n"{escape}" = 1'),
        ('dataset = "sample"', f'dataset = "{escape}"'),
        ('home = "home"', f'home = "{escape}"'),
    ):
        study.write_text(plain.replace(old, new))
        result = metacog("plan", study)
        assert not any(
            (ord(c) < 32 and c != "\n") or c in "\x7f\u202e\x9b" for c in result.out + result.err
        ), new

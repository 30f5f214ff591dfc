"""Files made to hurt their reader are refused in one line or are inert, within bounded memory and time."""

from __future__ import annotations

import gzip
import json
import random
import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.files import MOST_TOML

ROW = {"item_id": "sample-0001", "choice": "A", "confidence": 4}
METACOG = (sys.executable, "-m", "metacog_pipeline")
MOST_MEMORY = 1_500_000_000  # bytes of address space; a plain import takes 0.9 GB of it


def _import(metacog, study: Path, file: Path):
    return metacog("import", "metamedqa", file, "--study", study, "--model", "theirs", "--run", "1")


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        '{"item_id":' * 50_000,
        '{"item_id": "sample-0002", "choice": ' + "9" * 100_000 + "}",
        '{"item_id": "sample-0002", "choice": 1e999999}',
        '{"item_id": "sample-0002", "choice": NaN}',
        '{"item_id": ["sample-0002"], "choice": {"A": {"A": "A"}}}',
        '{"item_id": "../../etc/passwd", "choice": "A"}',
        '{"item_id": "__import__(\'os\')", "choice": "A"}',
        json.dumps({"item_id": "sample-0002\x1b[2J\x07", "choice": "<script>alert(1)</script>"}),
        "\x00" * 1000,
    ],
    ids=["deep-list", "deep-object", "long-number", "huge", "nan", "nested", "path", "code", "markup", "nul"],
)
def test_a_hostile_line_is_told_and_the_others_are_kept(metacog, study: Path, line: str) -> None:
    file = study.parent / "answers.jsonl"
    file.write_text(f"{json.dumps(ROW)}\n{line}\n", encoding="utf-8")
    result = _import(metacog, study, file)
    assert result.code == 8 and "1 answers kept" in result.out, (result.out, result.err)
    assert "Traceback" not in result.err and "\x1b" not in result.out + result.err
    assert len(result.err) < 20_000, "a long value is not printed whole"


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(study: Path) -> None:
    file = study.parent / "answers.jsonl.gz"
    with gzip.open(file, "wb", compresslevel=9) as out:
        for _ in range(200):
            out.write(b" " * 2**20)
    limited = subprocess.run(
        [*METACOG, "import", "metamedqa", file, "--study", study, "--model", "theirs", "--run", "1"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY)),
    )
    assert limited.returncode == 2 and limited.stderr.count("\n") == 1, limited.stderr
    assert f"larger than {64 * 2**20} bytes unpacked" in limited.stderr


def test_a_table_that_says_it_has_a_billion_rows_is_refused(metacog, study: Path) -> None:
    file = study.parent / "answers.parquet"
    empty = pa.table({"item_id": pa.nulls(10_000_000, pa.string())})
    with pq.ParquetWriter(file, empty.schema) as out:
        for _ in range(6):
            out.write_table(empty)
    assert file.stat().st_size < 1_000_000
    _import(metacog, study, file).refused_in_one_line("60,000,000 rows", "at most 50,000,000")


def test_a_table_with_a_lying_footer_is_refused_or_read_as_it_is(metacog, study: Path) -> None:
    file = study.parent / "answers.parquet"
    pq.write_table(pa.Table.from_pylist([{**ROW, "response": "Answer: A\nConfidence: 4"}] * 3), file)
    whole, draw = file.read_bytes(), random.Random(8)
    footer = int.from_bytes(whole[-8:-4], "little")
    for _ in range(60):
        place = len(whole) - 8 - draw.randrange(footer + 4)
        lying = whole[:place] + bytes([draw.randrange(256)]) + whole[place + 1 :]
        file.write_bytes(lying)
        result = _import(metacog, study, file)
        assert "Traceback" not in result.err and result.code in (0, 2, 8), result.err


def test_a_study_file_of_a_hundred_megabytes_is_not_read(metacog, study: Path) -> None:
    with study.open("ab") as file:
        file.truncate(100 * 2**20)
    metacog("plan", study).refused_in_one_line("study.toml", f"larger than {MOST_TOML} bytes")


def test_words_and_lexicons_that_are_too_large_or_too_deep_are_refused(metacog, study: Path) -> None:
    words = study.with_name("words.toml")
    study.write_text(study.read_text().replace("limit = 10", 'limit = 10\nwording = "words.toml"'))
    words.write_text("a = " + "[" * 100_000)
    metacog("plan", study).refused_in_one_line("words.toml", "nested too deeply")
    words.write_bytes(b"#" * (MOST_TOML + 1))
    metacog("plan", study).refused_in_one_line("words.toml", "larger than")


def test_control_characters_of_a_study_file_never_reach_the_terminal(metacog, study: Path) -> None:
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

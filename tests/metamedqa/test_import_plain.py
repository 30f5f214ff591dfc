"""A long table is taken, refused and told alike, whether its rows are matched as columns or looked at one by one."""

from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.benchmarks.metamedqa.read import IMPORTER
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import import_plain
from metacog_pipeline.interchange.imported import Imported, ImportOptions
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "t"
home = "home"
[[models]]
name = "theirs"
provider = "replay"
[benchmarks.metamedqa]
dataset = "sample"
"""
PLAIN = [f"sample-{n:04d},{'ABCDEF'[n % 6]},{n % 5 + 1}" for n in range(96)]
TABLES = {
    "all": PLAIN,
    "some": PLAIN[:40],
    "lower case and spaces": [*PLAIN[:20], "sample-0020,b,3", " sample-0021 ,C ,4"],
    "unreadable": [*PLAIN[:50], "sample-0050,Q,3", "nobody,A,1", "12,A,1", "sample-0052,,4", "sample-0053,A,"],
    "short, long and blank lines": [*PLAIN[:30], "sample-0030", "", " , ,", "sample-0031,A,2,,", "sample-0032,A,2,x"],
    "twice": [*PLAIN[:30], PLAIN[3], "sample-0004,Q,3", "sample-0040,Q,1", "sample-0040,A,1"],
    "another case of the id": [*PLAIN[:30], "SAMPLE-0030,A,1", "Sample-0005,B,2"],
    "confidence off the scale": [*PLAIN[:50], "sample-0050,A,7", "sample-0051,A,high"],
    "no confidence": [line.rpartition(",")[0] + "," for line in PLAIN],
    "percent": [f"{line.rpartition(',')[0]},{10 * n}" for n, line in enumerate(PLAIN[:11])],
}  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    (folder / "study.toml").write_text(STUDY)
    return folder


def taken(study: Path, name: str, lines: list[str], least: int, monkeypatch: Any) -> Imported | str:
    monkeypatch.setattr(import_plain, "LEAST_BYTES", least)
    kept: list[Any] = []
    monkeypatch.setattr(
        "metacog_pipeline.interchange.importing.keep_whole",
        lambda partition, records: kept.append(records),
    )
    file = study / f"{name}.csv"
    file.write_text("\n".join(["item_id,choice,confidence", *lines]), encoding="utf-8")
    try:
        into = bound(load_study(study / "study.toml"), "metamedqa")
        return IMPORTER.read(into, file, "theirs", 1, (), "baseline", ImportOptions())
    except StudyError as error:
        return str(error)


@pytest.mark.parametrize("name", TABLES)
def test_columns_and_rows_give_the_same(name, study, monkeypatch):
    by_rows = taken(study, name, TABLES[name], 10**9, monkeypatch)
    by_columns = taken(study, name, TABLES[name], 0, monkeypatch)
    if isinstance(by_rows, str) or isinstance(by_columns, str):
        assert by_columns == by_rows
        return
    same = {
        field: (getattr(by_rows, field), getattr(by_columns, field))
        for field in ("rejected", "warnings", "summary")
    }
    assert all(one == other for one, other in same.values()), same
    said = [
        sorted(
            (each.item_id, each.answer_id, each.item_hash, each.text, each.condition)
            for each in found.records
        )
        for found in (by_rows, by_columns)
    ]
    assert said[0] == said[1]

"""``metacog doctor --kept`` names what is damaged, changes nothing unasked, and repairs without losing an answer."""

import asyncio
import os
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.study import digests, load_study
from metacog_pipeline.study.frames import write_frame
from metacog_pipeline.transcripts.store import PartitionFolder, PartitionStore, kept_records
from tests.transcripts.conftest import _record

STUDY = """
[study]
name = "t"
home = "home"
budget_usd = 1.0
[[models]]
name = "sim"
provider = "simulated"
[benchmarks.metamedqa]
dataset = "sample"
"""


@pytest.fixture
def study(tmp_path):
    """A study with one paid partition, its copy, a file made from it, and the digests of what was published."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    loaded = load_study(path)
    loaded.prepare()
    home = loaded.home

    async def ask() -> None:
        budget = Budget(home, 1.0)
        with PartitionStore.open(PartitionFolder(home, "metamedqa", "sim", 1)) as store:
            for n in range(5):
                budget.charge(await budget.reserve(0.02), 0.01)
                await store.keep(_record(n, cost_usd=0.01))
            store.compact()
        budget.close()

    asyncio.run(ask())
    (home.items / "metamedqa.parquet").write_bytes(b"items")
    (home.leaderboard).write_bytes(b"board")
    write_frame(pl.DataFrame({"p": [0.5]}), home / "cache" / "fits" / "a.parquet", "a")
    digests.note(home)
    return path


def _verify(study: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", str(study), "--kept", *options])


def _state(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_a_sound_home_is_said_to_be_so_and_stays_as_it_is(study):
    before = _state(study.parent / "home")
    result = _verify(study)
    assert result.exit_code == 0, result.output
    assert "5 records in 1 partitions" in result.output and "everything is as it was kept" in result.output
    assert "$0.0500 in the ledger, $0.0500 in kept answers" in result.output
    assert _state(study.parent / "home") == before


@pytest.mark.parametrize(
    "name",
    [
        "transcripts/benchmark=metamedqa/model=sim/run=1/journal-000001.jsonl",
        "transcripts/benchmark=metamedqa/model=sim/run=1/transcripts.parquet",
        "items/metamedqa.parquet",
        "leaderboard.duckdb",
        "cache/fits/a.parquet",
    ],
)
def test_damage_is_named_then_repaired_and_no_answer_is_lost(study, name):
    home = study.parent / "home"
    path = home / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    before = _state(home)
    result = _verify(study)
    assert isinstance(result.exception, StoreError) and str(path) in result.output
    assert "1 damaged place:" in str(result.exception) and "--repair" in str(result.exception)
    assert _state(home) == before, "without --repair nothing changes"
    repaired = _verify(study, "--repair")
    assert "put aside" in repaired.output and "metacog run" in str(repaired.exception)
    assert path.with_name(f"{path.name}.damaged").read_bytes() == bytes(content)
    folder = PartitionFolder(Home(home), "metamedqa", "sim", 1)
    assert {record.item_id for record in kept_records(folder)} == {_record(n).item_id for n in range(5)}


@pytest.mark.parametrize("also", [(), ("items/metamedqa.parquet",)])
def test_what_no_run_makes_again_is_named_and_stays(study, also):
    home = study.parent / "home"
    (home / "people").mkdir(exist_ok=True)
    kept = home / "people" / "answers.parquet"
    kept.write_bytes(b"answers of people")
    digests.note(Home(home))
    if not also:
        digests.begin(Home(home))  # a run that is under way does not make it again either
    kept.write_bytes(b"answers of people?")
    for name in also:
        (home / name).write_bytes(b"")
    result = _verify(study, "--repair")
    assert f"{kept}: is not what was published; no run makes it again" in result.output
    assert kept.read_bytes() == b"answers of people?" and f"put aside {kept}" not in result.output
    said = "but for 1 that no run makes again" if also else "1 damaged place, left in place"
    assert said in str(result.exception)
    kept.unlink()
    assert f"{kept}: is gone; no run makes it again" in _verify(study).output


def test_a_damaged_record_of_the_ledger_is_named(study):
    record = next((study.parent / "home" / "ledger").glob("*.json"))
    record.write_bytes(record.read_bytes().replace(b" 50000000", b" 10000000", 1))
    result = _verify(study)
    assert isinstance(result.exception, StoreError) and str(record) in result.output


def test_what_was_made_since_the_boards_were_published_is_counted_and_no_damage(study):
    (study.parent / "home" / "items" / "new.parquet").write_bytes(b"new")
    result = _verify(study)
    assert result.exit_code == 0 and "1 were made since the boards were published" in result.output


def test_what_a_report_wrote_is_noted_alone_and_all_else_stands_as_it_was(study):
    home = load_study(study).home
    page, estimates = home.report / "index.html", home.path / "made" / "later.txt"
    for path in (page, estimates):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("new", encoding="utf-8")
    before = digests.compare(home)
    digests.note(home, home.report)
    after = digests.compare(home)
    assert (after.same, after.new, after.damage) == (before.same + 1, before.new - 1, {})
    page.unlink()
    digests.note(home, home.report)
    assert digests.compare(home).same == before.same


def test_one_file_is_noted_alone(study):
    home = load_study(study).home
    home.leaderboard.write_bytes(b"another board")
    (home.items / "metamedqa.parquet").write_bytes(b"other items")
    digests.note(home, home.leaderboard)
    assert digests.compare(home).damage == {home.items / "metamedqa.parquet": "is not what was published"}
    home.leaderboard.unlink()
    before = digests.compare(home).same
    digests.note(home, home.leaderboard)
    after = digests.compare(home)
    assert after.same == before and home.leaderboard not in after.damage


def test_a_damaged_note_of_digests_is_named_and_put_aside(study):
    note = study.parent / "home" / "study" / digests.NOTE
    note.write_text("[1, 2", encoding="utf-8")
    result = _verify(study)
    assert isinstance(result.exception, StoreError) and f"{note}: is damaged" in result.output
    _verify(study, "--repair")
    assert _verify(study).exit_code == 0 and not note.exists()


def test_what_was_made_since_the_boards_were_published_is_no_damage_until_it_is_published(study):
    home = load_study(study).home
    items = home.items / "metamedqa.parquet"
    digests.begin(home)
    digests.begin(home)
    items.write_bytes(b"made anew")
    made = _verify(study)
    assert made.exit_code == 0 and "1 were made since the boards were published" in made.output, made.output
    digests.note(home)
    items.write_bytes(b"changed by hand")
    assert f"{items}: is not what was published" in _verify(study).output


def test_what_rots_while_files_are_made_anew_is_damage(study):
    home = load_study(study).home
    items = home.items / "metamedqa.parquet"
    found = items.stat()
    digests.begin(home)
    items.write_bytes(b"rotten")
    os.utime(items, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert f"{items}: is not what was published" in _verify(study).output

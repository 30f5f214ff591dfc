"""``metacog doctor --kept`` names what is damaged, changes nothing unasked, and repairs without losing an answer."""

import asyncio
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StoreError
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import write_frame
from metacog_pipeline.transcripts.store import PartitionFolder, PartitionStore, kept_records
from tests.studies import write_study
from tests.transcripts.conftest import _record


@pytest.fixture
def study(tmp_path):
    """A study with one paid partition, its copy, and tables that were made and imported."""
    path = write_study(tmp_path, {"name": "sim", "provider": "simulated"}, budget_usd=1.0)
    loaded = load_study(path)
    loaded.prepare()
    home = loaded.home

    async def ask() -> None:
        budget = Budget(home, 1.0)
        with PartitionStore(PartitionFolder(home, "metamedqa", "sim", 1)) as store:
            for n in range(5):
                budget.charge(await budget.reserve(0.02), 0.01)
                await store.keep(_record(n, cost_usd=0.01))
            store.compact()
        budget.close()

    asyncio.run(ask())
    write_frame(pl.DataFrame({"p": [0.5]}), home.items / "metamedqa.parquet", "a")
    write_frame(pl.DataFrame({"p": [0.5]}), home.people / "metamedqa.parquet", "a")
    return path


def _verify(study: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", str(study), "--kept", *options])


def _state(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_a_sound_home_is_said_to_be_so_and_stays_as_it_is(study):
    before = _state(study.parent / "home")
    result = _verify(study)
    assert result.exit_code == 0, result.output
    assert "5 records in 1 partitions" in result.output and "everything can be read" in result.output
    assert "$0.0500 in the ledger, $0.0500 in kept answers" in result.output
    assert _state(study.parent / "home") == before


@pytest.mark.parametrize(
    "name",
    [
        "transcripts/benchmark=metamedqa/model=sim/run=1/journal-000001.jsonl",
        "transcripts/benchmark=metamedqa/model=sim/run=1/transcripts.parquet",
        "items/metamedqa.parquet",
    ],
)
def test_damage_is_named_then_repaired_and_no_answer_is_lost(study, name):
    home = study.parent / "home"
    path = home / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content[:-1] if name.endswith(".parquet") else content)
    content = path.read_bytes()
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


def test_a_damaged_record_of_the_ledger_is_named(study):
    record = next((study.parent / "home" / "ledger").glob("*.json"))
    record.write_bytes(record.read_bytes().replace(b" 50000000", b" 10000000", 1))
    result = _verify(study)
    assert isinstance(result.exception, StoreError) and str(record) in result.output


def test_what_no_run_makes_again_is_named_and_stays(study):
    torn = study.parent / "home" / "people" / "metamedqa.parquet"
    torn.write_bytes(b"PAR1")
    result = _verify(study, "--repair")
    assert f"{torn}: cannot be read" in result.output and "no run makes it again" in result.output
    assert torn.read_bytes() == b"PAR1"

"""``metacog metacogbench``: a catalogue a person can skim, and fresh items from a seed."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from metacog_pipeline.benchmarks.metacogbench.construction.shipped import read_texts
from metacog_pipeline.cli import cli
from metacog_pipeline.errors import StudyError


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["metacogbench", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_catalogue_shows_every_item_with_its_answer():
    text = _run("list")
    assert text.count("\nTier ") == 5
    shown = ("bet.fabrication.1", "unknowable", "eco.nodes", "8 nodes", "second turn:", "transfer.knapsack")
    for expected in shown:
        assert expected in text
    assert max(map(len, text.splitlines())) < 1200


def test_one_tier_as_rows_and_as_records():
    rows = list(csv.DictReader(io.StringIO(_run("list", "--tier", "1b", "--format", "csv"))))
    assert len(rows) == 34 and {row["tier"] for row in rows} == {"1b"}
    records = json.loads(_run("list", "--set", "metacog41", "--tier", "3", "--format", "json"))
    assert len(records) == 4 and all(len(record["item_hash"]) == 64 for record in records)


def test_fresh_items_repeat_by_seed_and_read_back(tmp_path):
    for seed in ("7", "8"):
        _run("generate", "--tier", "1b", "--seed", seed, "--output", str(tmp_path / f"{seed}.toml"))
    again = _run("generate", "--tier", "1b", "--seed", "7", "--format", "csv")
    seven, eight = (read_texts(tmp_path / f"{seed}.toml") for seed in ("7", "8"))
    assert [row["item_id"] for row in csv.DictReader(io.StringIO(again))] == [item.item_id for item in seven]
    assert sum(a.stem == b.stem for a, b in zip(seven, eight, strict=True)) <= 1


def test_one_generator_can_be_asked_for():
    text = _run("generate", "--tier", "3", "--seed", "3", "--generator", "knapsack", "--format", "text")
    assert text.count("transfer.") == 1 and "* best_score" in text
    with pytest.raises(StudyError, match="no generator"):
        _run("generate", "--tier", "3", "--seed", "3", "--generator", "x")


def test_a_folder_as_output_is_one_line(tmp_path):
    with pytest.raises(StudyError, match="cannot be written"):
        _run("generate", "--tier", "1b", "--seed", "3", "--output", str(tmp_path))

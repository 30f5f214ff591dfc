"""Logs of other programs: three real ones of inspect_ai (a mock model, questions of our own), and changed copies."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.interchange import importing, tables
from metacog_pipeline.interchange.columns import Scale
from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.interchange.logs import inspect_log, reading

FIXTURES = Path(__file__).parent / "fixtures"
Entries = dict[str, Any]


def entries_of(path):
    """Return every entry of an ``.eval`` file as JSON."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        found = archive.infolist()
        return {each.filename: json.loads(inspect_log.unpacked(path, file, each)) for each in found}


def lines(path, *rows):
    """Write rows as lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def samples(path):
    """Return every sample that is read of a log."""
    found = reading.samples_of(path)
    assert found is not None
    return list(found)


def written(path, entries, *, with_summaries=False):
    """Write entries as an ``.eval`` file of the older packing; by default without summaries, as older logs are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in entries.items():
            if with_summaries or "summaries" not in name:
                archive.writestr(name, json.dumps(value))
    return path


@pytest.fixture
def changed(tmp_path):
    """Return what writes a changed copy of ``small.eval``: called with each sample, and with the header."""

    def make(sample=lambda _: None, header=lambda _: None):
        entries = entries_of(FIXTURES / "small.eval")
        header(entries["header.json"])
        for name, value in entries.items():
            if name.startswith("samples/"):
                sample(value)
        return written(tmp_path / "changed.eval", entries)

    return make


@pytest.fixture
def take(tmp_path):
    """Return what imports a log into ``study.toml`` of the test's folder."""

    def run(path, **options):
        return importing.take(path, tmp_path / "study.toml", (), None, ImportOptions(**options))

    return run


@pytest.fixture
def take_table(tmp_path):
    """Return what imports a table of questions, confidence in percent, into ``study.toml`` of the test's folder."""

    def run(path):
        samples = tables.read(path, (), ImportOptions(scale=Scale(0, 100)))
        assert samples is not None
        return importing.import_questions(path, tmp_path / "study.toml", samples, ImportOptions())

    return run

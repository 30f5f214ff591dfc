"""Logs of other programs: three real ones of inspect_ai (a mock model, questions of our own), and changed copies."""

import json
import zipfile
from pathlib import Path

import pytest

from metacog_pipeline.interchange import importing
from metacog_pipeline.interchange.import_rules import ImportOptions
from metacog_pipeline.interchange.logs import inspect_log, reading

FIXTURES = Path(__file__).parent / "fixtures"


def entries_of(path):
    """Return every entry of an ``.eval`` file as JSON."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        return {one.filename: json.loads(inspect_log.unpacked(path, file, one)) for one in archive.infolist()}


def lines(path, *rows):
    """Write rows as lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def samples(path):
    """Return every sample that is read of a log."""
    found = reading.samples_of(path)
    assert found is not None
    return list(found)


def written(path, entries):
    """Write entries as an ``.eval`` file of the older packing; without summaries, as older logs are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in entries.items():
            if "summaries" not in name:
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
    """Return what imports a file into ``study.toml`` of the test's folder."""

    def run(path, **options):
        return importing.import_file(path, tmp_path / "study.toml", ImportOptions(**options))

    return run

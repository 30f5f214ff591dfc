"""Logs of other programs: three real ones of inspect_ai (a mock model, questions of our own), and changed copies."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking.logs import importing, inspect_log, reading

FIXTURES = Path(__file__).parent / "fixtures"
Entries = dict[str, Any]


def entries_of(path: Path) -> Entries:
    """Return every entry of an ``.eval`` file as JSON."""
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        return {
            each.filename: json.loads(inspect_log._content(path, file, each)) for each in archive.infolist()
        }


def written(path: Path, entries: Entries, *, with_summaries: bool = False) -> Path:
    """Write entries as an ``.eval`` file of the older packing; by default without summaries, as older logs are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in entries.items():
            if with_summaries or "summaries" not in name:
                archive.writestr(name, json.dumps(value))
    return path


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a changed copy of ``small.eval``: called with each sample, and with the header."""

    def make(
        sample: Callable[[Any], None] = lambda _: None, header: Callable[[Any], None] = lambda _: None
    ) -> Path:
        entries = entries_of(FIXTURES / "small.eval")
        header(entries["header.json"])
        for name, value in entries.items():
            if name.startswith("samples/"):
                sample(value)
        return written(tmp_path / "changed.eval", entries)

    return make


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., importing.Done]:
    """Return what imports a log into ``study.toml`` of the test's folder."""

    def run(path: Path, **options: Any) -> importing.Done:
        samples = reading.samples_of(path)
        assert samples is not None
        return importing.import_log(path, tmp_path / "study.toml", samples, importing.LogOptions(**options))

    return run

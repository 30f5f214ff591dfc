"""A file is whole or as it was, and what a disk refuses names the file."""

import errno
import os

import polars as pl
import pytest

from metacog_pipeline.errors import reason_of
from metacog_pipeline.files import replacing, write_text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_late_fault_of_the_disk_names_the_file_and_leaves_it_as_it_was(tmp_path, monkeypatch, number):
    path = tmp_path / "board.json"
    write_text(path, "old")

    def refused(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refused)
    with pytest.raises(OSError) as told:
        write_text(path, "new")
    assert reason_of(told.value).startswith(f"{path}: {os.strerror(number)}: free space")
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["board.json"]


def test_a_fault_that_a_library_tells_in_words_only_names_the_file_too(tmp_path):
    path = tmp_path / "board.parquet"
    with pytest.raises(OSError) as told, replacing(path):
        raise pl.exceptions.ComputeError(
            "parquet: underlying IO error: No space left on device (os error 28)"
        )
    assert reason_of(told.value).startswith(f"{path}: No space left on device: free space")
    assert not list(tmp_path.iterdir())


def test_what_is_no_fault_of_the_disk_is_told_as_it_is(tmp_path):
    with pytest.raises(ConnectionResetError) as told, replacing(tmp_path / "board.json"):
        raise ConnectionResetError(errno.ECONNRESET, "reset by peer")
    assert told.value.filename is None

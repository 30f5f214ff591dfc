"""A file is whole or as it was, and what a disk refuses names the file."""

import errno
import fcntl
import os
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.errors import reason_of
from metacog_pipeline.files import UMASK, replacing, write_changed, write_text


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


@pytest.fixture
def forced(monkeypatch):
    """Which files and folders are forced to the disk, in turn."""
    found, real = [], os.fsync

    def noted(descriptor):
        found.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return found


def test_a_file_that_says_the_same_keeps_its_time_and_another_is_forced_to_the_disk(tmp_path, forced):
    page = tmp_path / "page.html"
    write_changed(page, "made")
    assert forced[-1] == str(tmp_path) and len(forced) == 2
    before = page.stat().st_mtime_ns
    write_changed(page, b"made")
    assert (page.stat().st_mtime_ns, len(forced)) == (before, 2)
    write_changed(page, "new")
    assert page.read_text() == "new" and len(forced) == 4


@pytest.mark.parametrize("known", [True, False], ids=["local disk", "network volume"])
def test_where_there_is_a_full_flush_a_file_goes_through_the_cache_of_the_drive(
    tmp_path, forced, monkeypatch, known
):
    asked = []

    def full(descriptor, operation):
        asked.append(operation)
        if not known:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full)
    write_text(tmp_path / "board.json", "new")
    assert asked == [51, 51]  # the file, then its folder
    assert len(forced) == (0 if known else 2)


def test_a_file_has_the_rights_that_the_umask_leaves(tmp_path):
    write_text(tmp_path / "board.json", "new")
    assert (tmp_path / "board.json").stat().st_mode & 0o777 == 0o666 & ~UMASK

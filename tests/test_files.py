"""A file is whole or as it was, and what a disk refuses names the file."""

import errno
import os
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.errors import reason_of
from metacog_pipeline.files import force, forced_together, replacing, write_changed, write_text


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


def test_files_written_together_are_forced_to_the_disk_at_the_end_and_each_folder_once(tmp_path, forced):
    pages = [tmp_path / folder / f"{n}.html" for folder in "ab" for n in range(3)]
    with forced_together():
        for page in pages:
            write_changed(page, "made")
        assert not forced and all(page.read_text() == "made" for page in pages)
    assert forced == [str(page) for page in pages] + [str(tmp_path / folder) for folder in "ab"]
    forced.clear()
    write_changed(pages[0], "anew")
    assert len(forced) == 2 and forced[1] == str(tmp_path / "a")


def test_what_was_written_is_forced_before_a_note_says_so_and_what_is_gone_since_is_passed_over(
    tmp_path, forced
):
    with forced_together():
        write_changed(tmp_path / "old", "made")
        write_changed(tmp_path / "page", "made")
        (tmp_path / "old").unlink()
        force()
        assert forced == [str(tmp_path / "page"), str(tmp_path)]
        write_changed(tmp_path / "note", "page is made")
        assert len(forced) == 2
    assert forced[2:] == [str(tmp_path / "note"), str(tmp_path)]


def test_a_fault_of_the_disk_at_the_end_names_the_file(tmp_path, monkeypatch):
    def refused(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refused)
    with pytest.raises(OSError) as told, forced_together():
        write_changed(tmp_path / "page", "made")
    assert told.value.filename == str(tmp_path / "page")

"""Files that are whole or absent, on a disk that fails."""

import errno
import os

import pytest

from metacog_pipeline.files import write_text


def test_a_disk_that_fails_is_told_with_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    def failing(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match=r"Input/output error.*kept\.json"):
        write_text(tmp_path / "kept.json", "{}")
    assert not list(tmp_path.iterdir())

"""Files of words: errors name file, key and value; what changed on disk is read again, nothing else is."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.study.wording import read_words, require_known, require_text, system_text, words_of


@pytest.mark.parametrize("content", [None, b"x = [", b"x = '\xff'", b"x = " + b"[" * 5000])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, content):
    path = tmp_path / "words.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StudyError, match=r"judge file .*words\.toml cannot be read.*UTF-8 TOML"):
        read_words(path, "judge file")
    path.write_bytes(b"\xef\xbb\xbfid = 'own'")  # a byte order mark is no part of the words
    assert read_words(path) == {"id": "own"}


def test_an_unknown_key_is_told_with_the_one_meant():
    require_known("f.toml", {"system": 1}, ("id", "system"))
    with pytest.raises(StudyError, match=r"f\.toml: unknown key 'systm' \(did you mean \"system\"\?\)"):
        require_known("f.toml", {"systm": 1}, ("id", "system"))
    with pytest.raises(StudyError, match="unknown key 'zzz'; allowed are: id"):
        require_known("f.toml", {"zzz": 1}, iter(("id",)))
    assert suggestion("zzz", ()) == ""


@example([""] * 500)  # however long the value, what to do is told
@given(st.one_of(st.none(), st.integers(), st.booleans(), st.text(" \n\t"), st.lists(st.text())))
def test_only_words_are_a_text(value):
    with pytest.raises(StudyError, match="must be a text that is not empty"):
        require_text("f.toml: id", value)
    assert require_text("f.toml: id", f"{value}!") == f"{value}!"


def test_a_system_message_may_be_empty_and_is_the_usual_one_where_none_is_named():
    path = Path("f.toml")
    assert system_text(path, {}, "usual") == "usual" and system_text(path, {"system": ""}, "usual") == ""
    with pytest.raises(StudyError, match=r"f\.toml: system = 3 must be a text"):
        system_text(path, {"system": 3}, "usual")


def test_words_are_read_again_only_when_a_file_of_theirs_changed(tmp_path):
    study: Any = SimpleNamespace(beside=lambda given: tmp_path / given)
    folder, seen = tmp_path / "words", list[Path | None]()
    folder.mkdir()

    def load(path: Path | None) -> list[str]:
        seen.append(path)
        return [] if path is None else [each.read_text("utf-8") for each in sorted(path.iterdir())]

    assert words_of(study, None, load) == [] and words_of(study, None, load) == []
    for text in ("one", "two"):
        (folder / "a.txt").write_text(text, "utf-8")
        os.utime(folder / "a.txt", ns=(0, len(seen)))
        assert words_of(study, Path("words"), load) == [text] == words_of(study, Path("words"), load)
    (folder / "b.txt").write_text("three", "utf-8")
    assert words_of(study, Path("words"), load) == ["two", "three"]
    assert seen == [None, folder, folder, folder]
    # A file that is not there is for the loader to report.
    with pytest.raises(StudyError, match=r"none\.toml cannot be read"):
        words_of(study, Path("none.toml"), lambda path: read_words(path or Path()))

"""Many small files are read as one file that is kept, and give what they give one by one."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import SourceError
from metacog_pipeline.study.frames import mark_of, read_frames, write_frame
from metacog_pipeline.study.many_files import MANY, read_many


def written(folder, name, rows, mark):
    path = folder / name / "0.parquet"
    write_frame(
        pl.DataFrame({"x": rows, "name": [name] * len(rows)}, schema={"x": pl.Int64, "name": pl.String}),
        path,
        mark,
    )
    return path


@pytest.fixture
def paths(tmp_path):
    return [written(tmp_path, f"m{n:02}", [n, 2 * n], f"mark {n}") for n in range(MANY)]


@pytest.fixture
def read(tmp_path):
    kept = tmp_path / "kept" / "all.parquet"

    def of(paths):
        found = read_many(paths, [mark_of(path) for path in paths], kept)
        expected = read_frames(paths)
        assert found.equals(expected) and found.schema == expected.schema
        return kept

    return of


def test_a_file_that_changed_or_came_is_read_and_the_others_are_not(paths, read, tmp_path, monkeypatch):
    kept = read(paths)
    opened = []
    real = pl.read_parquet

    def counted(source, **how):
        opened.append(source)
        return real(source, **how)

    monkeypatch.setattr("metacog_pipeline.study.frames.pl.read_parquet", counted)
    first = kept.read_bytes()
    more = written(tmp_path, "m005a", [9], "another mark")
    written(tmp_path, "m07", [7, 7, 7], "mark 7, made anew")
    some = [*paths[:5], more, *paths[6:]]
    found = read_many(some, [mark_of(path) for path in some], kept)
    assert [path for path in opened if path in some] == [more, paths[7]]
    assert found.equals(read_frames(some)) and kept.read_bytes() == first
    opened.clear()
    read_many(some, [mark_of(path) for path in some], kept)
    assert not [path for path in opened if path in some]


@pytest.mark.parametrize("harm", ["cut", "text", "other columns", "gone"])
def test_what_is_kept_may_be_damaged_or_gone(paths, read, harm):
    kept = read(paths)
    if harm == "cut":
        kept.write_bytes(kept.read_bytes()[:-50])
    elif harm == "text":
        kept.write_text("x,name\n")
    elif harm == "gone":
        kept.unlink()
    else:
        pl.DataFrame({"made_from": ["a"], "y": [1]}).write_parquet(
            kept, metadata=pl.read_parquet_metadata(kept)
        )
    read(paths)
    read(paths)


def test_files_of_other_columns_are_read_as_they_are_without_them(paths, read, tmp_path):
    read(paths)
    other = tmp_path / "other" / "0.parquet"
    write_frame(pl.DataFrame({"x": [1], "more": ["a"]}), other, "other mark")
    read([*paths, other])
    read([other, *paths])


def test_a_file_without_a_mark_is_read_every_time(paths, read, tmp_path):
    read(paths)
    written(tmp_path, "m03", [1], "")
    read(paths)
    written(tmp_path, "m03", [2], "")
    read(paths)


def test_a_damaged_file_is_named(paths, tmp_path):
    paths[2].write_text("nothing")
    with pytest.raises(SourceError, match="m02"):
        read_many(paths, [mark_of(path) for path in paths], tmp_path / "kept.parquet")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), unique_by=lambda each: each[0]), max_size=4
    )
)
def test_whatever_changes_between_two_readings_all_rows_are_there_in_order(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("files")
    present = {n: written(folder, f"m{n:02}", [n], f"{n} a") for n in range(MANY + 2)}
    for change in ([], *changes):
        for n, how in change:
            if how == 0:
                present.pop(n, None)
            else:
                present[n] = written(folder, f"m{n:02}", list(range(how - 1)), f"{n} {how}")
        paths = list(present.values())
        found = read_many(paths, [mark_of(path) for path in paths], folder / "kept.parquet")
        assert found.equals(read_frames(paths))

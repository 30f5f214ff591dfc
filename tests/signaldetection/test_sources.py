"""Sources arrive verified or not at all: one pinned by its digest, one by its structure and its first digest."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.signaldetection.construction import sources
from metacog_pipeline.benchmarks.signaldetection.construction.texts import read_sst2, read_table
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home
from tests.tables import every

LINES = "".join(f"{n % 2}\tSentence {n} of the é file.\n" for n in range(300)).encode()


def parquet(path: Path, labels: list[object], sentences: list[object], **more: list[object]) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table({"idx": list(range(len(labels))), "sentence": sentences, "label": labels, **more}), path
    )
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path):
    parquet(
        tmp_path / "from" / "deep" / "train-00000-of-00001.parquet",
        [0, 1] * 20,
        [f"s {n} " for n in range(40)],
    )
    (tmp_path / "from" / "Test4Plus_Raw.txt").write_bytes(LINES)
    return tmp_path / "from"


@pytest.fixture
def pinned(folder):
    digest = sha256_hex((folder / "deep" / "train-00000-of-00001.parquet").read_bytes())
    return {**sources.SOURCES, "sst2": replace(sources.SOURCES["sst2"], digest=digest)}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


# --- from a folder -----------------------------------------------------------------------------------------------


def test_sources_are_found_below_a_folder_and_kept_with_a_note(home, folder, pinned):
    done = sources.fetch(home, folder=folder, sources=pinned)
    assert [(d.name, d.rows) for d in done] == [("sst2", 40), ("test4plus", 300)]
    for found in done:
        assert found.path == sources.SOURCES[found.name].path(home) and found.digest == sha256_hex(
            found.path.read_bytes()
        )
        note = json.loads(found.path.with_suffix(".json").read_text())
        assert note == {
            "digest": found.digest,
            "origin": found.origin,
            "rows": found.rows,
            "source": found.name,
        }
        assert sources.load_source(home, found.name, pinned) == found.path
        assert sources.kept_digest(home, found.name) == (sources.SOURCES[found.name].digest or found.digest)


def test_packed_copies_are_unpacked(home, folder, pinned):
    for path in (folder / "deep" / "train-00000-of-00001.parquet", folder / "Test4Plus_Raw.txt"):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    one, two = sources.fetch(home, folder=folder, sources=pinned)
    assert (one.rows, two.rows) == (40, 300) and two.path.read_bytes() == LINES


def test_what_is_there_and_right_is_left_alone(home, folder, pinned):
    sources.fetch(home, folder=folder, sources=pinned)
    stamps = [sources.SOURCES[name].path(home).stat().st_mtime_ns for name in pinned]
    again = sources.fetch(home, sources=pinned)
    assert [found.origin for found in again] == ["already here"] * 2 and again[1].rows == 300
    assert [sources.SOURCES[name].path(home).stat().st_mtime_ns for name in pinned] == stamps


def test_another_file_than_the_pinned_one_is_refused_with_both_digests(home, folder):
    with pytest.raises(SourceError) as caught:
        sources.fetch(home, ["sst2"], folder=folder)
    text = str(caught.value)
    assert sources.SOURCES["sst2"].digest is not None and sources.SOURCES["sst2"].digest in text
    assert sha256_hex((folder / "deep" / "train-00000-of-00001.parquet").read_bytes()) in text
    assert "\n" not in text and not sources.SOURCES["sst2"].path(home).exists()


def test_the_first_file_fetched_pins_the_source_that_has_no_digest(home, folder):
    (first,) = sources.fetch(home, ["test4plus"], folder=folder)
    path = folder / "Test4Plus_Raw.txt"
    path.write_bytes(LINES + b"1\tOne more.\n")
    first.path.write_bytes(b"1\tdamaged\n")
    with pytest.raises(SourceError, match="metacog doctor STUDY --fetch"):
        sources.load_source(home, "test4plus")
    with pytest.raises(SourceError, match=r"first fetched here.*delete .*test4plus\.json"):
        sources.fetch(home, ["test4plus"], folder=folder)
    path.write_bytes(LINES)
    assert sources.fetch(home, ["test4plus"], folder=folder)[0].digest == first.digest
    path.write_bytes(LINES + b"1\tOne more.\n")
    first.path.with_suffix(".json").unlink()
    with pytest.raises(SourceError, match="note with its digest is gone"):
        sources.load_source(home, "test4plus")
    assert sources.fetch(home, ["test4plus"], folder=folder)[0].rows == 301


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"digest": 3, "rows": 3}', '{"digest": "x"}', "[" * 9999])
def test_a_note_that_says_nothing_is_fetched_anew(note, home, folder):
    (first,) = sources.fetch(home, ["test4plus"], folder=folder)
    first.path.with_suffix(".json").write_text(note)
    try:
        assert sources.fetch(home, ["test4plus"], folder=folder)[0].rows == 300
    except SourceError as error:
        assert "delete" in str(error)


def test_missing_files_and_wrong_names_say_what_to_do(home, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"Test4Plus_Raw\.txt.*\.gz"):
        sources.fetch(home, ["test4plus"], folder=tmp_path / "empty")
    with pytest.raises(SourceError, match="no such folder"):
        sources.fetch(home, folder=tmp_path / "none")
    with pytest.raises(SourceError, match="'unheard' is no source of signaldetection"):
        sources.fetch(home, ["unheard"], folder=tmp_path)
    with pytest.raises(SourceError, match="not fetched; run `metacog doctor STUDY --fetch`"):
        sources.load_source(home, "sst2")
    assert sources.kept_digest(home, "sst2") is None and sources.kept_digest(home, "test4plus") is None
    home.path.write_text("a file")
    (tmp_path / "Test4Plus_Raw.txt").write_bytes(LINES)
    with pytest.raises(SourceError, match="cannot be written"):
        sources.fetch(home, ["test4plus"], folder=tmp_path)


def test_every_source_is_on_https_and_pinned_or_read_line_by_line():
    for source in sources.SOURCES.values():
        assert source.url.startswith("https://")
        if source.digest is None:
            assert source.kept_as.endswith(".tsv")
        else:
            assert len(source.digest) == 64 and any(len(part) == 40 for part in source.url.split("/"))


# --- the files themselves ----------------------------------------------------------------------------------------


def table(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "x.tsv"
    path.write_bytes(data)
    return path


def test_lines_are_read_as_they_stand(tmp_path):
    data = '\ufeff0\t a  b \r\n1\tc\td\u2028e\x0cf\x85g\n\n 1 \t"q"\n'.encode()
    found = read_table(table(tmp_path, data), "x")
    assert list(found.labels) == [0, 1, 1]
    assert list(found.sentences) == [" a  b ", "c\td\u2028e\x0cf\x85g", '"q"']


@every(
    ("data", "where"),
    [
        (b"0\ta\n1\tb\n2\tc\n", ":3"),
        (b"label\tsentence\n0\ta\n1\tb\n", ":1"),
        (b"0 a\n", ":1"),
        (b"0\ta\n1\t \n", ":2"),
        (b"0\ta\n1\t\xff\n", ":2"),
        (b"0\ta\n-1\tb\n", ":2"),
        (b"0\ta\n\xd9\xa1\tb\n", ":2"),
        (b"0\ta\n0\tb\n", "label 1"),
        (b"", "label 0"),
        (b"\x00\x01\x02", ":1"),
        (b"\x1f\x8b\x08broken", "cannot be read"),
        (b"0\t" + b"x" * 200 + b"\n", "label 1"),
    ],
)
def test_any_wrong_line_is_named(data, where, tmp_path):
    with pytest.raises(SourceError) as caught:
        read_table(table(tmp_path, data), "x")
    assert where in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_sst2_is_read_byte_for_byte(tmp_path):
    path = tmp_path / "x.parquet"
    parquet(path, [0, 1], ["it 's  fine ", "é"])
    found = read_sst2(path, "sst2")
    assert (list(found.labels), list(found.sentences), found.name) == ([0, 1], ["it 's  fine ", "é"], "sst2")


@pytest.mark.parametrize(
    ("labels", "sentences", "said"),
    [
        ([0, 2], ["a", "b"], "row 1 has label 2"),
        ([0, -1], ["a", "b"], "row 1 has label -1"),
        ([0, None], ["a", "b"], "row 1 has label None"),
        ([0, 1], ["a", None], "row 1"),
        ([0, 1], ["a", " "], "row 1"),
        ([0, 0], ["a", "b"], "no row has label 1"),
        (["0", "1"], ["a", "b"], "no column 'label' of type int64"),
        ([0.0, 1.0], ["a", "b"], "no column 'label' of type int64"),
        ([0, 1], [1, 2], "no column 'sentence' of type string"),
    ],
)
def test_any_wrong_row_of_sst2_is_named(labels, sentences, said, tmp_path):
    path = tmp_path / "x.parquet"
    parquet(path, labels, sentences)
    with pytest.raises(SourceError, match=said):
        read_sst2(path, "sst2")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"not parquet at all", b"PAR1" + b"\x00" * 100 + b"PAR1"])
def test_a_file_that_is_no_parquet_is_one_line(data, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    with pytest.raises(SourceError) as caught:
        read_sst2(path, "sst2")
    assert "\n" not in str(caught.value)


def test_a_parquet_file_without_the_columns_is_one_line(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a"], "label": [1]}), path)
    with pytest.raises(SourceError, match=r"sentence|SST-2"):
        read_sst2(path, "sst2")


# --- over the network --------------------------------------------------------------------------------------------


def whole(data: bytes, status: int = 200, **headers: str) -> httpx.MockTransport:
    """Return a server that answers everything with ``data``."""

    def respond(request: httpx.Request) -> httpx.Response:
        told = {"content-length": str(len(data)), **headers}
        return httpx.Response(status, headers=told, content=iter([data]), request=request)

    return httpx.MockTransport(respond)


def test_a_download_is_verified_and_kept(home, pinned, folder):
    data = (folder / "deep" / "train-00000-of-00001.parquet").read_bytes()
    (one,) = sources.fetch(home, ["sst2"], sources=pinned, transport=whole(data))
    seen: list[tuple[str, int, int | None]] = []
    (two,) = sources.fetch(
        home, ["test4plus"], transport=whole(LINES), progress=lambda *told: seen.append(told)
    )
    assert (one.rows, two.rows) == (40, 300) and two.origin == sources.SOURCES["test4plus"].url
    assert seen[-1] == ("test4plus", len(LINES), len(LINES))
    assert sorted(p.name for p in (home / "sources" / "signaldetection").iterdir()) == [
        "sst2.json", "sst2.parquet", "test4plus.json", "test4plus.tsv",
    ]  # fmt: skip

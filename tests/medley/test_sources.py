"""The published files arrive verified or not at all: from a folder, a wheel, an archive or the network."""

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from metacog_pipeline.benchmarks.medley import archives, sources
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home

FILES = {
    "instances/medical.json": b"[1]",
    "consensus/medical.json": b'{"a": 2}',
    "known_answers.json": b"{}",
}
INSIDE = "data/metacognition/v1.0"


@pytest.fixture
def small():
    digests = {name: sha256_hex(content) for name, content in FILES.items()}
    return {sources.PUBLISHED: replace(sources.SOURCES[sources.PUBLISHED], digests=digests, rows=1)}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def as_folder(place: Path, files: Mapping[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        path = place / "deep" / "v1.0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place


def zipped(files: Mapping[str, bytes] = FILES, top: str = INSIDE) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("src/run.py", "raise SystemExit('never run')")
        for name, content in files.items():
            out.writestr(f"{top}/{name}", content)
    return kept.getvalue()


def tarred() -> bytes:
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w:gz") as out:
        for name, content in FILES.items():
            member = tarfile.TarInfo(f"repo-1/{INSIDE}/{name}")
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return kept.getvalue()


def kept_files(home: Home) -> dict[str, bytes]:
    folder = sources.source_path(home, sources.PUBLISHED)
    return {name: (folder / name).read_bytes() for name in FILES}


def test_files_are_found_below_a_folder_and_kept_with_a_note(home, tmp_path, small):
    (found,) = sources.fetch(home, folder=as_folder(tmp_path / "from"), sources=small)
    assert kept_files(home) == FILES and sources.load_source(home, sources=small) == found.path
    note = json.loads(found.path.with_name("v1.0.json").read_text())
    assert note["origin"] == found.origin == str(tmp_path / "from") and note["digest"] == found.digest


@pytest.mark.parametrize("name", ["medley_bench-0.5.3-py3-none-any.whl", "archive.zip", "archive.tar.gz"])
@pytest.mark.parametrize("inside_folder", [False, True])
def test_wheels_and_archives_are_read_without_unpacking_the_rest(name, inside_folder, home, tmp_path, small):
    place = tmp_path / "from"
    place.mkdir()
    (place / name).write_bytes(tarred() if name.endswith("gz") else zipped())
    sources.fetch(home, folder=place if inside_folder else place / name, sources=small)
    assert kept_files(home) == FILES
    assert not any(path.suffix == ".py" for path in home.path.rglob("*"))


def test_download_takes_the_files_out_of_the_archive_and_leaves_nothing_else(home, small):
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        content = zipped(top=f"medley-bench-7f7071e/{INSIDE}")
        return httpx.Response(200, stream=httpx.ByteStream(content))

    (found,) = sources.fetch(home, transport=httpx.MockTransport(answer), sources=small)
    assert asked == [sources.SOURCES[sources.PUBLISHED].url] == [found.origin] and kept_files(home) == FILES
    left = {path.name for path in sources.source_path(home, sources.PUBLISHED).parent.iterdir()}
    assert left == {"v1.0", "v1.0.json"}
    assert (
        sources.fetch(home, transport=httpx.MockTransport(answer), sources=small)[0].origin == "already here"
    )
    assert len(asked) == 1


def test_the_address_names_the_pinned_commit_over_https():
    assert sources.SOURCES[sources.PUBLISHED].url.startswith(
        "https://codeload.github.com/ki-smile/medley-bench/zip/7f7071ea9b14"
    )
    assert (
        len(sources.SOURCES[sources.PUBLISHED].digests) == 15
        and len(set(sources.SOURCES[sources.PUBLISHED].digests.values())) == 15
    )


def test_one_changed_file_keeps_all_out_and_names_both_digests(home, tmp_path, small):
    place = as_folder(tmp_path / "from", {**FILES, "known_answers.json": b'{"x": 1}'})
    with pytest.raises(SourceError) as caught:
        sources.fetch(home, folder=place, sources=small)
    text = str(caught.value)
    assert sha256_hex(b"{}") in text and sha256_hex(b'{"x": 1}') in text and "known_answers.json" in text
    assert not sources.source_path(home, sources.PUBLISHED).exists()


def test_a_right_file_is_taken_although_another_of_the_name_is_wrong(home, tmp_path, small):
    place = as_folder(tmp_path / "from")
    (place / "aaa" / "instances").mkdir(parents=True)
    (place / "aaa" / "instances" / "medical.json").write_bytes(b"[2]")
    sources.fetch(home, folder=place, sources=small)
    assert kept_files(home) == FILES


def test_a_file_changed_or_lost_at_home_is_noticed_and_fetched_anew(home, tmp_path, small):
    place = as_folder(tmp_path / "from")
    sources.fetch(home, folder=place, sources=small)
    (sources.source_path(home, sources.PUBLISHED) / "known_answers.json").write_bytes(b"[]")
    with pytest.raises(SourceError, match="metacog doctor STUDY --fetch"):
        sources.load_source(home, sources=small)
    (sources.source_path(home, sources.PUBLISHED) / "known_answers.json").unlink()
    with pytest.raises(SourceError, match="no such file"):
        sources.load_source(home, sources=small)
    sources.fetch(home, folder=place, sources=small)
    assert kept_files(home) == FILES


def test_nothing_is_kept_where_nothing_was_fetched(home):
    assert sources.kept_digest(home) is None
    with pytest.raises(SourceError, match="not fetched"):
        sources.load_source(home)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.whl", b"PK\x03\x04 not a zip"),
        ("empty.zip", b""),
        ("cut.zip", None),
        ("broken.tar.gz", b"\x1f\x8b\x08\x00 nothing"),
        ("words.tar", b"words"),
    ],
)
def test_damaged_archives_give_one_line(name, content, home, tmp_path, small):
    path = tmp_path / name
    path.write_bytes(zipped()[:-40] if content is None else content)
    with pytest.raises(SourceError) as caught:
        sources.fetch(home, folder=path, sources=small)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_archives_without_the_files_and_wrong_places_say_what_is_missing(home, tmp_path, small):
    (tmp_path / "other.zip").write_bytes(zipped({"readme.json": b"{}"}))
    with pytest.raises(SourceError, match=r"instances/medical\.json"):
        sources.fetch(home, folder=tmp_path / "other.zip", sources=small)
    (tmp_path / "notes.txt").write_text("x")
    for wrong in (tmp_path / "absent", tmp_path / "notes.txt"):
        with pytest.raises(SourceError, match="no such folder, wheel or archive"):
            sources.fetch(home, folder=wrong, sources=small)
    with pytest.raises(SourceError, match="there are: medley"):
        sources.fetch(home, ["medly"])


def test_members_beyond_the_limit_are_not_read_whole(tmp_path):
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({"known_answers.json": b"0" * 10_000_000}))
    with pytest.raises(SourceError, match="larger than 1000 bytes"):
        list(archives.files_ending_in(path, "known_answers.json", 1000))


def test_a_name_must_end_in_the_whole_path(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"unknown_answers.json": b"{}", "xinstances/medical.json": b"[]"}))
    assert not list(archives.files_ending_in(path, "known_answers.json", 1000))
    assert not list(archives.files_ending_in(path, "instances/medical.json", 1000))


@pytest.mark.parametrize("status", [302, 404, 500])
def test_servers_that_refuse_give_one_line(status, home, small):
    transport = httpx.MockTransport(
        lambda _: httpx.Response(status, headers={"location": "https://x.example"})
    )
    with pytest.raises(SourceError) as caught:
        sources.fetch(home, transport=transport, sources=small)
    assert "--from DIR" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("flag", "method"), [(1, 8), (0, 99)])
def test_encrypted_and_oddly_packed_members_give_one_line(flag, method, home, tmp_path, small):
    raw = bytearray(zipped())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = raw.find(mark)
        while place >= 0:
            raw[place + flags] |= flag
            raw[place + flags + 2] = method
            place = raw.find(mark, place + 4)
    (tmp_path / "odd.whl").write_bytes(bytes(raw))
    with pytest.raises(SourceError, match="cannot be read as an archive"):
        sources.fetch(home, folder=tmp_path / "odd.whl", sources=small)

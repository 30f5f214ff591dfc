"""Sources brought home: by name, from the first right file of a folder or from the network, with a note beside them."""

import contextlib
from pathlib import Path

import httpx
import pytest

from metacog_pipeline.benchmark import source_files
from metacog_pipeline.benchmarks.metamedqa import items as metamedqa
from metacog_pipeline.benchmarks.selfknowledge import items as selfknowledge
from metacog_pipeline.benchmarks.signaldetection import items as signaldetection
from metacog_pipeline.errors import SourceError
from metacog_pipeline.home import Home

SOURCES = {"a": 1, "b": 2}


def here(rows: int) -> source_files.Fetched:
    return source_files.Fetched("x", Path("x"), rows, "0" * 64, "already here")


def bring(folder: Path, names: tuple[str, ...] = (), fetch=here) -> list[source_files.Fetched]:
    return list(source_files.fetch_each("some", Home(folder), SOURCES, names, fetch))


@pytest.mark.parametrize(("names", "rows"), [((), [1, 2]), (("b",), [2]), (("b", "a"), [2, 1])])
def test_the_named_sources_are_brought_or_all_when_none_is_named(tmp_path, names, rows):
    assert [found.rows for found in bring(tmp_path, names)] == rows


def test_an_unknown_name_and_a_full_disk_are_one_line(tmp_path):
    def full(source: int) -> source_files.Fetched:
        raise OSError(28, "No space left on device")

    with pytest.raises(SourceError, match="'c' is no source of some; there are: a, b"):
        bring(tmp_path, ("a", "c"), lambda source: pytest.fail("brought"))
    with pytest.raises(SourceError, match=r"sources/some: cannot be written \(No space left on device\)"):
        bring(tmp_path, (), full)


def right(path: Path) -> str:
    text = path.read_text("utf-8")
    if text.startswith("wrong"):
        raise SourceError(f"{path.name} is {text}")
    return text


def test_the_first_right_file_is_taken_in_the_order_of_the_names(tmp_path):
    (tmp_path / "deep").mkdir()
    for name, text in (("one.txt", "wrong"), ("two.txt", "second"), ("deep/one.txt", "below")):
        (tmp_path / name).write_text(text, "utf-8")
    assert source_files.first_right("x", ("one.txt", "two.txt"), tmp_path, right) == "below"
    assert source_files.first_right("x", ("two.txt", "one.txt"), tmp_path, right) == "second"
    (tmp_path / "deep/one.txt").unlink()
    with pytest.raises(SourceError, match=r"one\.txt is wrong"):
        source_files.first_right("x", ("one.txt",), tmp_path, right)
    with pytest.raises(SourceError, match=r"no file for source 'x'; looked for three\.txt \(also \.gz\)"):
        source_files.first_right("x", ("three.txt",), tmp_path, right)


@pytest.mark.parametrize("text", ["right", "wrong"])
def test_a_download_is_shown_under_its_source_and_not_left_behind(tmp_path, text):
    seen: list[tuple[str, int]] = []
    arrived, body = tmp_path / "x.download", httpx.ByteStream(text.encode())
    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=body))

    def progress(name: str, done: int, total: int | None) -> None:
        seen.append((name, done))

    with contextlib.nullcontext() if text == "right" else pytest.raises(SourceError):
        how = {"transport": transport, "progress": progress}
        assert source_files.downloaded("x", "https://host.invalid/file", arrived, right, **how) == text
    assert seen == [("x", 5)] and not arrived.exists()


def test_a_note_comes_back_and_a_broken_one_says_nothing(tmp_path):
    path = tmp_path / "x.json"
    assert source_files.read_note(path) == {}
    source_files.write_note(path, {"rows": 1, "digest": "d"})
    assert path.read_text("utf-8") == '{\n  "digest": "d",\n  "rows": 1\n}\n'
    assert source_files.read_note(path) == {"rows": 1, "digest": "d"}
    for broken in ("[1]", "{", "[" * 100_000):
        path.write_text(broken, "utf-8")
        assert source_files.read_note(path) == {}


# --- every benchmark that brings single files -----------------------------------------------------------------------------

OWN = (metamedqa, selfknowledge, signaldetection)


@pytest.mark.parametrize("own", OWN, ids=lambda own: own.__name__.split(".")[2])
def test_no_folder_and_no_source_of_the_name_say_so(own, tmp_path):
    with pytest.raises(SourceError, match="no such folder"):
        own.fetch(Home(tmp_path / "home"), folder=tmp_path / "none")
    with pytest.raises(SourceError, match=r"'unheard' is no source of .*there are: "):
        own.fetch(Home(tmp_path / "home"), ["unheard"], folder=tmp_path)


NAMED = [(own, name) for own in (selfknowledge, signaldetection) for name in own.SOURCES]


@pytest.mark.parametrize(("own", "name"), NAMED, ids=[name for _, name in NAMED])
@pytest.mark.parametrize(
    ("status", "data", "headers"),
    [
        (404, b"", {}),
        (302, b"", {"location": "https://elsewhere.invalid/x"}),
        (200, b"<html>Please log in</html>", {}),
        (200, b"", {}),
        (200, b"", {"content-length": str(2**40)}),
    ],
)
def test_anything_else_than_the_file_is_refused_and_not_kept(own, name, status, data, headers, tmp_path):
    def respond(request):
        told = {"content-length": str(len(data)), **headers}
        return httpx.Response(status, headers=told, content=iter([data]), request=request)

    with pytest.raises(SourceError) as caught:
        own.fetch(Home(tmp_path), [name], transport=httpx.MockTransport(respond))
    assert "\n" not in str(caught.value)
    left = {path.name for path in (tmp_path / "sources").rglob(f"{name}.*")}
    assert all(each.startswith(f"{name}.download.part") for each in left), left

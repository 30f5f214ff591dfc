"""Files made from answers travel between homes: what changed goes, what stands there comes, nothing made here is lost."""

import os

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.storage.attached import attach, store_of
from metacog_pipeline.storage.derived import NOTE, bring, send


@pytest.fixture(params=["folder", "s3"])
def homes(request, tmp_path):
    address = str(tmp_path / "store") if request.param == "folder" else request.getfixturevalue("s3")
    found = Home(tmp_path / "a"), Home(tmp_path / "b")
    for home in found:
        home.path.mkdir()
        attach(home, address, None)
    return found


def write(home: Home, name: str, text: str) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    if path.stat().st_mtime_ns == before:
        os.utime(path, ns=(before + 1, before + 1))


def files(home: Home) -> dict[str, str]:
    return {
        home.key(path): path.read_text()
        for path in sorted(home.path.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name != "deploy.json"
    }


def test_what_one_host_made_another_has(homes):
    a, b = homes
    write(a, "items/b.parquet", "items")
    write(a, "scored/b/model=m/run=1.parquet", "1")
    write(a, "dagster/storage.db", "stays")
    write(a, "scored/.half.tmp", "stays")
    assert (send(a), send(a), bring(a), bring(b), bring(b), send(b)) == (2, 0, 0, 2, 0, 0)
    assert files(b) == {"items/b.parquet": "items", "scored/b/model=m/run=1.parquet": "1"}
    write(b, "scored/b/model=m/run=1.parquet", "2")
    write(b, "estimates/e.parquet", "e")
    assert (send(b), bring(a)) == (2, 2)
    assert files(a)["scored/b/model=m/run=1.parquet"] == "2"
    (b / "estimates" / "e.parquet").unlink()
    send(b)
    bring(a)
    assert "estimates/e.parquet" not in files(a)


def test_what_was_made_here_and_not_sent_stays(homes):
    a, b = homes
    write(a, "scored/f", "of a")
    write(b, "scored/f", "of b")
    send(a)
    assert bring(b) == 0 and files(b)["scored/f"] == "of b"
    send(b)
    assert bring(a) == 1 and files(a)["scored/f"] == "of b"
    write(a, "scored/f", "newer")
    write(b, "scored/f", "newest of b")
    send(b)
    assert bring(a) == 0 and files(a)["scored/f"] == "newer"


@pytest.mark.parametrize("note", ["", "[]", '{"store": 1}', '{"store": "x", "files": {"scored/f": 1}}', "\0"])
def test_without_its_note_a_home_loses_nothing(homes, note):
    a, b = homes
    write(a, "scored/f", "f")
    send(a)
    (a / NOTE).write_text(note)
    bring(a)
    assert files(a) == {"scored/f": "f"}
    assert send(a) == 1 and bring(b) == 1


def test_another_store_takes_nothing_away(homes, tmp_path):
    a, _ = homes
    write(a, "scored/f", "f")
    send(a)
    attach(a, str(tmp_path / "empty"), None)
    assert bring(a) == 0 and files(a) == {"scored/f": "f"}
    assert send(a) == 1


def test_names_from_a_store_stay_below_their_folders(homes):
    _, b = homes
    store = store_of(b)
    assert store is not None
    for key in ("derived/dagster/dagster.yaml", "derived/deploy.json", "derived/study/notes"):
        store.put(key, b"hostile")
    assert bring(b) == 0 and files(b) == {}


def test_what_changed_here_stays_though_the_store_lost_it(homes):
    a, b = homes
    for name in ("scored/f", "scored/g"):
        write(a, name, "of a")
    send(a)
    bring(b)
    write(b, "scored/f", "of b")
    store = store_of(b)
    assert store is not None
    store.delete(["derived/scored/f", "derived/scored/g"])
    bring(b)
    assert files(b) == {"scored/f": "of b"}

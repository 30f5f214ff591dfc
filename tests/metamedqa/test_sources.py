"""Sources arrive verified or not at all; downloads are whole or absent, on https, and follow no redirect."""

import gzip
import json

import httpx
import pytest

from metacog_pipeline.benchmarks.metamedqa import items
from metacog_pipeline.benchmarks.metamedqa.construction import Files, load_fictional
from metacog_pipeline.errors import SourceError
from metacog_pipeline.home import Home
from metacog_pipeline.sources import content_digest, download

LETTERS = {letter: letter.lower() for letter in "ABCDEF"}
ROWS = {
    "medqa": [{"realidx": i, "question": f"Question {i} é?"} for i in range(400)],
    "metamedqa": [
        {"question": f"Question {i}", "kind": "Original" if i % 4 else "Fictional", "options": LETTERS}
        for i in range(40)
    ],
}
PARENT_FILE = ("\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS["medqa"]) + "\n").encode()


@pytest.fixture(autouse=True)
def pinned(monkeypatch):
    for name, rows in ROWS.items():
        monkeypatch.setitem(items.CONTENTS, name, (content_digest(rows), len(rows)))


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "from" / "deep" / "medqa_usmle_4opt_test.jsonl.gz", ROWS["medqa"])
    write(tmp_path / "from" / "metamedqa_published.jsonl", ROWS["metamedqa"])
    return tmp_path / "from"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


# --- from a folder ------------------------------------------------------------------------------------------------------
def test_sources_are_found_below_a_folder_and_the_fictional_rows_are_of_the_published_file(home, folder):
    done = items.fetch(home, folder=folder)
    assert [(d.name, d.rows) for d in done] == [("medqa", 400), ("metamedqa", 40)]
    pool = load_fictional(Files(home, "published"))
    assert [row.item_id for row in pool] == [f"fictional-{i:03d}" for i in range(10)]
    assert [row.question for row in pool] == [f"Question {i}" for i in range(0, 40, 4)]
    assert set(pool[0].options) == set("ABCD") and pool[0].language == "en"


def test_one_changed_character_is_refused_with_both_digests(home, folder):
    path = folder / "metamedqa_published.jsonl"
    path.write_text(path.read_text().replace("Question 7", "Question 8", 1))
    with pytest.raises(SourceError) as caught:
        items.fetch(home, ["metamedqa"], folder=folder)
    assert items.CONTENTS["metamedqa"][0] in str(caught.value) and "\n" not in str(caught.value)
    assert not items.SOURCES["metamedqa"].path(home).exists()


# --- over the network ---------------------------------------------------------------------------------------------------
def take(home, body=PARENT_FILE, cut=None):
    """Fetch the parent set from a host that serves ``body``, or the beginning of it."""
    headers = {"content-length": str(len(body))}
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers=headers, content=iter([body[:cut]]))
    )
    return items.SOURCES["medqa"].fetch(home, transport=transport)


@pytest.mark.parametrize("cut", [0, 5000, len(PARENT_FILE) - 1])
def test_a_cut_download_leaves_nothing_and_is_fetched_again(home, cut):
    with pytest.raises(SourceError, match="cannot be fetched"):
        take(home, cut=cut)
    assert list(items.SOURCES["medqa"].path(home).parent.iterdir()) == []
    assert take(home).rows == 400


def test_a_file_beyond_the_limit_is_not_fetched(tmp_path):
    for headers in ({"content-length": "5400"}, {}):
        response = httpx.Response(200, headers=headers, content=iter([b"x" * 600] * 9))
        with pytest.raises(SourceError, match="more than the 1000 bytes"):
            transport = httpx.MockTransport(lambda _, response=response: response)
            download("https://here.invalid/f", tmp_path / "f", transport=transport, limit=1000)


@pytest.mark.parametrize(
    "url", ["http://example.org/f", "ftp://127.0.0.1/f", "file:///etc/passwd", "http://127.0.0.1.evil/f"]
)
def test_only_https_is_fetched(tmp_path, url):
    with pytest.raises(SourceError, match="https only"):
        download(url, tmp_path / "f")

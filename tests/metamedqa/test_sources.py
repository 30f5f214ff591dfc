"""Sources arrive verified or not at all; downloads are whole or absent, within a limit, and on https."""

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
TEXTS = {
    name: "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
    for name, rows in ROWS.items()
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home, and a folder ``from`` beside it with the files that are pinned meanwhile."""
    for name, rows in ROWS.items():
        monkeypatch.setitem(items.CONTENTS, name, (content_digest(rows), len(rows)))
    (tmp_path / "from" / "deep").mkdir(parents=True)
    (tmp_path / "from" / "deep" / "medqa_usmle_4opt_test.jsonl.gz").write_bytes(gzip.compress(TEXTS["medqa"]))
    (tmp_path / "from" / "metamedqa_published.jsonl").write_bytes(TEXTS["metamedqa"])
    return Home(tmp_path / "home")


def test_sources_are_found_below_a_folder_and_the_fictional_rows_are_of_the_published_file(home, tmp_path):
    done = items.fetch(home, folder=tmp_path / "from")
    assert [(d.name, d.rows) for d in done] == [("medqa", 400), ("metamedqa", 40)]
    pool = load_fictional(Files(home, "published"))
    assert [row.item_id for row in pool] == [f"fictional-{i:03d}" for i in range(10)]
    assert [row.question for row in pool] == [f"Question {i}" for i in range(0, 40, 4)]
    assert set(pool[0].options) == set("ABCD") and pool[0].language == "en"


def test_one_changed_character_is_refused_with_both_digests(home, tmp_path):
    path = tmp_path / "from" / "metamedqa_published.jsonl"
    path.write_text(path.read_text().replace("Question 7", "Question 8", 1))
    with pytest.raises(SourceError) as caught:
        items.fetch(home, ["metamedqa"], folder=tmp_path / "from")
    assert items.CONTENTS["metamedqa"][0] in str(caught.value) and "\n" not in str(caught.value)
    assert not items.SOURCES["metamedqa"].path(home).exists()


def test_a_cut_download_leaves_nothing_and_is_fetched_again(home):
    body = TEXTS["medqa"]

    def take(size):
        headers = {"content-length": str(len(body))}
        transport = httpx.MockTransport(
            lambda _: httpx.Response(200, headers=headers, content=iter([body[:size]]))
        )
        return items.SOURCES["medqa"].fetch(home, transport=transport)

    for size in (0, 5000, len(body) - 1):
        with pytest.raises(SourceError, match="cannot be fetched"):
            take(size)
        assert list(items.SOURCES["medqa"].path(home).parent.iterdir()) == []
    assert take(len(body)).rows == 400


def test_a_file_beyond_the_limit_is_not_fetched(tmp_path):
    for headers in ({"content-length": "5400"}, {}):
        response = httpx.Response(200, headers=headers, content=iter([b"x" * 600] * 9))
        with pytest.raises(SourceError, match="more than the 1000 bytes"):
            transport = httpx.MockTransport(lambda _, response=response: response)
            download("https://here.invalid/f", tmp_path / "f", transport=transport, limit=1000)


def test_only_https_is_fetched(tmp_path):
    for url in ("http://example.org/f", "ftp://127.0.0.1/f", "file:///etc/passwd", "http://127.0.0.1.evil/f"):
        with pytest.raises(SourceError, match="https only"):
            download(url, tmp_path / "f")

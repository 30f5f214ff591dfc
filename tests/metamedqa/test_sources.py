"""Sources arrive verified or not at all; downloads are whole or absent, on https, and follow no redirect."""

import gzip
import json
import threading
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from metacog_pipeline.benchmarks.metamedqa.items import SOURCES, fetch, load_source, source_path
from metacog_pipeline.errors import SourceError
from metacog_pipeline.home import Home
from metacog_pipeline.sources import content_digest, download, read_lines

PARENT_ROWS = [{"realidx": i, "question": f"Question {i} é?"} for i in range(400)]
LETTERS = {letter: letter.lower() for letter in "ABCDEF"}
PUBLISHED_ROWS = [
    {"question": f"Question {i}", "kind": "Fictional" if i % 4 == 0 else "Original", "options": LETTERS}
    for i in range(40)
]
POOL_ROWS = [
    {
        "published_position": i,
        "question": f"Question {i}",
        "options": {letter: letter.lower() for letter in "ABCD"},
        "language": "en",
        "source_answer_idx": None,
    }
    for i in range(0, 40, 4)
]
PINNED = {
    name: replace(SOURCES[name], digest=content_digest(rows), rows=len(rows))
    for name, rows in (("medqa", PARENT_ROWS), ("metamedqa", PUBLISHED_ROWS), ("glianorex", POOL_ROWS))
}
PARENT_FILE = ("\n".join(json.dumps(row, ensure_ascii=False) for row in PARENT_ROWS) + "\n").encode()


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(row) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "from" / "deep" / "medqa_usmle_4opt_test.jsonl.gz", PARENT_ROWS)
    write(tmp_path / "from" / "metamedqa_published.jsonl", PUBLISHED_ROWS)
    return tmp_path / "from"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def take(home, *names, **given):
    return fetch(home, names, sources=PINNED, **given)


# --- from a folder -----------------------------------------------------------------------------------------------


def test_sources_are_found_below_a_folder_and_kept_with_a_note(home, folder):
    done = take(home, folder=folder)
    assert [(d.name, d.rows) for d in done] == [("medqa", 400), ("metamedqa", 40), ("glianorex", 10)]
    assert [line.row for line in read_lines(source_path(home, "medqa"))] == PARENT_ROWS
    note = json.loads(source_path(home, "medqa").with_suffix(".json").read_text())
    assert note["digest"] == PINNED["medqa"].digest and note["rows"] == 400 and "deep" in note["origin"]


def test_the_fictional_rows_come_from_the_published_file_where_there_is_no_own(home, folder):
    take(home, "glianorex", folder=folder)
    assert [line.row for line in read_lines(source_path(home, "glianorex"))] == POOL_ROWS


def test_what_is_there_and_right_is_left_alone(home, folder):
    take(home, "medqa", folder=folder)
    stamp = source_path(home, "medqa").stat().st_mtime_ns
    assert take(home, "medqa", folder=folder)[0].origin == "already here"
    assert take(home, "medqa", base_url="https://nowhere.invalid")[0].origin == "already here"
    assert source_path(home, "medqa").stat().st_mtime_ns == stamp


def test_one_changed_character_is_refused_with_both_digests(home, folder):
    path = folder / "metamedqa_published.jsonl"
    path.write_text(path.read_text().replace("Question 7", "Question 8", 1))
    with pytest.raises(SourceError) as caught:
        take(home, "metamedqa", folder=folder)
    text = str(caught.value)
    assert PINNED["metamedqa"].digest in text and "metamedqa_published.jsonl" in text and "\n" not in text
    assert content_digest(line.row for line in read_lines(path)) in text
    assert not source_path(home, "metamedqa").exists()


@pytest.mark.parametrize("place", range(0, len(PARENT_FILE), 1499))
def test_any_changed_byte_of_the_file_gives_one_line(home, tmp_path, place):
    path = tmp_path / "from" / "test.jsonl"
    path.parent.mkdir()
    path.write_bytes(PARENT_FILE[:place] + bytes([PARENT_FILE[place] ^ 1]) + PARENT_FILE[place + 1 :])
    with pytest.raises(SourceError) as caught:
        take(home, "medqa", folder=tmp_path / "from")
    assert "\n" not in str(caught.value) and not source_path(home, "medqa").exists()


def test_a_kept_source_changed_later_is_refused_when_read_and_replaced_when_fetched(home, folder):
    take(home, "medqa", folder=folder)
    path = source_path(home, "medqa")
    path.write_text(path.read_text().replace("Question 7 ", "Question 8 ", 1))
    with pytest.raises(SourceError, match="metacog doctor STUDY --fetch"):
        load_source(home, "medqa", PINNED)
    assert take(home, "medqa", folder=folder)[0].origin != "already here"
    assert load_source(home, "medqa", PINNED) == path


def test_a_missing_file_names_what_was_looked_for(home, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"medqa_usmle_4opt_test\.jsonl.*\.gz"):
        take(home, "medqa", folder=tmp_path / "empty")
    with pytest.raises(SourceError, match="no such folder"):
        take(home, "medqa", folder=tmp_path / "none")
    with pytest.raises(SourceError, match="'unheard' is no source"):
        take(home, "unheard", folder=tmp_path)
    with pytest.raises(SourceError, match="not fetched; run `metacog doctor STUDY --fetch`"):
        load_source(home, "medqa", PINNED)


def test_every_download_is_pinned_to_a_commit_and_a_digest():
    for source in SOURCES.values():
        assert len(source.digest) == 64 and int(source.digest, 16)
        assert source.url_path is None or any(len(p) == 40 for p in source.url_path.split("/"))


# --- over the network, on this machine ---------------------------------------------------------------------------


@dataclass
class Server:
    """What the loopback server serves and what it was asked."""

    body: bytes = PARENT_FILE
    cut_at: int | None = None
    status: int | None = None
    seen: int = 0
    url: str = ""


@pytest.fixture
def server():
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state.seen += 1
            if state.status is not None:
                self.send_response(state.status)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body[: state.cut_at])
            self.close_connection = True

        def log_message(self, *arguments):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{running.server_address[1]}"
    yield state
    running.shutdown()
    thread.join()
    running.server_close()


def test_a_download_is_verified_and_its_progress_told(home, server):
    told = []
    done = take(home, "medqa", base_url=server.url, progress=lambda *seen: told.append(seen))
    assert done[0].rows == 400 and load_source(home, "medqa", PINNED)
    assert told[-1] == ("medqa", len(PARENT_FILE), len(PARENT_FILE))
    assert sorted(p.name for p in source_path(home, "medqa").parent.iterdir()) == [
        "medqa.json",
        "medqa.jsonl",
    ]


@pytest.mark.parametrize("cut", [0, 5000, len(PARENT_FILE) - 1])
def test_a_cut_download_leaves_nothing_and_is_fetched_again(home, server, cut):
    server.cut_at = cut
    with pytest.raises(SourceError, match="cannot be fetched"):
        take(home, "medqa", base_url=server.url)
    assert list(source_path(home, "medqa").parent.iterdir()) == []
    server.cut_at = None
    assert take(home, "medqa", base_url=server.url)[0].rows == 400


def test_wrong_content_is_refused_and_nothing_is_kept(home, server):
    server.body = PARENT_FILE.replace(b"Question 7 ", b"Question 8 ", 1)
    with pytest.raises(SourceError, match=PINNED["medqa"].digest):
        take(home, "medqa", base_url=server.url)
    assert list(source_path(home, "medqa").parent.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "text"), [(404, "answered 404"), (500, "answered 500"), (302, "redirected to")]
)
def test_any_other_answer_is_a_one_line_error(home, server, status, text):
    server.status = status
    with pytest.raises(SourceError, match=text):
        take(home, "medqa", base_url=server.url)
    assert server.seen == 1


def test_a_file_beyond_the_limit_is_not_fetched(tmp_path, server):
    with pytest.raises(SourceError, match="more than the 1000 bytes"):
        download(f"{server.url}/f", tmp_path / "f", limit=1000)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=iter([b"x" * 600] * 9)))
    with pytest.raises(SourceError, match="more than the 1000 bytes"):
        download("https://here.invalid/f", tmp_path / "f", transport=transport, limit=1000)


@pytest.mark.parametrize(
    "url", ["http://example.org/f", "ftp://127.0.0.1/f", "file:///etc/passwd", "http://127.0.0.1.evil/f"]
)
def test_only_https_is_fetched(tmp_path, url):
    with pytest.raises(SourceError, match="https only"):
        download(url, tmp_path / "f")


def test_an_unreachable_host_is_a_one_line_error(tmp_path):
    def fail(request):
        raise httpx.ConnectError("no route")

    with pytest.raises(SourceError, match=r"--from DIR"):
        download("https://here.invalid/f", tmp_path / "f", transport=httpx.MockTransport(fail))

"""Question sets arrive verified or not at all; a set without a known digest is pinned by its size and its first copy."""

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.selfknowledge import sources
from metacog_pipeline.errors import SourceError
from metacog_pipeline.home import Home

QA = Path(os.environ.get("METACOG_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "qa"

NQ = [{"question": f"question {n}", "answer": [f"answer {n}"]} for n in range(5)]
MKQA = [
    {
        "example_id": n,
        "query": f"q {n}",
        "queries": {"en": f"q {n}", "zh_cn": "问", "ko": "문", "es": "¿?"},
        "answers": {key: [{"text": f"a {n}"}] if n else [] for key in ("en", "zh_cn", "ko", "es")},
    }
    for n in range(3)
]


def lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def folder(tmp_path):
    below = tmp_path / "from" / "deep"
    below.mkdir(parents=True)
    (below / "NQ-open.dev.jsonl").write_bytes(lines(NQ))
    (below / "mkqa.jsonl.gz").write_bytes(gzip.compress(lines(MKQA)))
    return tmp_path / "from"


@pytest.fixture
def small(folder):
    """Two sources as small as the files of ``folder``: one pinned by its digest, one by its size."""
    digest = sources.read_folder("nq_open", folder).digest
    return {
        "nq_open": replace(sources.SOURCES["nq_open"], rows=5, digests={"nq_open": digest}),
        "mkqa": replace(sources.SOURCES["mkqa"], rows=3),
    }


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.mark.parametrize(
    "name", ["nq_open", "web_questions", "efficientqa", "trivia_sample", "popqa", "selfaware"]
)
def test_the_published_files_are_the_pinned_ones(name, home):
    if not QA.is_dir():
        pytest.skip(f"{QA} is not here; set METACOG_DATA")
    (found,) = sources.fetch(home, [name], folder=QA)
    assert found.rows == sources.SOURCES[name].rows and found.digest in sources.SOURCES[name].digests.values()
    assert len(sources.load_source(home, name)) == found.rows and sources.read_folder(name, QA).published
    note = json.loads(found.path.with_suffix(".json").read_text())
    assert note["revision"] == sources.SOURCES[name].revision and len(note["file_digest"]) == 64
    assert note["unanswerable"] == (1032 if name == "selfaware" else 0)


def test_every_source_names_a_commit_and_is_on_https():
    for source in sources.SOURCES.values():
        assert source.url.startswith("https://") and f"/{source.revision}/" in source.url
        assert len(source.revision) == 40 and source.rows and source.names
        assert all(len(digest) == 64 for digest in source.digests.values())


def test_sources_are_found_below_a_folder_and_kept_with_a_note(home, folder, small):
    one, two = sources.fetch(home, folder=folder, sources=small)
    assert (one.rows, two.rows) == (5, 3)
    note = json.loads(two.path.with_suffix(".json").read_text())
    assert note["origin"].endswith("mkqa.jsonl.gz") and note["revision"] is None and note["layout"] == "mkqa"
    assert note["unanswerable"] == 1
    questions = [row.questions["en"] for row in sources.load_source(home, "nq_open")]
    assert questions == [each["question"] for each in NQ]
    assert sources.kept_digest(home, "nq_open") == one.digest
    stamp = one.path.stat().st_mtime_ns
    again = sources.fetch(home, sources=small)
    assert [f.origin for f in again] == ["already here"] * 2 and one.path.stat().st_mtime_ns == stamp


def test_packing_does_not_matter_to_the_digest_but_content_does(home, folder, small):
    path = folder / "deep" / "NQ-open.dev.jsonl"
    path.unlink()
    pq.write_table(pa.Table.from_pylist(NQ), folder / "nq_open.parquet")
    assert sources.fetch(home, ["nq_open"], folder=folder, sources=small)[0].rows == 5
    sources.source_path(home, "nq_open").unlink()
    pq.write_table(pa.Table.from_pylist(list(reversed(NQ))), folder / "nq_open.parquet")
    with pytest.raises(SourceError, match=r"expected sha256 .*found .*folder = "):
        sources.fetch(home, ["nq_open"], folder=folder, sources=small)


def test_a_set_without_a_known_digest_needs_its_published_size(home, folder):
    with pytest.raises(SourceError, match=r"3 questions, but source 'mkqa' has 10000.*folder = "):
        sources.fetch(home, ["mkqa"], folder=folder)
    assert not sources.source_path(home, "mkqa").exists()


def test_the_first_file_fetched_pins_a_set_without_a_known_digest(home, folder, small):
    (first,) = sources.fetch(home, ["mkqa"], folder=folder, sources=small)
    path = folder / "deep" / "mkqa.jsonl.gz"
    path.write_bytes(gzip.compress(lines([*MKQA[:2], {**MKQA[2], "query": "another", "queries": {}}])))
    first.path.write_text(first.path.read_text().replace("q 1", "q I"))
    with pytest.raises(SourceError, match="not the one fetched: expected sha256"):
        sources.load_source(home, "mkqa")
    with pytest.raises(SourceError, match=r"first fetched here.*delete .*mkqa\.json"):
        sources.fetch(home, ["mkqa"], folder=folder, sources=small)
    first.path.with_suffix(".json").unlink()
    with pytest.raises(SourceError, match="note with its digest is gone"):
        sources.load_source(home, "mkqa")
    assert sources.fetch(home, ["mkqa"], folder=folder, sources=small)[0].digest != first.digest


def test_a_file_itself_can_be_named_whatever_it_is_called(home, tmp_path, small):
    odd = tmp_path / "what.txt"
    odd.write_bytes(lines(NQ))
    assert sources.fetch(home, ["nq_open"], folder=odd, sources=small)[0].rows == 5


def test_questions_of_a_folder_are_read_as_they_are_and_not_called_published(folder):
    found = sources.read_folder("nq_open", folder)
    assert len(found.rows) == 5 and not found.published and found.path.name == "NQ-open.dev.jsonl"
    before = sources.folder_digest("nq_open", folder)
    found.path.write_bytes(lines(NQ[:4]))
    assert sources.folder_digest("nq_open", folder) != before
    with pytest.raises(SourceError, match="no file for source 'popqa'"):
        sources.read_folder("popqa", folder)
    with pytest.raises(SourceError, match="no such folder"):
        sources.read_folder("popqa", folder / "none")


def test_missing_files_and_wrong_names_say_what_to_do(home, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=r"NQ-open\.dev\.jsonl.*\.gz"):
        sources.fetch(home, ["nq_open"], folder=tmp_path / "empty")
    with pytest.raises(SourceError, match="no such folder"):
        sources.fetch(home, folder=tmp_path / "none")
    with pytest.raises(SourceError, match="'unheard' is no source of selfknowledge; there are: trivia_qa"):
        sources.fetch(home, ["unheard"], folder=tmp_path)
    with pytest.raises(SourceError, match="not fetched; run `metacog doctor STUDY --fetch --source mkqa`"):
        sources.load_source(home, "mkqa")
    assert sources.kept_digest(home, "mkqa") is None


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"digest": 3}', "[" * 9999])
def test_a_note_that_says_nothing_is_fetched_anew(note, home, folder, small):
    (first,) = sources.fetch(home, ["mkqa"], folder=folder, sources=small)
    first.path.with_suffix(".json").write_text(note)
    assert sources.fetch(home, ["mkqa"], folder=folder, sources=small)[0].origin != "already here"


# --- over the network --------------------------------------------------------------------------------------------


def server(data: bytes, status: int = 200, **headers: str) -> httpx.MockTransport:
    def respond(request: httpx.Request) -> httpx.Response:
        told = {"content-length": str(len(data)), **headers}
        return httpx.Response(status, headers=told, content=iter([data]), request=request)

    return httpx.MockTransport(respond)


def test_a_download_is_verified_and_kept_with_its_revision(home, small):
    seen: list[tuple[str, int, int | None]] = []
    packed = gzip.compress(lines(MKQA))
    (found,) = sources.fetch(
        home, ["mkqa"], sources=small, transport=server(packed), progress=lambda *told: seen.append(told)
    )
    note = json.loads(found.path.with_suffix(".json").read_text())
    source = sources.SOURCES["mkqa"]
    assert (found.origin, note["revision"]) == (source.url, source.revision)
    assert seen[-1] == ("mkqa", len(packed), len(packed))
    assert sorted(p.name for p in found.path.parent.iterdir()) == ["mkqa.json", "mkqa.jsonl"]


def test_the_hub_may_lead_on_to_its_own_store_and_nowhere_else(home):
    asked: list[str] = []
    target = "https://cas-bridge.xethub.hf.co/file?signed=1"
    row = {"question_id": "a", "event_id": "e", "question": "q", "natural_answer": "x"}
    data = lines([{**row, "duplicate_relationship": None}])

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.host}")
        if request.url.host == "huggingface.co":
            return httpx.Response(302, headers={"location": target}, request=request)
        return httpx.Response(200, content=iter([data]), request=request)

    one = {"fictional_qa": replace(sources.SOURCES["fictional_qa"], rows=1)}
    (found,) = sources.fetch(home, ["fictional_qa"], sources=one, transport=httpx.MockTransport(respond))
    assert found.rows == 1 and asked[-1] == "GET cas-bridge.xethub.hf.co"
    for elsewhere in ("https://nothf.co/x", "https://hf.co.evil.invalid/x", "http://cdn.hf.co/x"):
        target = elsewhere
        sources.source_path(home, "fictional_qa").unlink(missing_ok=True)
        with pytest.raises(SourceError, match=r"redirected|https only"):
            sources.fetch(home, ["fictional_qa"], sources=one, transport=httpx.MockTransport(respond))

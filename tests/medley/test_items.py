"""An instance from the published files' objects, and the files themselves: whole, or one line that says why not."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.items import Analyst, instance_from_published
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.home import Home


def test_everything_that_decides_asking_or_scoring_decides_the_hash(instance):
    changed = [
        instance.changed(vignette="another case"),
        instance.changed(claims=instance.claims[:4]),
        instance.changed(analysts=instance.analysts[::-1]),
        instance.changed(verified_wrong=frozenset({"C1"})),
        instance.changed(known_answer=None),
        instance.changed(consensus=replace(instance.consensus, claim_confidences={"C1": 0.2})),
        instance.changed(selected_models=("m",)),
    ]
    assert len({instance.item_hash, *(other.item_hash for other in changed)}) == len(changed) + 1
    assert instance.changed(position=7).item_hash == instance.item_hash


def test_an_analyst_reply_that_is_an_array_or_nothing_is_still_an_analyst(published):
    outputs = [{"model_id": "a", "response": [{"claim_id": "C1"}]}, {"model_id": "b", "response": None}]
    analysts = instance_from_published(published(ensemble_outputs=outputs)).analysts
    assert analysts == (Analyst("a", {"claim_level_assessments": [{"claim_id": "C1"}]}), Analyst("b", {}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"instance_id": None}, "item_id: Input should be"),
        ({"key_claims": None}, "not in the published layout"),
        ({"key_claims": [3]}, "not in the published layout"),
        ({"key_claims": [{"claim_id": "C1"}, {"claim_id": "C1"}]}, "given twice"),
        ({"key_claims": [{"claim_id": "C1", "jsd_score": float("nan")}]}, "claims.0.jsd_score"),
        ({"key_claims": [{"claim_id": "C1", "majority_strength": 10**400}]}, "claims.0.majority_strength"),
        ({"key_claims": [{"claim_id": "C1", "majority_strength": True}]}, "claims.0.majority_strength"),
        ({"ensemble_outputs": "x"}, "not in the published layout"),
        ({"ensemble_outputs": [{"response": {}}]}, "analysts.0.model_id"),
        ({"vignette": 3}, "vignette: Input should be"),
        *(
            ({"consensus": each}, "PUMP_001")
            for each in ([], {"claim_confidences": [1]}, {"claim_details": {"C1": None}})
        ),
        ({"known_answer": {"correct_answer": "x"}}, "PUMP_001"),
        ({"verified_wrong": [1]}, "PUMP_001"),
        ({"selected_models": [None]}, "PUMP_001"),
    ],
)
def test_a_broken_object_is_one_line_that_names_the_part(published, changes, says):
    beside = {"consensus", "known_answer", "verified_wrong", "selected_models"} & changes.keys()
    more = {name: changes[name] for name in beside}
    with pytest.raises(SourceError, match=says):
        instance_from_published(published(**{} if more else changes), **more)


FILES = {"instances/medical.json": b"[1]", "consensus/medical.json": b'{"a": 2}', "known_answers.json": b"{}"}
INSIDE = "data/metacognition/v1.0"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A source of three small files."""
    digests = {name: sha256_hex(content) for name, content in FILES.items()}
    monkeypatch.setattr(sources, "DIGESTS", digests)


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


def kept_files(home: Home) -> dict[str, bytes]:
    folder = sources.source_path(home)
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("name", ["", "medley_bench-0.5.3-py3-none-any.whl", "archive.zip"])
@pytest.mark.parametrize("inside_folder", [False, True])
def test_files_are_kept_from_folders_and_archives_with_a_note_and_nothing_else(
    name, inside_folder, home, tmp_path
):
    place = as_folder(tmp_path / "from", {} if name else FILES)
    place.mkdir(exist_ok=True)
    if name:
        (place / name).write_bytes(zipped())
    (found,) = sources.fetch(home, folder=place if inside_folder else place / name)
    assert kept_files(home) == FILES and sources.load_source(home) == found.path
    assert not any(path.suffix == ".py" for path in home.path.rglob("*"))
    note = json.loads(found.path.with_name("v1.0.json").read_text())
    assert note["origin"] == found.origin and note["digest"] == found.digest


def test_download_takes_the_files_out_of_the_archive_and_leaves_nothing_else(home):
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        content = zipped(top=f"medley-bench-7f7071e/{INSIDE}")
        return httpx.Response(200, stream=httpx.ByteStream(content))

    (found,) = sources.fetch(home, transport=httpx.MockTransport(answer))
    assert asked == [sources.URL] == [found.origin] and kept_files(home) == FILES
    left = {path.name for path in sources.source_path(home).parent.iterdir()}
    assert left == {"v1.0", "v1.0.json"}
    assert sources.fetch(home, transport=httpx.MockTransport(answer))[0].origin == "already here"
    assert len(asked) == 1


def test_one_changed_file_keeps_all_out_and_names_both_digests(home, tmp_path):
    place = as_folder(tmp_path / "from", {**FILES, "known_answers.json": b'{"x": 1}'})
    with pytest.raises(SourceError) as caught:
        sources.fetch(home, folder=place)
    text = str(caught.value)
    assert sha256_hex(b"{}") in text and sha256_hex(b'{"x": 1}') in text and "known_answers.json" in text
    assert not sources.source_path(home).exists()


def test_a_file_changed_or_lost_at_home_is_noticed_and_fetched_anew(home, tmp_path):
    place = as_folder(tmp_path / "from")
    sources.fetch(home, folder=place)
    (sources.source_path(home) / "known_answers.json").write_bytes(b"[]")
    with pytest.raises(SourceError, match="metacog doctor STUDY --fetch"):
        sources.load_source(home)
    (sources.source_path(home) / "known_answers.json").unlink()
    with pytest.raises(SourceError, match="no such file"):
        sources.load_source(home)
    sources.fetch(home, folder=place)
    assert kept_files(home) == FILES


@pytest.mark.parametrize(
    ("name", "content"), [("broken.whl", b"PK\x03\x04 not a zip"), ("empty.zip", b""), ("cut.zip", None)]
)
def test_damaged_archives_give_one_line(name, content, home, tmp_path):
    path = tmp_path / name
    path.write_bytes(zipped()[:-40] if content is None else content)
    with pytest.raises(SourceError) as caught:
        sources.fetch(home, folder=path)
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_archives_without_the_files_and_wrong_places_say_what_is_missing(home, tmp_path):
    (tmp_path / "other.zip").write_bytes(zipped({"readme.json": b"{}"}))
    with pytest.raises(SourceError, match=r"instances/medical\.json"):
        sources.fetch(home, folder=tmp_path / "other.zip")
    (tmp_path / "notes.txt").write_text("x")
    for wrong in (tmp_path / "absent", tmp_path / "notes.txt"):
        with pytest.raises(SourceError, match="cannot be read as a zip archive or wheel"):
            sources.fetch(home, folder=wrong)
    with pytest.raises(SourceError, match="there are: medley"):
        sources.fetch(home, ["medly"])

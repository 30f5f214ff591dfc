"""A bundle makes the same boards elsewhere, byte by byte; one that was changed or made to harm is refused."""

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.exporting import FORMATS, bundle
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.study import load_study
from metacog_pipeline.transcripts.folder import kept_folders, read_manifest, write_manifest
from tests.exporting.conftest import CANARIES, publish, respondent
from tests.studies import write_study

Change = Callable[[bytes], bytes | None]


def rebuilt_differently(metacog, archive: Path, target: Path) -> list[str]:
    """Return the tables of an archive that differ where they are rebuilt."""
    tables = json.loads(metacog("doctor", "--bundle", archive, "--to", target, "--json").output)["tables"]
    assert {"leaderboard", "estimates", "comparisons", "progress"} <= {each["table"] for each in tables}
    return [each["table"] for each in tables if not each["equal"]]


def test_elsewhere_every_table_is_equal_byte_by_byte_and_nobody_is_asked(
    metacog, exported, tmp_path, monkeypatch
):
    def asked(*rest: Any, **more: Any) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("metacog_pipeline.leaderboard.publishing.query_partition", asked)
    monkeypatch.setattr("socket.socket.connect", asked)
    assert rebuilt_differently(metacog, exported("bundle"), tmp_path / "again") == []
    refused = metacog("doctor", "--bundle", exported("bundle"), "--to", tmp_path / "again", code=2)
    assert "is there already" in str(refused.exception)


def test_a_board_that_is_older_than_its_study_is_in_no_bundle(made, metacog, tmp_path):
    copy = shutil.copytree(made.parent, tmp_path / "copy") / made.name
    copy.write_text(copy.read_text("utf-8").replace("seed = 3", "seed = 4"), encoding="utf-8")
    refused = metacog("export", copy, "--to", tmp_path / "out.zip", "--format", "bundle", code=2)
    assert "the board is older than the answers; run `metacog run`" in str(refused.exception)
    assert not (tmp_path / "out.zip").exists()


@pytest.mark.proof
def test_a_bundle_rebuilds_the_boards_that_rest_on_judges(metacog, tmp_path):
    models = respondent("one", 1, family="a"), respondent("two", 2, 0.4, family="b")
    judges = respondent("strict", 3, family="c"), respondent("kin", 4, family="a")
    asked = {"medley": {"dataset": "sample", "limit": 2, "judges": ["strict", "kin"]}}
    judged = publish(write_study(tmp_path / "in", *models, judges=judges, benchmarks=asked))
    metacog("export", judged, "--to", tmp_path / "out.zip", "--format", "bundle")
    assert rebuilt_differently(metacog, tmp_path / "out.zip", tmp_path / "again") == []


def changed(archive: Path, target: Path, name: str, change: Change, *, sealed: bool = False) -> Path:
    """Copy an archive with other bytes of the entry whose name ends so, None without it; ``sealed`` with their digest."""
    with zipfile.ZipFile(archive) as there:
        entries = {each: there.read(each) for each in there.namelist()}
    found = next((each for each in entries if each.endswith(name)), name)
    if (data := change(entries.pop(found, b""))) is not None:
        entries[found] = data
    if sealed:
        about = json.loads(entries["metacog.json"])
        about["files"][found] = sha256_hex(entries[found])
        entries["metacog.json"] = json.dumps(about).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for each, data in entries.items():
            out.writestr(each, data)
    return target


def bomb() -> bytes:
    """Return Parquet that unpacks to a thousand times its size."""
    out = io.BytesIO()
    pq.write_table(pa.table({"x": np.zeros(2**24)}), out, compression="zstd", use_dictionary=False)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "change", "sealed", "why"),
    [
        ("leaderboard.csv", lambda data: data + b" ", False, "is not what was bundled"),
        ("transcripts.parquet", lambda data: data[:-1], False, "is not what was bundled"),
        ("transcripts.parquet", lambda data: data[:-1], True, "Parquet magic bytes not found"),
        ("transcripts.parquet", lambda data: bomb(), True, "larger than"),
        ("tables/zeros", lambda data: bytes(80 * 2**20), True, "unpacks to"),
        ("leaderboard.csv", lambda data: None, False, "is missing"),
        ("tables/more.csv", lambda data: b"x", False, "is no part of it"),
        ("files/../../out.txt", lambda data: b"x", True, "is no part of it"),
        ("/etc/cron.d/x", lambda data: b"x", True, "is no part of it"),
        ("home/scored/a/model=b/run=1.parquet", lambda data: b"x", True, "is no part of it"),
        ("metacog.json", lambda data: None, False, "no item named 'metacog.json'"),
        ("metacog.json", lambda data: b"[" * 9999, False, "maximum recursion depth"),
    ],
)
def test_a_changed_or_harmful_archive_is_refused_in_one_line(exported, tmp_path, name, change, sealed, why):
    bad = changed(exported("bundle"), tmp_path / "bad.zip", name, change, sealed=sealed)
    (tmp_path / "into").mkdir()
    with pytest.raises(StoreError, match=why) as refused:
        bundle.unpack(bad, tmp_path / "into")
    assert "\n" not in str(refused.value)
    assert {path.name for path in tmp_path.iterdir()} == {"into", "bad.zip"}


def test_a_torn_archive_is_refused(exported, tmp_path):
    data = exported("bundle").read_bytes()
    for harm in (data[: len(data) // 2], b"", b"no zip at all"):
        (tmp_path / "bad.zip").write_bytes(harm)
        with pytest.raises(StoreError, match="no bundle, or damaged"):
            bundle.unpack(tmp_path / "bad.zip", tmp_path / "into")


@pytest.mark.parametrize(
    ("old", "new"), [(b'"files/', b'"/etc/passwd", "'), (b'home = "home"', b'home = "/tmp/elsewhere"')]
)
def test_a_study_that_names_files_elsewhere_is_refused(metacog, exported, tmp_path, old, new):
    archive, bad = exported("bundle"), tmp_path / "bad.zip"
    changed(archive, bad, "study.toml", lambda data: data.replace(old, new), sealed=True)
    done = metacog("doctor", "--bundle", bad, "--to", tmp_path / "again", code=2)
    assert "which is not in it" in str(done.exception) and "\n" not in str(done.exception)
    assert not (tmp_path / "again").exists() and not Path("/tmp/elsewhere").exists()


def test_no_key_credential_or_personal_path_leaves(metacog, made, tmp_path, monkeypatch):
    folder = kept_folders(load_study(made).home, model="careful")[0]
    said = f"401 of https://canary-user:canary-pass@host/v1: {CANARIES[0]}; see {made.parent}/log and {CANARIES[1]}"
    before = read_manifest(folder)
    write_manifest(folder, {**before, "message": said})
    monkeypatch.setenv("LEAVES_API_KEY", CANARIES[1])
    try:
        for name in FORMATS:
            metacog("export", made, "--to", tmp_path / name, "--format", name)
    finally:
        write_manifest(folder, before)
    with zipfile.ZipFile(tmp_path / "bundle") as there:
        there.extractall(tmp_path / "unpacked")
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(found) > 60
    for path in found:
        data = path.read_bytes()
        if path.suffix == ".parquet":
            data += repr(pl.read_parquet(path, hive_partitioning=False).rows()).encode()
        assert not any(canary.encode() in data for canary in CANARIES), path
        assert str(made.parent).encode() not in data and b"canary" not in data, path

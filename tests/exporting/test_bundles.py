"""A bundle makes the same boards elsewhere, byte by byte; one that was changed or made to harm is refused."""

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.exporting import FORMATS, bundle
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.study import load_study
from tests.exporting.conftest import CANARIES, publish, respondent
from tests.studies import write_study


def test_elsewhere_every_table_is_equal_byte_by_byte_and_nobody_is_asked(
    metacog, archive, tmp_path, monkeypatch
):
    def asked(*rest: Any, **more: Any) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("metacog_pipeline.leaderboard.publishing.query_partition", asked)
    monkeypatch.setattr("socket.socket.connect", asked)
    done = metacog("doctor", "--bundle", archive, "--to", tmp_path / "again", "--json")
    found = json.loads(done.output)
    names = {each["table"] for each in found["tables"]}
    assert names >= {"leaderboard", "estimates", "comparisons", "progress"}
    assert [each for each in found["tables"] if not each["equal"]] == []
    assert (tmp_path / "again" / "home" / "report" / "index.html").is_file()
    bundled, rebuilt = tmp_path / "again" / "tables", tmp_path / "again" / "home" / "reproduced"
    assert all(
        (bundled / f"{name}.csv").read_bytes() == (rebuilt / f"{name}.csv").read_bytes() for name in names
    )
    refused = metacog("doctor", "--bundle", archive, "--to", tmp_path / "again", code=2)
    assert "is there already" in str(refused.exception)


@pytest.mark.proof
def test_a_bundle_rebuilds_the_boards_that_rest_on_judges(metacog, tmp_path):
    models = respondent("one", 1, family="a"), respondent("two", 2, 0.4, family="b")
    judges = respondent("strict", 3, family="c"), respondent("kin", 4, family="a")
    asked = {"medley": {"dataset": "sample", "limit": 2, "judges": ["strict", "kin"]}}
    judged = publish(write_study(tmp_path / "in", *models, judges=judges, benchmarks=asked))
    metacog("export", judged, "--to", tmp_path / "out.zip", "--format", "bundle")
    done = metacog("doctor", "--bundle", tmp_path / "out.zip", "--to", tmp_path / "again", "--json")
    assert [each for each in json.loads(done.output)["tables"] if not each["equal"]] == []


def changed(archive: Path, target: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    with zipfile.ZipFile(archive) as there:
        entries = {name: there.read(name) for name in there.namelist()}
    change(entries)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in entries.items():
            out.writestr(name, data)
    return target


def _replaced(name: str, old: bytes, new: bytes, *, sealed: bool) -> Callable[[dict[str, bytes]], None]:
    def change(entries: dict[str, bytes]) -> None:
        found = next(each for each in entries if name in each)
        assert old in entries[found]
        entries[found] = entries[found].replace(old, new)
        if sealed:
            about = json.loads(entries["metacog.json"])
            about["files"][found] = sha256_hex(entries[found])
            entries["metacog.json"] = json.dumps({**about, bundle.SEAL: bundle.seal_of(about)}).encode()

    return change


def _with(name: str, data: bytes = b"x") -> Callable[[dict[str, bytes]], None]:
    return lambda entries: entries.update({name: data})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_replaced("tables/leaderboard.csv", b",", b";", sealed=False), "is not what was bundled"),
        (_replaced("answers.parquet", b"PAR1", b"PAR2", sealed=False), "is not what was bundled"),
        (
            _replaced("metacog.json", b'"seed": 3', b'"seed": 4', sealed=False),
            "metacog.json is not what was bundled",
        ),
        (lambda entries: entries.pop("tables/leaderboard.csv"), "is missing, or was added"),
        (_with("tables/more.csv"), "is missing, or was added"),
        (_with("../out.txt"), "is no part of a bundle"),
        (_with("files/../../out.txt"), "is no part of a bundle"),
        (_with("/etc/cron.d/x"), "is no part of a bundle"),
        (_with("files/a\\..\\b"), "is no part of a bundle"),
        (_with("home/scored/a/model=b/run=1.parquet"), "is no part of a bundle"),
        (_with("tables/LEADERBOARD.csv"), "has two entries of one name"),
        (_with("tables/zeros", bytes(80 * 2**20)), "unpacks to"),
        (lambda entries: entries.pop("metacog.json"), "no bundle of metacog"),
        (_with("metacog.json", b"[" * 9999), "is no description of a bundle"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "change",
)
def test_a_changed_or_harmful_archive_is_refused_in_one_line(archive, tmp_path, change, why):
    (tmp_path / "into").mkdir()
    with pytest.raises(StoreError, match=why) as told:
        bundle.unpack(changed(archive, tmp_path / "bad.zip", change), tmp_path / "into")
    assert "\n" not in str(told.value)
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("into", "bad.zip")] == []


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "why"),
    [
        ("study.toml", b'"files/', b'"/etc/passwd", "', 2, "names /etc/passwd, which is not in it"),
        ("study.toml", b'home = "home"', b'home = "/tmp/elsewhere"', 2, "names /tmp/elsewhere, which is not in it"),
        ("answers.parquet", b"PAR1", b"PAR2", 4, "answers of the bundle cannot be read"),
    ],
    ids=["path", "home", "parquet"],
)  # fmt: skip
def test_a_bundle_that_was_sealed_to_harm_is_refused_in_one_line(
    metacog, archive, tmp_path, name, old, new, code, why
):
    bad = changed(archive, tmp_path / "bad.zip", _replaced(name, old, new, sealed=True))
    done = metacog("doctor", "--bundle", bad, "--to", tmp_path / "again", code=code)
    assert why in str(done.exception) and "\n" not in str(done.exception)
    assert not (tmp_path / "again").exists() and not Path("/tmp/elsewhere").exists()


def test_a_link_and_a_torn_archive_are_refused(archive, tmp_path):
    (tmp_path / "into").mkdir()
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as out:
        entry = zipfile.ZipInfo("study.toml")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(entry, "/etc/passwd")
    with pytest.raises(StoreError, match="is a link"):
        bundle.unpack(tmp_path / "link.zip", tmp_path / "into")
    data = archive.read_bytes()
    for name, harm in (("cut", data[: len(data) // 2]), ("empty", b""), ("text", b"no zip at all")):
        (tmp_path / name).write_bytes(harm)
        with pytest.raises(StoreError, match="no bundle, or damaged"):
            bundle.unpack(tmp_path / name, tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []


def test_no_key_credential_or_personal_path_leaves(metacog, made, tmp_path, monkeypatch):
    study = load_study(made)
    from metacog_pipeline.transcripts.folder import kept_folders, read_manifest, write_manifest

    folder = kept_folders(study.home, model="careful")[0]
    said = f"401 of https://canary-user:canary-pass@host/v1: {CANARIES[0]}; see {made.parent}/log and {CANARIES[1]}"
    before = read_manifest(folder)
    write_manifest(folder, {**before, "message": said})
    monkeypatch.setenv("LEAVES_API_KEY", CANARIES[1])
    try:
        for name in FORMATS:
            metacog("export", made, "--to", tmp_path / name, "--format", name)
        metacog("export", made, "--format", "bundle", "--to", tmp_path / "all.zip")
    finally:
        write_manifest(folder, before)
    with zipfile.ZipFile(tmp_path / "all.zip") as there:
        there.extractall(tmp_path / "bundle")
    for path in tmp_path.glob("inspect/*.eval"):
        with zipfile.ZipFile(path) as log:
            log.extractall(tmp_path / "log" / path.stem)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(found) > 60
    for path in found:
        data = path.read_bytes()
        if path.suffix == ".parquet":
            import polars as pl

            data += repr(pl.read_parquet(path, hive_partitioning=False).rows()).encode()
        assert not any(canary.encode() in data for canary in CANARIES), path
        assert str(made.parent).encode() not in data and b"canary" not in data, path

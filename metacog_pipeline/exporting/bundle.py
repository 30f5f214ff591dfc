"""One archive that a paper can cite, and the boards rebuilt from it without asking a model.

It is a zip whose bytes follow from the study alone: study file, items, every answer, and every table as CSV. Unpacked it is
a study with its home. ``metacog.json`` names the version and the SHA-256 of every other entry.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from metacog_pipeline import files
from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import StoreError, StudyError, one_line
from metacog_pipeline.exporting.facts import Facts, csv_of, each_text, named_paths, refuse_existing
from metacog_pipeline.exporting.formats import Entries, tables
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.scoring import human_respondents, reader_error, staleness
from metacog_pipeline.study import Study, frames, load_study, new_file
from metacog_pipeline.transcripts import folder as folders
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from metacog_pipeline.transcripts.store import PartitionStore, read_partition

FORMAT, ABOUT, STUDY, HOME = 3, "metacog.json", "study.toml", "home"
# All that may be in it, and be named in its study file. A table of scores would be believed and not computed.
_NAMES = re.compile(
    r"metacog\.json|README\.md|study\.toml|\[path\]"
    r"|(?:files|tables|home/(?:items|people|audits|imported|transcripts))(?:/(?!\.\.?(?:/|$))[^/\\:\0]+)+"
)


# --- writing ----------------------------------------------------------------------------------------------------------
def write(study: Study, target: Path) -> str:
    """Write the bundle of a study to a new file; return a line about it."""
    refuse_existing(target)
    # what is rebuilt from the answers would differ from the tables in it
    if staleness.leaderboard_stale(study):
        raise StudyError(f"{study.path}: the board is older than the answers; run `metacog run`, then export")
    digests = dict[str, str]()
    with one_connection(study.home), files.replacing(target) as path, zipfile.ZipFile(path, "w") as archive:
        facts = Facts(study)
        for name, data in _entries(facts):
            digests[name] = files.sha256_hex(data)
            # all have the same time
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        about = {"version": facts.version, "bundle_format": FORMAT, "files": digests}
        archive.writestr(zipfile.ZipInfo(ABOUT), files.canonical_json(about), zipfile.ZIP_DEFLATED)
    return f"{len(digests)} files, {target.stat().st_size:,} bytes, SHA-256 {files.file_sha256(target)}"


def _entries(facts: Facts) -> Entries:
    study, sent = _study_file(facts)
    yield STUDY, study
    for benchmark in facts.benchmarks:
        kept = [human_respondents.path_of(facts.home, benchmark.name), reader_error.error_path(benchmark)]
        if benchmark.name not in facts.closed:
            # Results of the steps before the items leave too: some boards rest on them.
            kept += [construction.result_path(benchmark, step.name) for step in benchmark.construction()]
        sent |= {f"{HOME}/{facts.home.key(path)}": path for path in kept if path.is_file()}
        for partition, now in _partitions(benchmark):
            yield from _answers(facts, partition, now)
    for name, path in sent.items():
        data = path.read_bytes()
        # Parquet, whose rows carry digests, or packed
        with contextlib.suppress(UnicodeDecodeError):
            data = facts.text(data.decode("utf-8"), message=False).encode("utf-8")
        yield name, data
    yield from tables(facts, "tables/{}.csv", calls=False)


def _study_file(facts: Facts) -> tuple[bytes, dict[str, Path]]:
    """Return the study file without home, owners and deployment, and the files its questions are in; no folders."""
    table, imported = files.read_toml(facts.study.path), sorted(facts.home.imported.glob("*.jsonl"))
    sent = {f"{HOME}/{facts.home.key(path)}": path for path in imported}
    # A name of a model may look like a key.
    known = {Path(each.name): each.name for each in facts.study.askable}
    for each in named_paths(*facts.study.benchmarks.values()):
        path = facts.study.beside(each)
        if path.is_file():
            known[each] = f"files/{files.file_sha256(path)[:16]}{path.suffix}"
            sent[known[each]] = path
        elif path.exists():
            known[each] = "[path]"
    table.pop("deploy", None)
    table["study"].pop("owners", None)
    table["study"]["home"] = HOME
    clean = each_text(table, lambda text: known.get(Path(text)) or facts.text(text))
    return new_file.toml_text(clean).encode("utf-8"), sent


def _partitions(benchmark: Bound) -> Iterator[tuple[Partition, dict[str, str]]]:
    """Yield the partitions of answers and judgements, with the digests of a manifest whose partition is current."""
    for each in tasks.partitions(benchmark):
        asked = {"asked_as": request_digest(each.spec)}
        yield each, {**asked, "fingerprint": tasks.fingerprint(benchmark, each)}
        yield judging.judged_as(each), asked


def _answers(facts: Facts, partition: Partition, now: dict[str, str]) -> Entries:
    place, out = f"{HOME}/{partition.folder.key}", io.BytesIO()
    if manifest := partition.manifest():
        # What is stale stays so where it is rebuilt.
        manifest |= {key: "" for key, digest in now.items() if manifest.get(key) not in (None, digest)}
        clean = files.canonical_json(each_text(manifest, facts.text))
        yield f"{place}/{folders.MANIFEST_NAME}", clean.encode("utf-8")
    if partition.folder.copy.is_file():
        frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
        # The body of a reply is packed: it cannot be searched for secrets.
        leaving = facts.leaving(frame.with_columns(raw_zstd=pl.lit(None, pl.String)))
        leaving = leaving.with_columns(pl.col("request_json").fill_null("{}"))
        pq.write_table(leaving.to_arrow().cast(ARROW_SCHEMA), out, compression="zstd")
        yield f"{place}/{folders.COPY_NAME}", out.getvalue()


# --- rebuilding -------------------------------------------------------------------------------------------------------
def unpack(path: Path, folder: Path) -> dict[str, Any]:
    """Unpack an archive of unknown origin; return what it says of itself. StoreError if it is no bundle, or was changed."""
    try:
        with zipfile.ZipFile(path) as archive:
            names, size = set(archive.namelist()), sum(each.file_size for each in archive.infolist())
            if size > max(files.UNPACKED_ALWAYS, files.TIGHTEST * path.stat().st_size):
                raise ValueError(f"it unpacks to {size} bytes")
            about: dict[str, Any] = json.loads(archive.read(ABOUT))
            if about["bundle_format"] != FORMAT:
                raise ValueError(f"version {about['version']} made it: install that one")
            odd = {name for name in names if not _NAMES.fullmatch(name)} | (names ^ {ABOUT, *about["files"]})
            if odd:
                raise ValueError(f"{min(odd)!r} is missing, or is no part of it")
            archive.extractall(folder)
        for name, digest in about["files"].items():
            if files.file_sha256(folder / name) != digest:
                raise ValueError(f"{name!r} is not what was bundled")
        for table in folder.rglob("*.parquet"):
            # a few kilobytes may unpack to any number
            for _ in parquet_bounds.batches(table):
                pass
        return about
    except Exception as error:  # readers of a hostile file raise errors of any kind
        why = one_line(str(getattr(error, "strerror", None) or error), 100)
        raise StoreError(f"{path}: no bundle, or damaged ({why}); get the archive again") from None


def rebuild(archive: Path, folder: Path) -> tuple[str, dict[str, bool]]:
    """Rebuild the boards of a bundle in a new folder; return the version that wrote it, and which tables are equal.

    No model is asked. Data sets whose licence kept them out are fetched from their publishers.
    """
    refuse_existing(folder)
    with files.making_folder(folder) as temporary:
        about = unpack(archive, temporary)
        study = load_study(temporary / STUDY)
        named = (str(each) for each in named_paths(*study.benchmarks.values()))
        outside = next((each for each in named if not _NAMES.fullmatch(each)), study.deploy.store)
        if outside is not None or study.study.home != HOME:
            raise StudyError(f"{STUDY} of the bundle names {outside or study.home}, which is not in it")
        study.prepare()
        for each in folders.kept_folders(study.home):
            # brings the answers of the copy to a journal
            with PartitionStore(each) as store:
                store.compact()
        for benchmark in enabled(study):
            _make_current(benchmark)
        publishing.publish(study, asking=False)
        there = {path.stem: path.read_bytes() for path in (temporary / "tables").glob("*.csv")}
        made = {name: csv_of(frame) for name, frame in Facts(study).tables().items()}
    return about["version"], {name: there.get(name) == made.get(name) for name in sorted(there | made)}


def _make_current(benchmark: Bound) -> None:
    """Note of items and answers that they are current: digests rest on names of files, which are others here."""
    for step in benchmark.construction():
        if (path := construction.result_path(benchmark, step.name)).exists():
            digest = construction.input_digest(benchmark, step)
            frames.write_frame(frames.read_frame(path), path, digest)
    construction.build(benchmark)
    for partition, now in _partitions(benchmark):
        if manifest := partition.manifest():
            manifest |= {key: digest for key, digest in now.items() if manifest.get(key)}
            folders.write_manifest(partition.folder, manifest)

"""One archive that a paper can cite, and the boards rebuilt from it without asking a model.

It is a zip whose bytes follow from the study alone: study file, items, every answer, and every table as CSV. Unpacked it is
a study with its home. ``metacog.json`` names versions, sources, and the SHA-256 of every other entry.
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
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import StoreError, StudyError, one_line
from metacog_pipeline.exporting.facts import Facts, csv_of, each_text, named_paths, refuse_existing
from metacog_pipeline.exporting.formats import card
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.scoring import human_respondents, reader_error, staleness
from metacog_pipeline.study import Study, frames, load_study, new_file
from metacog_pipeline.transcripts import folder as folders
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from metacog_pipeline.transcripts.store import PartitionStore, read_partition

FORMAT, ABOUT, STUDY, HOME = 3, "metacog.json", "study.toml", "home"
# All that may be in it. A table of scores would be believed and not computed.
_NAMES = re.compile(
    r"metacog\.json|README\.md|study\.toml"
    r"|(?:files|tables|home/(?:items|people|audits|imported|transcripts))(?:/(?!\.\.?(?:/|$))[^/\\:\0]+)+"
)
Entries = Iterator[tuple[str, bytes]]  # name and content


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
            archive.writestr(_entry(name), data)
        about = {**facts.about, "bundle_format": FORMAT, "files": digests}
        archive.writestr(_entry(ABOUT), files.canonical_json(about))
    return f"{len(digests)} files, {target.stat().st_size:,} bytes, SHA-256 {files.file_sha256(target)}"


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # all have the same time
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


def _entries(facts: Facts) -> Entries:
    for benchmark in facts.benchmarks:
        yield from _of_benchmark(facts, benchmark)
    yield from _of_study(facts)
    tables = facts.tables()
    yield "README.md", card(facts, tables, "tables/{}.csv").encode("utf-8")
    for name, frame in tables.items():
        yield f"tables/{name}.csv", csv_of(frame)


def _of_benchmark(facts: Facts, benchmark: Bound) -> Entries:
    """Yield items, human respondents, what labels say of the reader model, answers and judgements."""
    home = facts.home
    paths = [human_respondents.path_of(home, benchmark.name), reader_error.error_path(benchmark)]
    if benchmark.name not in facts.closed:
        # Results of the steps before the items leave too: some boards rest on them.
        steps = sorted((home.items / benchmark.name).glob("*.parquet"))
        paths += [item_files.items_path(home, benchmark.name), *steps]
    for path in filter(Path.is_file, paths):
        yield f"{HOME}/{home.key(path)}", path.read_bytes()
    for partition in tasks.partitions(benchmark):
        manifest = partition.manifest()
        if manifest and manifest.get("fingerprint") != tasks.fingerprint(benchmark, partition):
            # it is stale, and is so when it is rebuilt
            manifest["fingerprint"] = None
        yield from _of_partition(facts, benchmark, partition, manifest)
        judged = judging.judged_as(partition)
        yield from _of_partition(facts, benchmark, judged, judged.manifest())


def _of_partition(facts: Facts, benchmark: Bound, partition: Partition, manifest: dict[str, Any]) -> Entries:
    place, out = f"{HOME}/{partition.folder.key}", io.BytesIO()
    if clean := each_text(manifest, facts.clean.text):
        yield f"{place}/{folders.MANIFEST_NAME}", files.canonical_json(clean).encode()
    if not partition.folder.copy.is_file():
        return
    frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
    # The body of a reply is packed: it cannot be searched for secrets.
    leaving = facts.leaving(benchmark, frame.with_columns(raw_zstd=pl.lit(None, pl.String)))
    pq.write_table(leaving.to_arrow().cast(ARROW_SCHEMA), out, compression="zstd")
    yield f"{place}/{folders.COPY_NAME}", out.getvalue()


def _of_study(facts: Facts) -> Entries:
    """Yield the study file and the files it names, without home, owners and deployment; folders are left out."""
    home, clean, table = facts.home, facts.clean, files.read_toml(facts.study.path)
    named = named_paths(table["benchmarks"], facts.study.beside)
    # Files of two folders may have one name.
    names = {
        text: f"files/{files.file_sha256(path)[:8]}/{path.name}"
        for text, path in named.items()
        if path.is_file()
    }
    moved = dict.fromkeys(named, "[path]") | names
    table.pop("deploy", None)
    table["study"] = {key: each for key, each in table["study"].items() if key != "owners"} | {"home": HOME}
    table["benchmarks"] = each_text(table["benchmarks"], lambda text: moved.get(text, text))
    yield STUDY, new_file.toml_text(each_text(table, clean.text)).encode("utf-8")
    sent = {name: named[text] for text, name in names.items()}
    sent |= {f"{HOME}/{home.key(path)}": path for path in sorted(home.imported.glob("*.jsonl"))}
    for name, path in sent.items():
        data = path.read_bytes()
        # Parquet, or packed
        with contextlib.suppress(UnicodeDecodeError):
            data = clean.text(data.decode("utf-8"), message=False).encode("utf-8")
        yield name, data


# --- rebuilding -------------------------------------------------------------------------------------------------------
def unpack(path: Path, folder: Path) -> dict[str, Any]:
    """Unpack an archive of unknown origin into an empty folder, and return what it says of itself.

    Raises ``StoreError`` if it is none, a byte of it changed, or an entry is none of a bundle or too large.
    """
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
        _refuse_elsewhere(study, temporary.resolve())
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


def _refuse_elsewhere(study: Study, inside: Path) -> None:
    """Refuse a study file that names a home, a store or a file outside of its folder."""
    tables = [each.model_dump(mode="json") for each in study.benchmarks.values()]
    named = [study.home.path.resolve(), *named_paths(tables, study.beside).values()]
    outside = next((path for path in named if not path.is_relative_to(inside)), study.deploy.store)
    if outside is not None:
        raise StudyError(f"{STUDY} of the bundle names {outside}, which is not in it")


def _make_current(benchmark: Bound) -> None:
    """Note of items and answers that they are current: digests rest on names of files, which are others here."""
    for step in benchmark.construction():
        if (path := construction.result_path(benchmark, step.name)).exists():
            digest = construction.input_digest(benchmark, step)
            frames.write_frame(frames.read_frame(path), path, digest)
    construction.build(benchmark)
    for partition in tasks.partitions(benchmark):
        if (manifest := partition.manifest()).get("fingerprint"):
            manifest["fingerprint"] = tasks.fingerprint(benchmark, partition)
            folders.write_manifest(partition.folder, manifest)

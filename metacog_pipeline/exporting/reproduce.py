"""The boards of an archive rebuilt in a new folder without asking a model, and compared byte by byte with its tables."""

from __future__ import annotations

import csv
import json
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import SourceError, StoreError, StudyError, one_line
from metacog_pipeline.exporting import bundle
from metacog_pipeline.exporting.facts import (
    ABOUT,
    FILES,
    IMPORTED,
    STUDY,
    Facts,
    named_paths,
    sources,
    write_csv,
)
from metacog_pipeline.exporting.folders import new_folder, refuse_taken
from metacog_pipeline.files import file_sha256, replacing
from metacog_pipeline.home import Home
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.leaderboard import replayed
from metacog_pipeline.report.page import build_report
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import MARK
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.store import PartitionStore, keep_whole, write_manifest

MOST, MOST_FILES = 16 * 2**30, 100_000  # bytes of all entries unpacked; entries
_TIGHTEST, _ALWAYS = 200, 64 * 2**20  # times an entry may be packed, bytes that are unpacked however tightly
_LARGEST_ABOUT = 64 * 2**20
_HOMES = ("items", "people", "audits", IMPORTED)
_FIELDS = tuple(each.name for each in fields(Record))


@dataclass(frozen=True, slots=True)
class Table:
    """A rebuilt table: its rows, and what differs from that of the archive; None where it is equal byte by byte."""

    name: str
    rows: int
    differs: str | None = None


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A bundle whose boards were rebuilt: in which folder, by which version it was made, every table compared."""

    folder: Path
    home: Home
    version: str
    tables: tuple[Table, ...]

    @property
    def differ(self) -> list[Table]:
        """The tables that are not equal byte by byte."""
        return [each for each in self.tables if each.differs is not None]


def reproduce(archive: Path, target: Path | None = None, given: Path | None = None) -> Reproduced:
    """Make boards and report again from a bundle, in a new folder, and compare every table; no model is asked.

    ``given`` holds copies of data sets whose licence kept them out. Raises ``StoreError`` where it is no bundle.
    """
    if not archive.is_file():
        what = "is a folder" if archive.is_dir() else "there is no such file"
        raise StoreError(f"{archive}: {what}; give the archive that metacog export --format bundle wrote")
    target = target or archive.with_name(f"{archive.stem}-reproduced")
    refuse_taken(target)
    with tempfile.TemporaryDirectory() as unpacked:
        place = Path(unpacked)
        about = unpack(archive, place)
        with new_folder(target) as folder:
            rebuild(place, folder, about, given)
        study = load_study(target / STUDY)
        tables = tuple(compare(study, place))
    build_report(study.home, study.study.name)
    return Reproduced(target, study.home, about["board_version"], tables)


# --- the archive ------------------------------------------------------------------------------------------------------
def unpack(path: Path, folder: Path) -> dict[str, Any]:
    """Unpack an archive into an empty folder, and return what it says of itself.

    Raises ``StoreError`` if it is none, a byte of it changed, or an entry is a link, leads elsewhere, or unpacks to more
    than is taken.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {each.filename: each for each in archive.infolist()}
            _refuse_odd(path, archive.infolist())
            about = _about(path, archive, entries)
            for name, digest in about["files"].items():
                target = folder / PurePosixPath(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entries[name]) as packed, target.open("xb") as out:
                    shutil.copyfileobj(packed, out, 2**20)
                if file_sha256(target) != digest:
                    raise StoreError(f"{path}: {name} is not what was bundled; get the archive again")
            (folder / ABOUT).write_bytes(archive.read(ABOUT))
            return about
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise StoreError(
            f"{path}: no bundle, or damaged ({one_line(str(error), 100)}); get the archive again"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be unpacked: {error.strerror or error}") from None


def _refuse_odd(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for entry in entries:
        name, size = entry.filename, entry.file_size
        parts = PurePosixPath(name).parts
        plain = parts and name == "/".join(parts) and parts[0] != "/" and ".." not in parts
        if not plain or re.search(r"[\\:\0]", name):
            why = "leads out of the archive"
        elif stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            why = "is a link or a special file"
        elif name.casefold() in seen:
            why = "is in it twice"
        elif entry.flag_bits & 1:
            why = "is encrypted"
        elif size > max(_ALWAYS, _TIGHTEST * entry.compress_size):
            why = f"unpacks to {size} bytes from {entry.compress_size}"
        else:
            seen.add(name.casefold())
            continue
        raise StoreError(f"{path}: entry {one_line(name, 80)!r} {why}; nothing was unpacked")
    if len(entries) > MOST_FILES or sum(each.file_size for each in entries) > MOST:
        raise StoreError(f"{path}: unpacks to more than is taken; nothing was unpacked")


def _about(path: Path, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> dict[str, Any]:
    if ABOUT not in entries or entries[ABOUT].file_size > _LARGEST_ABOUT:
        raise StoreError(f"{path}: no bundle of metacog: it has no {ABOUT}")
    try:
        about = json.loads(archive.read(ABOUT))
        files, seal = about["files"], about[bundle.SEAL]
        whole = seal == bundle.seal_of(about) and all(isinstance(each, str) for each in files.values())
        form = about["bundle_format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreError(f"{path}: {ABOUT} is no description of a bundle") from None
    if not whole:
        raise StoreError(f"{path}: {ABOUT} is not what was bundled; get the archive again")
    if form > bundle.FORMAT:
        raise StoreError(f"{path}: made by a newer version ({about.get('version')}); install that one")
    if odd := sorted(set(entries) - {ABOUT} ^ set(files)):
        raise StoreError(f"{path}: {one_line(odd[0], 80)!r} is missing, or was added; get the archive again")
    found: dict[str, Any] = about
    return found


# --- the study --------------------------------------------------------------------------------------------------------
def rebuild(archive: Path, target: Path, about: Mapping[str, Any], given: Path | None) -> Study:
    """Fill a folder with a study and its home, from an unpacked archive, and make its boards; no model is asked.

    ``given`` holds copies of sources whose items are not in the archive.
    """
    shutil.copyfile(archive / STUDY, target / STUDY)
    if (archive / FILES).is_dir():
        shutil.copytree(archive / "files", target / FILES)
    study = load_study(target / STUDY)
    _refuse_elsewhere(study, target)
    study.prepare()
    for name in _HOMES:
        if (archive / name).is_dir():
            shutil.copytree(archive / name, study.home / name, dirs_exist_ok=True)
    for benchmark in enabled(study):
        noted = about["benchmarks"].get(benchmark.name)
        if noted is not None:
            try:
                _answers(benchmark, archive)
            except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
                why = one_line(str(error).replace(str(archive), ""), 120)
                raise StoreError(
                    f"{benchmark.name}: the answers of the bundle cannot be read ({why})"
                ) from None
            _items(benchmark, noted, given)
            for partition in tasks.partitions(
                benchmark
            ):  # the same items, words and model, in another folder
                _mark(archive, partition, tasks.fingerprint(benchmark, partition))
    replayed.publish(
        study,
        asking=False,
        judged=lambda each, own: _judged(each, own, archive),
        prints=lambda each: bool(about["benchmarks"].get(each.name, {}).get("published")),
    )
    return study


def _refuse_elsewhere(study: Study, target: Path) -> None:
    own = study.study.home is not None or study.deploy.store is not None
    if own or not study.home.path.resolve().is_relative_to(target.resolve()):
        raise StudyError(
            f"{STUDY} of the bundle names a place of its own (home, deploy); it is no bundle of metacog"
        )
    for benchmark in enabled(study):
        for path in named_paths(benchmark.settings.model_dump(mode="json"), benchmark.context.beside):
            if not path.is_relative_to(target.resolve()):
                raise StudyError(
                    f"{STUDY} of the bundle names {path}, which is not in it; it is no bundle of metacog"
                )


def _answers(benchmark: Bound, archive: Path) -> None:
    """Keep the answers of the archive as they were kept, and mark those that were superseded."""
    for _, partition in bundle.partitions(benchmark):
        place = archive / bundle.below(partition)
        if not (place / bundle.ANSWERS).is_file():
            continue
        rows = [row for batch in parquet_bounds.batches(place / bundle.ANSWERS) for row in batch.to_pylist()]
        current = {row["answer_id"] for row in rows if not row["superseded"]}
        keep_whole(partition.folder, [Record(**{name: row[name] for name in _FIELDS}) for row in rows])
        with PartitionStore(partition.folder) as store:
            store.compact(current)
        noted = json.loads((place / bundle.NOTED).read_bytes()).items()
        known = {key: each for key, each in noted if key not in ("role", "current", "layout", "sha256")}
        write_manifest(partition.folder, {**known, "fingerprint": None})


def _mark(archive: Path, partition: Any, fingerprint: str) -> None:
    """Note of a partition that was current that it is."""
    noted = archive / bundle.below(partition) / bundle.NOTED
    if noted.is_file() and json.loads(noted.read_bytes()).get("current"):
        write_manifest(partition.folder, {**partition.manifest(), "fingerprint": fingerprint})


def _items(benchmark: Bound, noted: Mapping[str, Any], given: Path | None) -> None:
    """Have the items of the archive, or build them; they must be those that were asked."""
    home = benchmark.context.home
    if item_files.items_path(home, benchmark.name).exists():
        for step in benchmark.construction():
            path = construction.result_path(benchmark, step.name)
            if not path.exists() and step.name not in construction.for_items(benchmark):
                continue  # not made when the bundle was: judges were not tried yet
            table = pq.read_table(path, partitioning=None)
            with replacing(path) as temporary:
                marked = {**(table.schema.metadata or {}), MARK: construction.input_digest(benchmark, step)}
                pq.write_table(table.replace_schema_metadata(marked), temporary, compression="zstd")
    else:
        for source in sources(benchmark):
            if given is None:
                where = ", ".join(source.urls) or "your own copy"
                raise SourceError(
                    f"{benchmark.name}: its items may not be copied; get {source.name} ({where}); give --from"
                )
            source.fetch(home, folder=given)
        construction.build(benchmark)
    if item_files.items_digest(home, benchmark.name, benchmark.Item) != noted["items_sha256"]:
        raise SourceError(
            f"{benchmark.name}: the items made here are not those of the bundle; its version was {noted['versions']}"
        )


def _judged(benchmark: Bound, partition: Any, archive: Path) -> None:
    wanted, responses = judging.wanted(benchmark), judging.kept_responses(partition)
    if wanted is not None and responses is not None:
        own = judging.judged_as(partition)
        _mark(archive, own, judging.needed(benchmark, wanted, partition, responses)[1])


# --- what came of it --------------------------------------------------------------------------------------------------
def compare(study: Study, archive: Path) -> Iterator[Table]:
    """Yield every table of the archive, compared with the rebuilt one."""
    made = dict(Facts.of(study).tables())
    folder = study.home.reproduced
    folder.mkdir(exist_ok=True)
    there = {path.stem: path for path in sorted((archive / bundle.TABLES).glob("*.csv"))}
    for name in sorted({*there, *made}):
        if name not in there or name not in made:
            yield Table(name, 0, "is only in the bundle" if name in there else "is not in the bundle")
            continue
        own = folder / f"{name}.csv"
        rows = write_csv(own, made[name])
        same = own.read_bytes() == there[name].read_bytes()
        yield Table(name, rows, None if same else _first_difference(there[name], own))


def _first_difference(old: Path, new: Path) -> str:
    with old.open(encoding="utf-8", newline="") as one, new.open(encoding="utf-8", newline="") as two:
        (names, *before), (columns, *after) = csv.reader(one), csv.reader(two)
    if names != columns:
        return f"columns {', '.join(sorted({*names} ^ {*columns})[:5]) or 'in another order'}"
    if len(before) != len(after):
        return f"{len(before)} rows in the bundle, {len(after)} here"
    differ = [(row, other) for row, other in zip(before, after, strict=True) if row != other]
    first, near = differ[0]
    at = next(n for n, (a, b) in enumerate(zip(first, near, strict=True)) if a != b)
    where, cell = one_line(" ".join(first[: min(at, 6)]), 80), names[at]
    both = f"{cell} {one_line(first[at], 40)} in the bundle, {one_line(near[at], 40)} here"
    return f"{len(differ)} of {len(before)} rows, such as {where}: {both}"

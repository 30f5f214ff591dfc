"""The boards of an archive rebuilt in a new folder without asking a model, and compared byte by byte with its tables."""

from __future__ import annotations

import json
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import SourceError, StoreError, StudyError, one_line
from metacog_pipeline.exporting import bundle, new
from metacog_pipeline.exporting.facts import (
    ABOUT,
    FILES,
    IMPORTED,
    STUDY,
    Facts,
    csv_of,
    named_paths,
    sources,
)
from metacog_pipeline.files import file_sha256, making_folder, replacing
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
    with tempfile.TemporaryDirectory() as unpacked:
        place = Path(unpacked)
        with new(target):
            about = unpack(archive, place)
            with making_folder(target) as folder:
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
            seen: set[str] = set()
            for entry in archive.infolist():
                if (why := _odd(entry, seen)) is not None:
                    name = one_line(entry.filename, 80)
                    raise StoreError(f"{path}: entry {name!r} {why}; nothing was unpacked")
            if len(seen) > MOST_FILES or sum(each.file_size for each in archive.infolist()) > MOST:
                raise StoreError(f"{path}: unpacks to more than is taken; nothing was unpacked")
            about = _about(path, archive)
            for name, digest in about["files"].items():
                target = folder / PurePosixPath(name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as packed, target.open("xb") as out:
                    shutil.copyfileobj(packed, out, 2**20)
                if file_sha256(target) != digest:
                    raise StoreError(f"{path}: {name} is not what was bundled; get the archive again")
            return about
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise StoreError(
            f"{path}: no bundle, or damaged ({one_line(str(error), 100)}); get the archive again"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be unpacked: {error.strerror or error}") from None


def _odd(entry: zipfile.ZipInfo, seen: set[str]) -> str | None:
    """Return why an entry is not unpacked; note its name as ``seen``."""
    name, parts = entry.filename, PurePosixPath(entry.filename).parts
    plain = parts and name == "/".join(parts) and parts[0] != "/" and ".." not in parts
    if not plain or re.search(r"[\\:\0]", name):
        return "leads out of the archive"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link or a special file"
    if name.casefold() in seen:
        return "is in it twice"
    seen.add(name.casefold())
    if entry.file_size > max(_ALWAYS, _TIGHTEST * entry.compress_size):
        return f"unpacks to {entry.file_size} bytes from {entry.compress_size}"
    return None


def _about(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return what an archive says of itself; StoreError where that is not whole, or entries are not those it names."""
    names = set(archive.namelist())
    if ABOUT not in names or archive.getinfo(ABOUT).file_size > _ALWAYS:
        raise StoreError(f"{path}: no bundle of metacog: it has no {ABOUT}")
    try:
        about: dict[str, Any] = json.loads(archive.read(ABOUT))
        files, seal, form = about["files"], about[bundle.SEAL], about["bundle_format"]
        whole = seal == bundle.seal_of(about) and all(isinstance(each, str) for each in files.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreError(f"{path}: {ABOUT} is no description of a bundle") from None
    if not whole:
        raise StoreError(f"{path}: {ABOUT} is not what was bundled; get the archive again")
    if form > bundle.FORMAT:
        raise StoreError(f"{path}: made by a newer version ({about.get('version')}); install that one")
    if odd := sorted(names - {ABOUT} ^ set(files)):
        raise StoreError(f"{path}: {one_line(odd[0], 80)!r} is missing, or was added; get the archive again")
    return about


# --- the study --------------------------------------------------------------------------------------------------------
def rebuild(archive: Path, target: Path, about: Mapping[str, Any], given: Path | None) -> None:
    """Fill a folder with a study and its home, from an unpacked archive, and make its boards; no model is asked.

    ``given`` holds copies of sources whose items are not in the archive.
    """
    shutil.copyfile(archive / STUDY, target / STUDY)
    if (archive / FILES).is_dir():
        shutil.copytree(archive / FILES, target / FILES)
    study = load_study(target / STUDY)
    _refuse_elsewhere(study, target)
    study.prepare()
    for name in _HOMES:
        if (archive / name).is_dir():
            shutil.copytree(archive / name, study.home / name, dirs_exist_ok=True)
    for benchmark in enabled(study):
        if (noted := about["benchmarks"].get(benchmark.name)) is None:
            continue
        try:
            for _, partition in bundle.partitions(benchmark):
                _answers(partition, archive / bundle.below(partition))
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            why = one_line(str(error).replace(str(archive), ""), 120)
            raise StoreError(f"{benchmark.name}: the answers of the bundle cannot be read ({why})") from None
        _items(benchmark, noted, given)
        for partition in tasks.partitions(benchmark):  # the same items, words and model, in another folder
            _mark(archive, partition, tasks.fingerprint(benchmark, partition))
    replayed.publish(
        study,
        asking=False,
        judged=lambda each, own: _judged(each, own, archive),
        prints=lambda each: bool(about["benchmarks"].get(each.name, {}).get("published")),
    )


def _refuse_elsewhere(study: Study, target: Path) -> None:
    """Refuse a study file that names a home, a store or a file outside of ``target``."""
    inside, what = target.resolve(), None
    if study.study.home is not None or study.deploy.store is not None:
        what = "a place of its own (home, deploy)"
    for each in enabled(study):
        for path in named_paths(each.settings.model_dump(mode="json"), each.context.beside):
            what = what if path.is_relative_to(inside) else f"{path}, which is not in it"
    if what is not None or not study.home.path.resolve().is_relative_to(inside):
        raise StudyError(f"{STUDY} of the bundle names {what or study.home}; it is no bundle of metacog")


def _answers(partition: Any, place: Path) -> None:
    """Keep the answers of a partition of the archive as they were kept, and mark those that were superseded."""
    if not (place / bundle.ANSWERS).is_file():
        return
    rows = [row for batch in parquet_bounds.batches(place / bundle.ANSWERS) for row in batch.to_pylist()]
    keep_whole(partition.folder, [Record(**{name: row[name] for name in _FIELDS}) for row in rows])
    with PartitionStore(partition.folder) as store:
        store.compact({row["answer_id"] for row in rows if not row["superseded"]})
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
    """Yield every table of the archive, compared with the rebuilt one, which is written to the home."""
    made = dict(Facts.of(study).tables())
    study.home.reproduced.mkdir(exist_ok=True)
    there = {path.stem: path.read_bytes() for path in (archive / bundle.TABLES).glob("*.csv")}
    for name in sorted({*there, *made}):
        if name not in there or name not in made:
            yield Table(name, 0, "is only in the bundle" if name in there else "is not in the bundle")
            continue
        own = csv_of(made[name])
        (study.home.reproduced / f"{name}.csv").write_bytes(own)
        yield Table(name, made[name].height, _difference(there[name], own))


def _difference(before: bytes, after: bytes) -> str | None:
    """Return the first line that differs, and how many lines there are; None of equal tables."""
    if before == after:
        return None
    old, new = (each.decode("utf-8", "replace").splitlines() for each in (before, after))
    pairs = (pair for pair in zip_longest(old, new, fillvalue="nothing") if pair[0] != pair[1])
    first, near = (one_line(each, 120) for each in next(pairs, ("other ends of lines", "these")))
    return f"{len(old)} lines in the bundle, {len(new)} here: {first} in the bundle, {near} here"

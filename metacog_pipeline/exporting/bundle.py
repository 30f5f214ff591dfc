"""One archive that a paper can cite, and the boards rebuilt from it without asking a model.

It is a zip whose bytes follow from the study alone: study file, items, every answer, versions, seeds and every table.
``metacog.json`` holds the SHA-256 of every other entry and of itself. Unpacked it is a study with its home.
"""

from __future__ import annotations

import contextlib
import io
import json
import platform
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import SourceError, StoreError, StudyError, one_line
from metacog_pipeline.exporting import new, zip_entry
from metacog_pipeline.exporting.facts import PLACE, Facts, csv_of, named_paths, sources
from metacog_pipeline.exporting.formats import card
from metacog_pipeline.files import (
    canonical_json,
    file_sha256,
    making_folder,
    read_toml,
    replacing,
    sha256_hex,
)
from metacog_pipeline.interchange import parquet_bounds
from metacog_pipeline.leaderboard import publishing
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.report.page import build_report
from metacog_pipeline.scoring.human_respondents import path_of as people_path
from metacog_pipeline.scoring.reader_error import error_path
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import MARK
from metacog_pipeline.study.new_file import toml_text
from metacog_pipeline.transcripts.folder import PartitionFolder, write_manifest
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA, Record
from metacog_pipeline.transcripts.store import PartitionStore, keep_whole, read_partition

FORMAT, SEAL, ABOUT = 2, "sha256", "metacog.json"
STUDY, HOME, ANSWERS = "study.toml", "home", "answers.parquet"
# All that may be in it. A table of scores would be believed and not computed.
_NAMES = re.compile(
    r"(?:metacog\.json|README\.md|study\.toml|(?:files|tables|home/(?:items|people|audits|imported))/(?:[^/\\:\0]+/)*"
    r"[^/\\:\0]+|home/transcripts(?:/[a-z]+=[a-z0-9._-]+){3}/(?:answers\.parquet|partition\.json))"
)
MOST, MOST_FILES = 16 * 2**30, 100_000  # bytes of all entries unpacked; entries
# Times an entry may be packed, bytes that are unpacked however tightly: tables of zeros are packed a hundred times.
_TIGHTEST, _ALWAYS = 200, 64 * 2**20


# --- writing ----------------------------------------------------------------------------------------------------------
def write_archive(study: Study, target: Path | None) -> tuple[Path, dict[str, Any]]:
    """Write the bundle of a study, named after it and its snapshot without ``target``; return what is in ``ABOUT``."""
    if target is not None and target.suffix.lower() != ".zip":
        raise StudyError(f'--to "{target}": a bundle is a zip archive; give a name that ends in .zip')
    with one_connection(study.home):
        facts, files = Facts(study), dict[str, str]()
        path = target or Path(f"{study.study.name.replace(' ', '-')}-{facts.about['snapshot']}.zip")
        with new(path), replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:

            def put(name: str, data: bytes) -> None:
                files[name] = sha256_hex(data)
                archive.writestr(zip_entry(name), data)

            for benchmark in facts.benchmarks:
                _put_benchmark(facts, benchmark, put)
            _put_study(facts, put)
            tables = dict(facts.tables())
            put("README.md", card(facts, tables, "tables/{}.csv").encode("utf-8"))
            for name, frame in tables.items():
                put(f"tables/{name}.csv", csv_of(frame))
            libraries = {name: version(name) for name in ("numpy", "scipy", "polars", "pyarrow", "duckdb")}
            about = {
                **facts.about, "format": "bundle", "bundle_format": FORMAT, "files": dict(files),
                "libraries": {"python": platform.python_version(), **libraries},
            }  # fmt: skip
            about[SEAL] = seal_of(about)
            put(ABOUT, _json(about))
    return path, about


def seal_of(about: dict[str, Any]) -> str:
    """Return the digest of what an archive says of itself, which names the digest of every file in it."""
    return sha256_hex(canonical_json({key: value for key, value in about.items() if key != SEAL}))


def _partitions(benchmark: Bound) -> Iterator[Partition]:
    """Yield every partition the numbers of a benchmark rest on."""
    for partition in tasks.partitions(benchmark):
        yield partition
        if judging.wanted(benchmark) is not None:
            yield judging.judged_as(partition)


def _put_benchmark(facts: Facts, benchmark: Bound, put: Callable[[str, bytes], None]) -> None:
    """Put items, answers, judgements, human respondents, and what labels say of the reader model."""
    home = facts.home
    paths = [people_path(home, benchmark.name), error_path(benchmark)]
    if benchmark.name not in facts.closed:
        # Results of the steps before the items leave too: some boards rest on them.
        steps = sorted((home.items / benchmark.name).glob("*.parquet"))
        paths += [item_files.items_path(home, benchmark.name), *steps]
    for path in filter(Path.is_file, paths):
        put(f"{HOME}/{home.key(path)}", path.read_bytes())
    for partition in _partitions(benchmark):
        if not (manifest := partition.manifest()):
            continue
        judged, place = partition.benchmark != benchmark.name, f"{HOME}/{partition.folder.key}"
        if not judged and manifest.get("fingerprint") != tasks.fingerprint(benchmark, partition):
            manifest["fingerprint"] = None  # it is stale, and is so when it is rebuilt
        put(f"{place}/partition.json", _json(facts.clean.value(manifest)))
        frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
        # The body of a reply is packed: it cannot be searched for secrets.
        leaving = facts.leaving(benchmark, frame.with_columns(raw_zstd=pl.lit(None, pl.String)))
        out = io.BytesIO()
        pq.write_table(leaving.to_arrow().cast(pa.schema(list(ARROW_SCHEMA))), out, compression="zstd")
        put(f"{place}/{ANSWERS}", out.getvalue())


def _put_study(facts: Facts, put: Callable[[str, bytes], None]) -> None:
    """Put the study file and the files it names, without home, owners and deployment; folders are left out."""
    study, clean = facts.study, facts.clean

    def copied(path: Path, name: str) -> str:
        data = path.read_bytes()
        with contextlib.suppress(UnicodeDecodeError):  # Parquet, or packed
            data = clean.text(data.decode("utf-8"), message=False).encode("utf-8")
        put(name, data)
        return name

    def with_files(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: with_files(each) for key, each in value.items()}
        if isinstance(value, list):
            return [with_files(each) for each in value]
        path = next(named_paths(value, study.beside), None)
        if path is None or path.is_dir():
            return value if path is None else PLACE
        # Files of two folders may have one name.
        return copied(path, f"files/{file_sha256(path)[:8]}/{path.name}")

    table = read_toml(study.path)
    table.pop("deploy", None)
    table["study"] = {key: each for key, each in table["study"].items() if key != "owners"} | {"home": HOME}
    table["benchmarks"] = with_files(table.get("benchmarks", {}))
    for path in sorted(study.home.imported.glob("*.jsonl")):
        copied(path, f"{HOME}/{study.home.key(path)}")
    put(STUDY, toml_text(clean.value(table)).encode("utf-8"))


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("utf-8")


# --- unpacking --------------------------------------------------------------------------------------------------------
def unpack(path: Path, folder: Path) -> dict[str, Any]:
    """Unpack an archive of unknown origin into an empty folder, and return what it says of itself.

    Raises ``StoreError`` if it is none, a byte of it changed, or an entry is none of a bundle, a link, or too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if (why := _odd(entry)) is not None:
                    name = one_line(entry.filename, 80)
                    raise StoreError(f"{path}: entry {name!r} {why}; nothing was unpacked")
            names = archive.namelist()
            if len(names) > MOST_FILES or sum(each.file_size for each in archive.infolist()) > MOST:
                raise StoreError(f"{path}: unpacks to more than is taken; nothing was unpacked")
            if len({name.casefold() for name in names}) < len(names):  # one file on some disks
                raise StoreError(f"{path}: has two entries of one name; nothing was unpacked")
            about = _about(path, archive)
            for name, digest in about["files"].items():
                if file_sha256(Path(archive.extract(name, folder))) != digest:
                    raise StoreError(f"{path}: {name} is not what was bundled; get the archive again")
            return about
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        why = one_line(str(error), 100)
        raise StoreError(f"{path}: no bundle, or damaged ({why}); get the archive again") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be unpacked: {error.strerror or error}") from None


def _odd(entry: zipfile.ZipInfo) -> str | None:
    """Return why an entry is not unpacked."""
    if not _NAMES.fullmatch(entry.filename) or {".", ".."} & set(entry.filename.split("/")):
        return "is no part of a bundle"
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link or a special file"
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
        files, whole, form = about["files"].keys(), about[SEAL] == seal_of(about), about["bundle_format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreError(f"{path}: {ABOUT} is no description of a bundle") from None
    if not whole:
        raise StoreError(f"{path}: {ABOUT} is not what was bundled; get the archive again")
    if form != FORMAT:
        raise StoreError(f"{path}: made by another version ({about.get('version')}); install that one")
    if odd := sorted(names - {ABOUT} ^ files):
        raise StoreError(f"{path}: {one_line(odd[0], 80)!r} is missing, or was added; get the archive again")
    return about


# --- rebuilding -------------------------------------------------------------------------------------------------------
class Table(NamedTuple):
    """A rebuilt table: its rows, and what differs from that of the archive; None where it is equal byte by byte."""

    name: str
    rows: int
    differs: str | None


def reproduce(
    archive: Path, target: Path | None, given: Path | None
) -> tuple[Study, dict[str, Any], list[Table]]:
    """Rebuild boards and report of a bundle in a new folder; return the study, what it was, and every table compared.

    No model is asked. ``given`` holds copies of data sets whose licence kept them out.
    """
    if not archive.is_file():
        what = "is a folder" if archive.is_dir() else "there is no such file"
        raise StoreError(f"{archive}: {what}; give the archive that metacog export --format bundle wrote")
    target = target or archive.with_name(f"{archive.stem}-reproduced")
    with new(target), making_folder(target) as folder:
        about = unpack(archive, folder)
        _rebuild(folder, about, given)
    study = load_study(target / STUDY)
    tables = [*_compared(study, target / "tables")]
    build_report(study.home, study.study.name)
    return study, about, tables


def _rebuild(folder: Path, about: Mapping[str, Any], given: Path | None) -> None:
    """Make the boards of an unpacked archive."""
    study = load_study(folder / STUDY)
    _refuse_elsewhere(study, folder.resolve())
    study.prepare()
    for benchmark in enabled(study):
        if (noted := about["benchmarks"].get(benchmark.name)) is None:
            continue
        for partition in _partitions(benchmark):
            _keep(partition.folder)
        _have_items(benchmark, noted, given)
        for partition in tasks.partitions(benchmark):
            _mark(partition, tasks.fingerprint(benchmark, partition))

    def judged(benchmark: Bound, partition: Partition) -> None:
        wanted, responses = judging.wanted(benchmark), judging.kept_responses(partition)
        if wanted is not None and responses is not None:
            _, digest = judging.needed(benchmark, wanted, partition, responses)
            _mark(judging.judged_as(partition), digest)

    published = [name for name, each in about["benchmarks"].items() if each["published"]]
    publishing.publish(study, asking=False, judged=judged, prints=lambda each: each.name in published)


def _refuse_elsewhere(study: Study, inside: Path) -> None:
    """Refuse a study file that names a home, a store or a file outside of its folder."""
    named = [study.home.path.resolve()]
    for each in enabled(study):
        named += named_paths(each.settings.model_dump(mode="json"), each.context.beside)
    outside = next((path for path in named if not path.is_relative_to(inside)), study.deploy.store)
    if outside is not None:
        raise StudyError(
            f"{STUDY} of the bundle names {outside}, which is not in it; it is no bundle of metacog"
        )


def _keep(folder: PartitionFolder) -> None:
    """Keep the answers of an unpacked partition as they were kept, and mark those that were superseded."""
    path = folder / ANSWERS
    if not path.is_file():
        return
    try:
        rows = [row for batch in parquet_bounds.batches(path) for row in batch.to_pylist()]
        keep_whole(folder, [Record(**{each.name: row[each.name] for each in fields(Record)}) for row in rows])
        with PartitionStore(folder) as store:
            store.compact({row["answer_id"] for row in rows if not row["superseded"]})
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        why = one_line(str(error).replace(str(folder.home), ""), 120)
        raise StoreError(f"{folder.key}: the answers of the bundle cannot be read ({why})") from None
    path.unlink()


def _mark(partition: Partition, fingerprint: str) -> None:
    """Note of a partition that was current that it is."""
    # Its digest rests on names of files and on sizes of journals, which are others here.
    manifest = partition.manifest()
    if manifest.get("fingerprint"):
        write_manifest(partition.folder, {**manifest, "fingerprint": fingerprint})


def _have_items(benchmark: Bound, noted: Mapping[str, Any], given: Path | None) -> None:
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


def _compared(study: Study, archived: Path) -> Iterator[Table]:
    """Yield every table of the archive, compared with the rebuilt one, which is written to the home."""
    made = dict(Facts(study).tables())
    study.home.reproduced.mkdir(exist_ok=True)
    there = {path.stem: path.read_bytes() for path in archived.glob("*.csv")}
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

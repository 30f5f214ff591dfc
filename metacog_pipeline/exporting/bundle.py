"""One archive that a paper can cite: what was asked and answered, what it was made with, and every table that came of it.

The archive is a zip whose bytes follow from the study alone. ``metacog.json`` holds the SHA-256 of every other entry and of
itself. Answers are as they were kept, without what must not leave (`cleaning`); items whose licence forbids copies are
there by digest, with the addresses of their sources.
"""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.exporting import new, zip_entry
from metacog_pipeline.exporting.facts import ABOUT, Facts, csv_of, may_copy, without_prompts
from metacog_pipeline.files import canonical_json, file_sha256, replacing, sha256_hex
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.scoring import human_respondents
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.schema import ARROW_SCHEMA
from metacog_pipeline.transcripts.store import read_manifest, read_partition

FORMAT, SEAL = 1, "sha256"
_OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
ANSWERS, NOTED, TABLES = "answers.parquet", "partition.json", "tables"
_LIBRARIES = ("numpy", "scipy", "polars", "pyarrow", "duckdb")


def write_archive(study: Study, target: Path | None) -> tuple[Path, dict[str, Any]]:
    """Write the bundle of ``study``, all of one board, to ``target``, named after study and snapshot where that is None.

    Returns the path and what the archive says of itself. Raises ``StudyError`` if ``target`` exists or is named as another
    kind of archive.
    """
    if target is not None and target.suffix.lower() in _OTHER_ARCHIVES:
        raise StudyError(f'--to "{target}": a bundle is a zip archive; give a name that ends in .zip')
    with one_connection(study.home), tempfile.TemporaryDirectory() as folder:
        facts = Facts.of(study)
        path = target or Path(f"{study.study.name.replace(' ', '-')}-{facts.about()['snapshot']}.zip")
        with new(path):
            about = write(facts, Path(folder))
            pack(Path(folder), path)
    return path, about


def write(facts: Facts, folder: Path) -> dict[str, Any]:
    """Write what the archive holds to an empty folder, and return what is in ``metacog.json``."""
    home = facts.study.home
    for benchmark in facts.benchmarks():
        name = benchmark.name
        items = (item_files.items_path(home, name), *sorted((home.items / name).glob("*.parquet")))
        for path in items if may_copy(benchmark) else ():  # what each step of the construction made, too
            _copy(path, (folder / "items" / path.relative_to(home.items)).parent)
        for role, partition in partitions(benchmark):
            _partition(facts, benchmark, role, partition, folder)
        _copy(human_respondents.path_of(home, name), folder / human_respondents.PEOPLE)
    (folder / TABLES).mkdir()
    for name, frame in facts.tables():
        (folder / TABLES / f"{name}.csv").write_bytes(csv_of(frame))
    made = {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}
    facts.write_study(folder)
    about = {**facts.about(), "format": "bundle", "bundle_format": FORMAT, "libraries": made}
    (folder / "README.md").write_text(_readme(about), encoding="utf-8")
    names = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ABOUT)
    about["files"] = {path.relative_to(folder).as_posix(): file_sha256(path) for path in names}
    about[SEAL] = seal_of(about)
    _json(folder / ABOUT, about)
    return about


def seal_of(about: dict[str, Any]) -> str:
    """Return the digest of what an archive says of itself, which names the digest of every file in it."""
    return sha256_hex(canonical_json({key: value for key, value in about.items() if key != SEAL}))


def pack(folder: Path, target: Path) -> None:
    """Write a folder as a zip whose bytes follow from the files alone."""
    paths = sorted(folder.rglob("*"), key=lambda each: (each.name != "README.md", each.as_posix()))
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as out:
        for path in filter(Path.is_file, paths):
            entry = zip_entry(path.relative_to(folder).as_posix())
            with path.open("rb") as source, out.open(entry, "w") as packed:
                shutil.copyfileobj(source, packed, 2**20)


def partitions(benchmark: Bound) -> Iterator[tuple[str, Partition]]:
    """Yield every partition the numbers of a benchmark rest on, with its role: respondent or judge."""
    for partition in tasks.partitions(benchmark):
        yield "respondent", partition
        if judging.wanted(benchmark) is not None:
            yield "judge", judging.judged_as(partition)


def below(partition: Partition) -> Path:
    """Return the folder of a partition in an archive, and in a home."""
    return Path(partition.folder.key)


def _partition(facts: Facts, benchmark: Bound, role: str, partition: Partition, folder: Path) -> None:
    if not (manifest := read_manifest(partition.folder)):
        return
    frame = pl.DataFrame(pl.from_arrow(read_partition(partition.folder)))
    frame = without_prompts(benchmark, frame.with_columns(raw_zstd=pl.lit(None, pl.String)))
    target = folder / below(partition)
    target.mkdir(parents=True)
    cleaned = facts.clean.frame(frame).to_arrow().cast(pa.schema(list(ARROW_SCHEMA)))
    pq.write_table(cleaned, target / ANSWERS, compression="zstd")
    known = manifest.get("fingerprint")
    current = bool(known) and (role != "respondent" or known == tasks.fingerprint(benchmark, partition))
    _json(target / NOTED, {**facts.clean.value(manifest), "role": role, "current": current})


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _copy(path: Path, folder: Path) -> None:
    if path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / path.name)


def _readme(about: dict[str, Any]) -> str:
    items = "\n".join(f"- `{name}`: items {each['items']}" for name, each in about["benchmarks"].items())
    needed = "".join(
        f"\nBring {row['name']} for {name} with `--from FOLDER`, its licence forbids copies ({row['licence']}; SHA-256 "
        f"{row['sha256']}): {', '.join(row['urls']) or 'your own copy'}\n"
        for name, each in about["benchmarks"].items()
        for row in each["sources"]
        if each["items"] != "copied"
    )
    return f"""# {about["study"]}

Made by metacog_pipeline {about["version"]}; snapshot {about["snapshot"]}, seed {about["seed"]}.

    pip install metacog-pipeline=={about["version"]}
    metacog doctor --bundle THIS_FILE --to FOLDER

rebuilds the boards and the report from the answers in here, asks no model, and reports table by table whether each is equal
byte by byte to `tables/`. With another version it reports what differs.

- `study.toml`: what was asked and how; `transcripts/`: every call with its answer; `tables/`: what came of it
{items}
- `metacog.json`: versions, seeds, sources and the SHA-256 of every file
{needed}
Keys, addresses with credentials and paths of the machine it was made on were taken out.
"""

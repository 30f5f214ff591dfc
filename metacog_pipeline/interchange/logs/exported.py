"""A folder that `metacog export` wrote: its calls become answers of replayed models, and its board comes again.

What is in the folder is data of unknown origin: the study file made from it asks no model, has no home of its choice, and
names files of the folder only.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.asking import construction, judging
from metacog_pipeline.benchmark.bound import Bound, bound
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import read_toml, write_text
from metacog_pipeline.interchange import columns, parquet_bounds, study_files
from metacog_pipeline.interchange.importing import keep, refuse_others, replayed_partition
from metacog_pipeline.interchange.logs.importing import NOT_KEPT, Done, LogOptions
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import write_frame
from metacog_pipeline.study.new_file import toml_text
from metacog_pipeline.transcripts.folder import write_manifest
from metacog_pipeline.transcripts.schema import Record, Source
from metacog_pipeline.transcripts.store import PartitionStore, keep_whole, kept_records

ABOUT, ANSWERS, STUDY, FILES, IMPORTED = "metacog.json", "transcripts", "study.toml", "files", "imported"
JUDGED = "judged"  # the folder of verdicts of judges, and in it the column of the model that was judged
MARKED = ("'", *columns.RUN_BY_SPREADSHEETS)  # such a text has one "'" more in CSV
_NAMES = tuple(each.name for each in fields(Record))
Left = list[tuple[str, str, str]]


def is_export(path: Path) -> bool:
    """Whether ``path`` is a folder that was exported."""
    return path.is_dir() and (path / ABOUT).is_file()


def calls(folder: Path) -> list[Record]:
    """Return every call of an export."""
    return [
        _record(path, row)
        for path in sorted((folder / "data" / ANSWERS).glob("*.parquet"))
        for row in _rows(path)
    ]


def import_export(folder: Path, study_path: Path, options: LogOptions) -> Done:
    """Keep every call of an export; StudyError where it is refused, nothing is kept then."""
    records = calls(folder)
    if not records:
        raise StudyError(
            f"{folder}: holds no calls (data/{ANSWERS}); nothing was kept; export the study again"
        )
    study = load_study(study_path) if study_path.exists() else _made(folder, study_path)
    models = {each.model: each.model for each in records}
    study = study_files.fitted(study_path, study, models, max(each.run for each in records))
    study.prepare()
    left: Left = []
    usable: dict[str, list[Record]] = {}
    for name in dict.fromkeys(each.benchmark for each in records):
        own = [each for each in records if each.benchmark == name]
        if name not in study.enabled:
            left += [(each.item_id, NOT_KEPT, f"{name} is no benchmark of {study_path.name}") for each in own]
            continue
        usable[name] = _matched(bound(study, name), own, left)
        refuse_others(folder, study, name, usable[name], options.trust)
    kept = known = 0
    for name, own in usable.items():
        new, old = keep(study, name, own)
        kept, known = kept + new, known + old
    for name in study.enabled:
        new, old = _keep_judged(folder, bound(study, name), left)
        kept, known = kept + new, known + old
    if options.show is not None:
        options.show(f"{len(records)} calls of {', '.join(models)} from an export, as they were kept there")
    return Done(study, kept, known, tuple(left))


# --- reading ----------------------------------------------------------------------------------------------------------
def _rows(path: Path, *more: str, every: bool = False) -> Iterator[dict[str, Any]]:
    """Yield rows with the columns of a transcript and ``more``, or with ``every`` column."""
    try:
        names = [name for name in pq.read_schema(path).names if every or name in (*_NAMES, *more)]
        for batch in parquet_bounds.batches(path, names, 1000):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudyError(f"{path}: cannot be read ({one_line(str(error), 120)}); nothing was kept") from None


def _record(path: Path, row: Mapping[str, Any]) -> Record:
    try:
        record = Record(**row)
    except (TypeError, ValueError) as error:
        raise StudyError(f"{path}: {one_line(str(error), 120)}; nothing was kept") from None
    source: Source = "simulated" if record.source == "simulated" else "imported"
    return replace(record, source=source, provider="replay", raw_zstd=None)


# --- where they go ----------------------------------------------------------------------------------------------------
def _made(folder: Path, study_path: Path) -> Study:
    """Write the study file of an export and the files that it names, with every model replayed."""
    try:
        table = read_toml(folder / STUDY)
        judged = (folder / JUDGED).is_dir()
        wanted = ("study", "models", "benchmarks", *(["judges"] if judged else []))
        table = {key: table[key] for key in wanted if key in table}
        for key in {"models", "judges"} & set(table):
            table[key] = [_replayed(each) for each in table[key]]
        table["study"]["home"] = f"{study_path.stem}-home"  # never that of a study of the same name
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StudyError(f"{folder / STUDY}: is no study file; name one that is there with --study") from None
    place = study_path.with_name(f"{study_path.stem}-files")
    table["benchmarks"] = _moved(table["benchmarks"], folder, place, judged)
    write_text(study_path, "# Made by metacog import: no model is asked.\n" + toml_text(table))
    try:
        study = load_study(study_path)
        for each in folder.glob(f"{IMPORTED}/*.jsonl"):
            study.home.imported.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each, study.home.imported / each.name)
    except BaseException:
        study_path.unlink(missing_ok=True)
        raise
    return study


def _replayed(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of somebody who answers by what was kept; who made the model stays, as judges depend on it."""
    family = {"family": str(row["family"])} if "family" in row else {}
    return {"name": str(row["name"]), "provider": "replay", "model": str(row["name"]), **family}


def _moved(value: Any, folder: Path, place: Path, judged: bool) -> Any:
    """Return a table of an export with the files it names copied to ``place``; others are refused."""
    if isinstance(value, Mapping):
        kept = {key: each for key, each in value.items() if judged or key != "judges"}
        return {key: _moved(each, folder, place, judged) for key, each in kept.items()}
    if isinstance(value, list):
        return [_moved(each, folder, place, judged) for each in value]
    if not isinstance(value, str) or not ("/" in value or "\\" in value):
        return value
    above, _, name = value.partition("/")
    source = folder / FILES / name
    if above != FILES or Path(name).name != name or source.is_symlink() or not source.is_file():
        raise StudyError(f"{folder / STUDY}: names {value!r}, which is not in the folder; nothing was kept")
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place / name)
    return f"{place.name}/{name}"


def _matched(into: Bound, records: Sequence[Record], left: Left) -> list[Record]:
    """Return the records about the study's items; one about another version of an item is left out with the reason."""
    construction.build(into)
    hashes = {item.item_id: item.item_hash for item in into.items}
    for each in records:
        if hashes.get(each.item_id) != each.item_hash:
            why = "another version of this item" if each.item_id in hashes else "no item of the study"
            left.append((each.item_id, NOT_KEPT, f"is about {why}"))
    return [each for each in records if hashes.get(each.item_id) == each.item_hash]


def _keep_judged(folder: Path, into: Bound, left: Left) -> tuple[int, int]:
    """Keep the verdicts of judges about a benchmark's answers; return how many are new and how many were there."""
    path, declared = folder / JUDGED / f"{into.name}.parquet", judging.wanted(into)
    if not path.is_file():
        return 0, 0
    study = into.context.study
    judges, models = {each.name for each in study.judges}, {each.name for each in study.models}
    verdicts: dict[tuple[str, int], list[Record]] = {}
    for row in _rows(path, JUDGED):
        about, record = str(row.pop(JUDGED)), _record(path, row)
        if declared is None or record.model not in judges or about not in models:
            why = f"is a verdict of {record.model} on {about}, not both in the study"
            left.append((record.item_id, NOT_KEPT, why))
        else:
            verdicts.setdefault((about, record.run), []).append(record)
    new = known = 0
    for (about, run), own in verdicts.items():
        partition = judging.judged_as(replayed_partition(study, into.name, about, run))
        there = {each.answer_id for each in kept_records(partition.folder)}
        fresh = [each for each in own if each.answer_id not in there]
        new, known = new + len(fresh), known + len(own) - len(fresh)
        if fresh:
            keep_whole(partition.folder, fresh)
            with PartitionStore(partition.folder) as store:
                store.compact({each.answer_id for each in own})
            simulated = any(each.source == "simulated" for each in own)
            write_manifest(partition.folder, {
                "benchmark": partition.benchmark, "model": about, "run": run, "state": "complete",
                "n_expected": len(own), "n_answered": len(own), "n_failed": 0, "cost_usd": None, "fingerprint": None,
                "source": "simulated" if simulated else "imported",
                "finished_at": max(each.started_at for each in own).isoformat(),
            })  # fmt: skip
    for step in declared.needs if declared is not None and new else ():
        tried, target = folder / JUDGED / f"{into.name}-{step}.parquet", construction.result_path(into, step)
        if tried.is_file() and not target.exists():
            frame = pl.DataFrame([*_rows(tried, every=True)], infer_schema_length=None)
            write_frame(frame, target, construction.input_digest(into, construction.step_of(into, step)))
    return new, known

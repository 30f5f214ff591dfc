"""A folder that `metacog export` wrote: its calls become answers of replayed models, and its board comes again.

What is in the folder is data of unknown origin: the study file made from it asks nobody, has no home of its choice, and
names files of the folder only.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_type_hints

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.asking import construction, judging
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import read_toml, write_text
from metacog_pipeline.interchange import answer_files, columns, parquet_bounds
from metacog_pipeline.interchange import record as samples
from metacog_pipeline.interchange.logs import inspect_log, study_files
from metacog_pipeline.interchange.logs.importing import Done, LogOptions
from metacog_pipeline.interchange.logs.lm_eval import lines
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.study.frames import write_frame
from metacog_pipeline.study.new_file import toml_text
from metacog_pipeline.transcripts.folder import write_manifest
from metacog_pipeline.transcripts.schema import Record, Source
from metacog_pipeline.transcripts.store import PartitionStore, keep_whole, kept_records

ABOUT, ANSWERS, STUDY, FILES, IMPORTED = "metacog.json", "transcripts", "study.toml", "files", "imported"
JUDGED = "judged"  # the folder of verdicts of judges, and in it the column of the model that was judged
CALLS = "metacog_calls"  # in the metadata of samples that other programs read
MARKED = ("'", *columns.RUN_BY_SPREADSHEETS)  # such a text has one "'" more in CSV
_LONGEST = 2**26
_KINDS = get_type_hints(Record)
_NAMES = tuple(each.name for each in fields(Record))


def is_export(path: Path) -> bool:
    """Whether ``path`` is a folder that was exported."""
    return path.is_dir() and (path / ABOUT).is_file()


def import_export(folder: Path, study_path: Path, options: LogOptions) -> Done:
    """Keep every call of an export; StudyError where it is refused, nothing is kept then."""
    records = [each for path in _files_of(folder) for each in _read(path)]
    if not records:
        raise StudyError(f"{folder}: holds no calls ({ANSWERS}); nothing was kept; export the study again")
    study = load_study(study_path) if study_path.exists() else _made(folder, study_path)
    models = {each.model: each.model for each in records}
    study = study_files.fitted(study_path, study, models, max(each.run for each in records))
    study.prepare()
    left: list[tuple[str, str, str]] = []
    new: list[tuple[Partition, list[Record]]] = []
    kept = known = 0
    for (name, model, run), own in _grouped(records).items():
        if name not in study.enabled:
            left += [(own[0].item_id, "not kept", f"{name} is no benchmark of {study_path.name}")] * len(own)
            continue
        partition = _partition(folder, study, name, model, run)
        usable = _matched(bound(study, name), own, left)
        there = {_place(each): each.answer_id for each in kept_records(partition.folder)}
        _refuse_others(folder, usable, there, options)
        fresh = [each for each in usable if there.get(_place(each)) != each.answer_id]
        known += len(usable) - len(fresh)
        new.append((partition, fresh))
    for partition, fresh in new:
        keep_whole(partition.folder, fresh)
        kept += len(fresh)
    for name in study.enabled:
        new_verdicts, old = _keep_judged(folder, bound(study, name), left)
        kept, known = kept + new_verdicts, known + old
    if options.show is not None:
        options.show(f"{len(records)} calls of {', '.join(models)} from an export, as they were kept there")
    return Done(study, kept, known, tuple(left))


# --- reading ----------------------------------------------------------------------------------------------------------
def _files_of(folder: Path) -> list[Path]:
    found = [*sorted((folder / "data" / ANSWERS).glob("*.parquet")), folder / f"{ANSWERS}.csv"]
    found += [*sorted(folder.glob("data/*/*/*/*_samples.jsonl")), *sorted(folder.glob("*.eval"))]
    return [path for path in found if path.is_file()]


def _read(path: Path) -> Iterator[Record]:
    rows = {".parquet": _parquet, ".csv": _csv, ".jsonl": _results, ".eval": _samples}[path.suffix](path)
    for number, row in enumerate(rows, start=1):
        yield _record(path, row, number)


def _record(path: Path, row: Mapping[str, Any], number: int = 1) -> Record:
    try:
        record = Record(**row)
    except (TypeError, ValueError) as error:
        raise StudyError(f"{path}: row {number}: {one_line(str(error), 120)}; nothing was kept") from None
    source: Source = "simulated" if record.source == "simulated" else "imported"
    return replace(record, source=source, provider="replay", raw_zstd=None)


def _parquet(path: Path, *more: str | None) -> Iterator[dict[str, Any]]:
    """Yield rows with the columns of a transcript and ``more``; with all columns where that is None."""
    try:
        there = pq.read_schema(path).names
        names = [name for name in there if None in more or name in (*_NAMES, *more)]
        for batch in parquet_bounds.batches(path, names, 1000):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudyError(f"{path}: cannot be read ({one_line(str(error), 120)}); nothing was kept") from None


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    before = csv.field_size_limit(_LONGEST)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield {name: _cell(name, row[name]) for name in _NAMES if row.get(name) is not None}
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise StudyError(f"{path}: cannot be read ({one_line(str(error), 120)}); nothing was kept") from None
    finally:
        csv.field_size_limit(before)


def _results(path: Path) -> Iterator[dict[str, Any]]:
    for row in lines(path, answer_files.content(path)):
        yield from _calls(path, samples.mapping(row.get("metadata")).get(CALLS))


def _samples(path: Path) -> Iterator[dict[str, Any]]:
    for name, data in inspect_log.entries(path):
        if name == "header.json":
            continue
        found = samples.parsed(data, f"{path}: {name}")
        yield from _calls(path, samples.mapping(samples.mapping(found).get("metadata")).get(CALLS))


def _calls(path: Path, found: Any) -> list[dict[str, Any]]:
    rows = samples.parsed(found.encode(), str(path)) if isinstance(found, str) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise StudyError(
            f"{path}: a sample lacks {CALLS}; nothing was kept; import it as a log by its own name"
        )
    nothing = {name: None for name in _NAMES if "None" in str(_KINDS[name])}
    own = [{**nothing, **{name: row[name] for name in _NAMES if name in row}} for row in rows]
    return [{**row, "started_at": samples.moment(row.get("started_at"))} for row in own]


def _cell(name: str, text: str) -> Any:
    kind = str(_KINDS[name])
    if not text and "None" in kind:
        return None
    if "datetime" in kind:
        return datetime.fromisoformat(text)
    if "int" in kind or "float" in kind:
        return (int if "int" in kind else float)(text)
    return text[1:] if text.lstrip(" ").startswith("'") else text


# --- where they go ----------------------------------------------------------------------------------------------------
def _made(folder: Path, study_path: Path) -> Study:
    """Write the study file of an export beside what it names, with every model replayed."""
    try:
        table = read_toml(folder / STUDY)
        judged = (folder / JUDGED).is_dir()
        table = {key: table[key] for key in ("study", "models", "benchmarks", "judges") if key in table}
        if not judged:
            table.pop("judges", None)
        asked: dict[str, Any] = {
            key: [_replayed(each) for each in table[key]] for key in ("models", "judges") if key in table
        }
        table["study"]["home"] = f"{study_path.stem}-home"  # never that of a study of the same name
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise StudyError(f"{folder / STUDY}: is no study file; name one that is there with --study") from None
    place = study_path.with_name(f"{study_path.stem}-files")
    text = toml_text({**table, **asked, "benchmarks": _moved(table["benchmarks"], folder, place, judged)})
    write_text(study_path, "# Made by metacog import: nobody is asked.\n" + text)
    try:
        study = load_study(study_path)
        for each in folder.glob(f"{IMPORTED}/*.jsonl"):
            target = study.home.imported / each.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each, target)
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


def _grouped(records: Iterable[Record]) -> dict[tuple[str, str, int], list[Record]]:
    found: dict[tuple[str, str, int], list[Record]] = {}
    for each in records:
        found.setdefault((each.benchmark, each.model, each.run), []).append(each)
    return found


def _partition(folder: Path, study: Study, name: str, model: str, run: int) -> Partition:
    spec = study.model(model)
    if spec.provider != "replay":
        raise StudyError(
            f'{folder}: model "{model}" of the study is asked, not replayed; import the export into a study of its own'
        )
    return Partition(study, name, spec, run)


def _matched(into: Any, records: Sequence[Record], left: list[tuple[str, str, str]]) -> list[Record]:
    """Return the records about the study's items; one about another version of an item is left out with the reason."""
    if not construction.items_current(into):
        construction.build(into)
    hashes = {item.item_id: item.item_hash for item in into.items}
    found = []
    for each in records:
        if hashes.get(each.item_id) == each.item_hash:
            found.append(each)
        else:
            why = "another version of this item" if each.item_id in hashes else "no item of the study"
            left.append((each.item_id, "not kept", f"is about {why}"))
    return found


def _keep_judged(folder: Path, into: Any, left: list[tuple[str, str, str]]) -> tuple[int, int]:
    """Keep the verdicts of judges about a benchmark's answers; return how many are new and how many were there."""
    path, declared = folder / JUDGED / f"{into.name}.parquet", judging.wanted(into)
    if not path.is_file():
        return 0, 0
    study = into.context.study
    judges, models = {each.name for each in study.judges}, {each.name for each in study.models}
    verdicts: dict[tuple[str, int], list[Record]] = {}
    for row in _parquet(path, JUDGED):
        about, record = str(row.pop(JUDGED)), _record(path, row)
        if declared is None or record.model not in judges or about not in models:
            why = f"is a verdict of {record.model} on {about}, not both in the study"
            left.append((record.item_id, "not kept", why))
        else:
            verdicts.setdefault((about, record.run), []).append(record)
    new = known = 0
    for (about, run), own in verdicts.items():
        partition = judging.judged_as(_partition(folder, study, into.name, about, run))
        there = {each.answer_id for each in kept_records(partition.folder)}
        fresh = [each for each in own if each.answer_id not in there]
        new, known = new + len(fresh), known + len(own) - len(fresh)
        if fresh:
            keep_whole(partition.folder, fresh)
            with PartitionStore(partition.folder) as store:
                store.compact({each.answer_id for each in own})
            noted = {"benchmark": partition.benchmark, "model": about, "run": run, "state": "complete"}
            counts = {"n_expected": len(own), "n_answered": len(own), "n_failed": 0, "cost_usd": None}
            source = "simulated" if any(each.source == "simulated" for each in own) else "imported"
            ended = max(each.started_at for each in own).isoformat()
            how = {"fingerprint": None, "source": source, "finished_at": ended}
            write_manifest(partition.folder, {**noted, **counts, **how})
    for step in declared.needs if declared is not None and new else ():
        tried, target = folder / JUDGED / f"{into.name}-{step}.parquet", construction.result_path(into, step)
        if tried.is_file() and not target.exists():
            frame = pl.DataFrame([*_parquet(tried, None)], infer_schema_length=None)
            write_frame(frame, target, construction.input_digest(into, construction.step_of(into, step)))
    return new, known


def _place(record: Record) -> tuple[str, str, str]:
    return record.item_id, record.condition, record.step


def _refuse_others(
    folder: Path, records: Sequence[Record], there: Mapping[tuple[str, str, str], str], options: LogOptions
) -> None:
    other = [each for each in records if there.get(_place(each), each.answer_id) != each.answer_id]
    if other and "run" not in options.trust:
        raise StudyError(
            f"{folder}: run {other[0].run} of {other[0].model} has other answers to {len(other)} of these calls, such as "
            f"{other[0].item_id}; nothing was kept; import it into another study, or in their place with --trust run"
        )

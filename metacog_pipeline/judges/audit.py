"""How often the reader model errs: verdicts for a person to label, and where label and verdict differ."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl

from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import StoreError, StudyError
from metacog_pipeline.files import canonical_json, write_text
from metacog_pipeline.scoring.reader_error import ReaderError, deciding, error_path, reader_digest
from metacog_pipeline.study.frames import read_frames
from metacog_pipeline.transcripts.store import answers_table

# passes, and as many fails: an error of 5 % is then known to within some 6 points
SAMPLED = 50
_COLUMNS = ("id", "shown", "label")
_LABELS = {"pass": 1, "fail": 0}


def write_sample(benchmark: Bound, path: Path) -> int:
    """Write up to `SAMPLED` passes and as many fails, without their verdicts, to a CSV file; return how many."""
    found = _verdicts(benchmark)
    if found.is_empty():
        why = "the reader model has decided nothing yet; run metacog run STUDY first"
        raise StoreError(f"{benchmark.name}: {why}")
    seed = benchmark.stream("reader audit")
    parts = [part.sample(min(SAMPLED, part.height), seed=seed) for part in found.partition_by("verdict")]
    drawn = pl.concat(parts).sample(fraction=1, shuffle=True, seed=seed)
    with path.open("x", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(_COLUMNS)
        rows.writerows((*row, "") for row in drawn.select("answer_id", "shown").iter_rows())
    return drawn.height


def keep_labels(benchmark: Bound, path: Path) -> ReaderError:
    """Count the labels of a sample against the verdicts and keep the counts; rows without a label do not count."""
    verdicts = dict(_verdicts(benchmark).select("answer_id", "verdict").iter_rows())
    counts = np.zeros((2, 2), int)
    seen: set[str] = set()
    for line, (answer, label) in _labels(path):
        if answer not in verdicts or answer in seen:
            other = "is no verdict of this study; write the sample again"
            why = "is labelled twice" if answer in seen else other
            raise StudyError(f"{path.name}: line {line}: id {answer[:20]} {why}")
        seen.add(answer)
        counts[verdicts[answer], label] += 1
    if not seen:
        raise StudyError(f"{path.name}: no row has a label; write pass or fail in the column label")
    error = ReaderError(int(counts[1].sum()), int(counts[1, 0]), int(counts[0].sum()), int(counts[0, 1]))
    write_text(error_path(benchmark), canonical_json({**asdict(error), "reader": reader_digest(benchmark)}))
    return error


def _labels(path: Path) -> list[tuple[int, tuple[str, int]]]:
    """Return line, id and label of each row that has one."""
    found = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if lacking := [name for name in _COLUMNS if name not in (rows.fieldnames or ())]:
                raise StudyError(
                    f"{path.name}: has no column {lacking[0]}; it is a sample that --audit wrote"
                )
            for row in rows:
                label = (row["label"] or "").strip().lower()
                if label and label not in _LABELS:
                    why = f'label "{label[:20]}"; write pass or fail'
                    raise StudyError(f"{path.name}: line {rows.line_num}: {why}")
                if label:
                    found.append((rows.line_num, (row["id"], _LABELS[label])))
    except (UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path.name}: no readable CSV file ({error}); save it as CSV in UTF-8") from None
    return found


def _verdicts(benchmark: Bound) -> pl.DataFrame:
    """Return the verdicts of the reader model, one row per answer, with what it was shown."""
    reader, empty = deciding(benchmark), pl.DataFrame(schema=["answer_id", "verdict", "shown"])
    if reader is None:
        none = "no reader model; add [reader]"
        what = "nothing for a reader model to decide" if benchmark.study.reader_model else none
        raise StudyError(f"{benchmark.name}: the study has {what}")
    there = [each for each in tasks.partitions(benchmark) if each.below("judgements").exists()]
    if not there:
        return empty
    said = read_frames([each.below("judgements") for each in there])
    shown = pl.concat([_shown(judging.judged_as(each)) for each in there])
    texts = shown.unique("answer_id", maintain_order=True)
    mine = said.filter(pl.col("verdict").is_not_null(), judge=reader.name)
    mine = mine.select("answer_id", "verdict").unique("answer_id", maintain_order=True)
    return mine.join(texts, on="answer_id", maintain_order="left")


def _shown(partition: Partition) -> pl.DataFrame:
    kept = pl.DataFrame(pl.from_arrow(answers_table(partition.folder)))
    asked = [json.loads(each)["messages"][-1][1] for each in kept["request_json"]]
    return kept.select("answer_id").with_columns(shown=pl.Series(asked, dtype=pl.String))

"""Files of counts or of trials with confidence, fitted: what `metacog fit` prints, as rows."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from metacog_pipeline.errors import StudyError, suggestion
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.stats import confidence_fit, coverage
from metacog_pipeline.stats._arrays import Ints
from metacog_pipeline.stats.confidence_columns import MOST_LABELS, Column, DataError, as_text, roles
from metacog_pipeline.stats.confidence_data import ConfidenceData, Given, read
from metacog_pipeline.stats.confidence_fit import Cells, Estimates
from metacog_pipeline.stats.counts import Counts, count_columns, read_counts
from metacog_pipeline.stats.estimate import Estimate

OUTPUT = ("measure", "value", "low", "high", "sem", "n", "low_n", "dropped", "method", "status")
LEVEL = "level"  # of a row of a table with subjects: subject, average or group
_POOLED = "none"
Row = tuple[Any, ...]
Broken = tuple[tuple[int, str], ...]  # the number of each row that has no cells, and why


@dataclass(frozen=True, slots=True)
class FittedTable:
    """Rows of ``columns``: those that name a cell, then `OUTPUT`; what was done; and (number, reason) of unused rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    rejected: Broken = ()


def fit_table(
    path: Path, given: Given, seed: int = 0, *, model: bool = False, preview: bool = False
) -> FittedTable:
    """Fit a file of counts or trials; with ``model`` the hierarchical model of the subjects, with ``preview`` nothing."""
    if not path.exists():
        raise StudyError(f"{path}: there is no such file; check the path")
    file = AnswerFile(path)
    try:
        if given == Given() and (sides := count_columns(file.columns)):
            return _fit_counts(file, sides)
        return _fit_trials(file, given, seed, model, preview)
    except ValueError as error:
        advice = "" if isinstance(error, DataError) else "; check the file"
        raise StudyError(f"{path}: {error}{advice}") from None


def _fit_counts(file: AnswerFile, sides: Sequence[str]) -> FittedTable:
    ids = [name for name in file.columns if name and name not in sides]
    by_k: dict[int, list[tuple[list[Any], Counts]]] = {}  # rows of as many ratings are fitted together
    for place, row in enumerate(file, 1):
        try:
            if row.broken is not None:
                raise ValueError(row.broken)
            made = read_counts(*(row.cells.get(name) for name in sides))
        except ValueError as error:
            raise StudyError(f"{file.path} row {place}: {error}; correct it") from None
        cells = [row.cells.get(name) for name in ids]
        key = [None if value is None else str(value)[:200] for value in cells]
        by_k.setdefault(made.ratings, []).append((key, made))
    rows: list[Row] = []
    for pairs in by_k.values():
        n_s1, n_s2 = (np.vstack([getattr(each, side) for _, each in pairs]) for side in ("n_s1", "n_s2"))
        table = Counts(n_s1, n_s2)
        right = table.hits + table.correct_rejections
        rarer, found = np.minimum(right, table.n - right).tolist(), confidence_fit.fit_cells(Cells(table))
        for (key, _), estimates, fewer in zip(pairs, found, rarer, strict=True):
            rows += _rows(key, estimates, 0, int(fewer))
    return FittedTable((*_shown(ids), *OUTPUT), tuple(rows))


def _fit_trials(file: AnswerFile, given: Given, seed: int, model: bool, preview: bool) -> FittedTable:
    data, broken = read_trials(file, given)
    counts, total = dict(data.account.counts), len(data.cell) + len(broken)
    used = len(data.cell) - sum(counts.values())
    counts |= {"not readable": len(broken)} if broken else {}
    account = f"{total:,} rows read, {used:,} used, {total - used:,} left out"
    reasons = ", ".join(f"{label} {n:,}" for label, n in counts.items())
    notes = [account + (f": {reasons}" if reasons else ""), *data.notes]
    rejected = tuple(sorted([*broken, *data.account.rejected]))
    if preview:
        return FittedTable(OUTPUT, (), tuple(notes), rejected)
    binary = data.stimulus is not None
    if model and not binary:
        raise DataError("--group: the hierarchical model needs stimulus and response of two labels")
    if model and not data.subject:
        raise DataError("--group: the hierarchical model needs a column of subjects: name it with --subject")
    cells = confidence_fit.binary_cells(data) if binary else None
    found = confidence_fit.fit_answers(data, seed) if cells is None else confidence_fit.fit_cells(cells)
    ids, levels = list(data.cells[0]), [LEVEL] if data.subject else []
    rows: list[Row] = []
    each = zip(data.cells, found, data.dropped().tolist(), confidence_fit.rarer(data), strict=True)
    for names, estimates, dropped, fewer in each:
        rows += _rows([*names.values(), *["subject" for _ in levels]], estimates, dropped, fewer)
    ratio = "m_ratio" if binary else "m_ratio_mafc"
    lacking = Counter(each[ratio].status for each in found if each[ratio].value is None)
    if lacking and not any("no answers chosen among" in reason for reason in lacking):
        shown = "; ".join(f"{reason} ({n})" for reason, n in sorted(lacking.items()))
        notes.append(f"no M-ratio for {lacking.total()} of {len(found)}: {shown}")
    if data.subject:
        rows += _over_subjects(data, found, None if cells is None or not model else cells.table, seed)
    return FittedTable((*_shown([*ids, *levels]), *OUTPUT), tuple(rows), tuple(notes), rejected)


def read_trials(file: AnswerFile, given: Given) -> tuple[ConfidenceData, Broken]:
    """Return the trials of a file, and (number, reason) of rows that have no cells."""
    there, asked = file.columns, [*given.roles.values(), *given.by]
    pooled = given.roles.get("subject") == _POOLED and _POOLED not in there
    for name in asked:
        if name not in there and not (pooled and name == _POOLED):
            near = f"no column {name!r}{suggestion(name, there)}"
            raise StudyError(f"{file.path}: {near}; the columns are: {', '.join(map(repr, there))[:300]}")
    names = [name for name in there if name]
    known = {**given.roles, **({"subject": ""} if pooled else {})}
    found = roles(names, known)
    table, lines, broken = _read(file, [*filter(None, found.values()), *given.by])
    shown = table.get(found.get("stimulus", ""))
    if shown is not None and "stimulus" not in given.roles and len(shown.words) > 2 * MOST_LABELS:
        # Not labels but names of pictures, say: another column may say which answer was the right one.
        again = roles([name for name in names if name != shown.name], known, strict=False)
        if "stimulus" in again:
            found = again
            table, lines, broken = _read(file, [*filter(None, again.values()), *given.by])
    used = {name: table[name] for name in [*filter(None, found.values()), *given.by]}
    explicit = {role: name for role, name in given.roles.items() if name in used}
    data = read(used, replace(given, roles=explicit), lines)
    unused = [name for name in names if name not in used]
    notes = [f"columns not used: {', '.join(unused)[:200]}"] if unused and not asked else []
    return replace(data, notes=(*data.notes, *notes)), broken


def _read(file: AnswerFile, names: Sequence[str]) -> tuple[dict[str, Column], Ints, Broken]:
    """Return the columns ``names`` of a file, the number in it of each row, and rows without cells."""
    known: dict[str, dict[str, int]] = {name: {} for name in names}  # each distinct cell is held once
    codes, lines, broken = {name: array("q") for name in known}, array("q"), []
    for number, cells, why in file:
        if why is not None:
            broken.append((number, why))
            continue
        lines.append(number)
        for name, words in known.items():
            value = cells.get(name)
            if isinstance(value, list | dict):
                raise StudyError(
                    f"{file.path}: column {name!r} holds objects or lists; one number or label a row is needed"
                )
            codes[name].append(words.setdefault(as_text(value), len(words)))
    if not lines:
        raise StudyError(f"{file.path}: cannot be read: line {broken[0][0]}: {broken[0][1]}; check the file")
    table = {
        name: Column(name, (*words,), np.array(codes[name], dtype=np.int64)) for name, words in known.items()
    }
    return table, np.array(lines, dtype=np.int64), tuple(broken)


def _over_subjects(
    data: ConfidenceData, found: Sequence[Estimates], table: Counts | None, seed: int
) -> Iterator[Row]:
    """Yield the rows of the average over subjects and of their hierarchical model, for each combination of the others."""
    keys = [tuple(value for name, value in names.items() if name != data.subject) for names in data.cells]
    dropped = data.dropped()
    for key in dict.fromkeys(keys):
        own = [place for place, each in enumerate(keys) if each == key]
        if len(own) < 2:
            continue
        made = {"average": confidence_fit.average([found[place] for place in own])}
        if table is not None:
            made["group"] = confidence_fit.group(table.take(own), seed, repr(key))
        for level, estimates in made.items():
            for measure, one in estimates.items():
                few = None if one.low is None else one.n < coverage.FEWEST
                yield (None, *key, level, measure, *_numbers(one, few, int(dropped[own].sum())))


def _shown(ids: Sequence[str]) -> list[str]:
    # a column of the file may be called as one of ours: neither hides the other
    return [f"{name}_given" if name in OUTPUT or name in ids[:at] else name for at, name in enumerate(ids)]


def _rows(key: Sequence[Any], found: Estimates, dropped: int, fewer: int) -> Iterator[Row]:
    for measure, one in found.items():
        yield (*key, measure, *_numbers(one, confidence_fit.low_n(measure, one, fewer), dropped))


def _numbers(found: Estimate, few: bool | None, dropped: int) -> Row:
    return found.value, found.low, found.high, found.sem, found.n, few, dropped, found.method, found.status

"""Which column of a table holds what, its rows, and its confidence.

What the command line names comes first, the usual names after it. The scale of confidence is declared, or the benchmark's
own where no other fits; it is never guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.errors import StudyError, one_line, suggestion
from metacog_pipeline.interchange import columns
from metacog_pipeline.interchange.answer_files import AnswerFile
from metacog_pipeline.interchange.columns import RowError, Scale, missing, number, shown
from metacog_pipeline.interchange.import_rules import ITEM_FIELDS, ImportOptions, RowRules
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.reading.envelope import plain
from metacog_pipeline.stats.confidence_scale import fitting_scales, two_scales

_LEAST_STATED = 10  # confidences from which a scale shows
_FEW, _HIGHEST_RATING = 3, 10
_TOLERATED = 0.1  # of stated confidences that are off the benchmark's scale: more than that is another scale
# Column names seen in result files, clearest first; compared without case, spaces and hyphens.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = {
    "item_id": (
        "item_id", "itemid", "instance_id", "question_id", "qid", "instance", "case_id", "trial_id", "id",
    ),
    "question": ("question", "question_text", "stem", "prompt_question"),
    "response": (
        "response", "raw_response", "model_response", "model_output", "output", "completion", "raw", "reply",
        "generated_text", "generation", "resps",
    ),
    "condition": ("condition", "prompt_condition", "prompt_id", "mode"),
    "key": (
        "key", "answer_key", "gold", "gold_answer", "target", "correct_answer", "correct_option", "ground_truth", "truth",
    ),
    "correct": ("correct", "is_correct", "acc"),
    "model": ("model", "model_name", "model_id", "system", "engine"),
    "run": ("run", "epoch", "repeat"),
}  # fmt: skip


def samples(
    file: AnswerFile, fields: Mapping[str, str], options: ImportOptions, settings: Mapping[str, Any],
    take: Callable[[Sample, dict[str, Any], Mapping[str, Any]], None],
) -> list[Sample]:  # fmt: skip
    """Return each row as a sample that ``take`` got with what the row says; one that it refuses has the reason."""
    found = []
    for row in file:
        said = {field: row.cells.get(column) for field, column in fields.items()}
        model = columns.line_of(said.get("model"))
        made = Sample(str(row.number), "", model, settings=settings, row=row.number)
        found.append(made)
        try:
            if row.broken is not None:
                raise RowError(row.broken)
            if options.people and not made.model:
                raise RowError("names no respondent")
            take(made, said, row.cells)
        except RowError as error:
            made.why = str(error)
    return found


def parse_mapping(
    pairs: Sequence[str], fields: Sequence[str], also: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return {field: column} from texts like ``choice=prediction``; raise `StudyError` for anything else."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        name, _, column = pair.partition("=")
        field = (also or {}).get(name, name)
        if not column or field not in fields:
            ways = f"give field=column, with a field out of {', '.join(fields)}{suggestion(name, fields)}"
            raise StudyError(f"--map {pair}: {ways}")
        if mapping.setdefault(field, column) != column:
            before = f"field {field} is already mapped to {mapping[field]!r}; map it once"
            raise StudyError(f"--map {pair}: {before}")
    return mapping


def found_columns(
    rows: AnswerFile, mapping: Mapping[str, str], usual: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the column of each field: the mapped one, else the first ``usual`` name that is free."""
    for field, column in mapping.items():
        if column not in rows.columns:
            raise StudyError(f"{rows.path}: no column {column!r} to map {field} to; {_there(rows)}")
    found = dict(mapping)
    for field, names in usual.items():
        free = [name for name in rows.columns if name not in found.values()]
        if field not in found and (usually := columns.first_named(names, free)) is not None:
            found[field] = usually
    return found


def resolved(rows: AnswerFile, rules: RowRules, mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the column of every field that has one, of a table about a benchmark's items."""
    several, raw = len(rules.all_steps) > 1, rules.raw
    put_together, replied = [f for f in mapping if f in rules.own], [f for f in mapping if f in raw]
    if put_together and replied and not several:
        which = f"map {replied[0]}, or {' and '.join(put_together)}, not both: which of them is the answer?"
        raise StudyError(f"{rows.path}: {which}")
    # what is mapped settles the question that other fields are about, too
    settled: set[str] = {*ITEM_FIELDS} if {*ITEM_FIELDS} & {*mapping} else set()
    settled |= {*raw} if put_together and not several else {*rules.own} if replied and not several else set()
    names = {**USUAL_NAMES, **{step: (step,) for step in raw[1:]}, **rules.usual, **rules.own}
    usual = {field: names.get(field, (field,)) for field in rules.fields if field not in settled}
    found = found_columns(rows, mapping, usual)
    for fields, lacks in (
        (ITEM_FIELDS, f"names the {rules.item_word}"),
        ((*raw, *rules.own), "holds the answer or a reply"),
    ):
        if not {*fields} & {*found}:
            ways = ", ".join(f"{field}=…" for field in fields)
            raise StudyError(f"{rows.path}: no column {lacks}; use --map {ways}; {_there(rows)}")
    return found


def _there(rows: AnswerFile) -> str:
    return f"the columns are: {', '.join(map(repr, rows.columns)) or 'none'}"


def used_columns(found: Mapping[str, str], there: Sequence[str]) -> str:
    """Return a line on the columns used and ignored."""
    used = ", ".join(f"{field}={column}" for field, column in found.items())
    ignored = ", ".join(name for name in there if name not in found.values())
    return f"columns used: {used or 'none'}; ignored: {ignored or 'none'}"


# --- confidence ---------------------------------------------------------------------------------------------------------
class Confidence:
    """Puts confidences on the scale that the benchmark asks for, and remembers which there were."""

    def __init__(self, path: Path, rules: RowRules | type[RowRules], declared: Scale | None) -> None:
        self._path, self._rules, self._declared = path, rules, declared
        self._own: Scale = rules.scale
        self._whole = rules.whole_ratings
        self._stated: Counter[float] = Counter()
        self._signed: Counter[float] = Counter()  # those of them with a per cent sign
        self.missing = self._words = 0

    def stated(self, said: Mapping[str, Any], options: ImportOptions, row: int) -> dict[str, Any]:
        """Return the fields of an answer that say something, words replaced and confidence on the scale asked for."""
        found: dict[str, Any] = {}
        for name in self._rules.own:
            value, rated = said.get(name), name in self._rules.rated
            value = value if rated and number(value) is not None else options.word(value)
            if rated and self.none_stated(value):
                self.missing += name in said
            elif rated:
                found[name] = self.take(value, row)
            elif not missing(value):
                found[name] = value
        return found

    def none_stated(self, value: Any) -> bool:
        """Whether a cell has none: also the -1 by which programs say that none was read, off a scale that has a -1."""
        return missing(value) or ((self._declared or self._own).low >= 0 and number(value) == -1)

    def take(self, value: Any, row: int | str) -> str:
        """Return a confidence as a reply would state it; raise `RowError` for one off its scale."""
        text = plain(str(value)).strip().lstrip("~≈ ")
        if columns.COMMA.match(text):
            raise StudyError(
                f"{self._path} row {row}: confidence {shown(value)} is a number with a comma; write it with a decimal "
                "point and no separators of thousands; nothing was kept"
            )
        found, own, scale = number(text), self._own, self._declared or self._own
        if found is None:
            self._words += 1
            if scale != own:
                raise RowError(f"confidence {shown(value)} is no number on {scale}")
            return one_line(text, columns.SHOWN)  # read, and not understood, as in a reply
        self._stated[found] += 1
        self._signed[found] += text.endswith("%")
        if scale == own and found.is_integer():
            return str(int(found))
        if scale == own and "e" not in text.casefold():
            return text.removesuffix("%").strip()  # as it is written
        if (share := scale.share(found)) is None:
            raise RowError(f"confidence {shown(value)} is outside {scale}")
        put = own.low + (own.high - own.low) * share
        return str(math.floor(put + 0.5)) if self._whole else _in_digits(put)

    def check(self) -> None:
        """Refuse confidence on two scales, or on no declared one and off the benchmark's or a narrower one's."""
        stated, own = self._stated.total(), self._own
        if two := self._two_scales(stated):
            raise StudyError(f"{self._path}: of {stated} confidences {two}; nothing was kept")
        if self._declared is not None or not stated:
            return
        low, high = min(self._stated), max(self._stated)
        # a few shares, or ratings up to 10, are hardly chances of some percent
        shares = high <= 1 and any(value % 1 for value in self._stated)
        low_only = not self._whole and (shares or (high <= _HIGHEST_RATING and stated >= _FEW))
        if stated < _LEAST_STATED and not low_only:
            return
        fits_own = {v: own.low <= v <= own.high and not (self._whole and v % 1) for v in self._stated}
        off = sum(n for value, n in self._stated.items() if not fits_own[value])
        fits = fitting_scales(low, high, whole=all(value.is_integer() for value in self._stated))
        spans = [each.high - each.low for each in map(columns.parse_scale, fits) if each is not None]
        narrower = any(span < own.high - own.low for span in spans)
        if off <= _TOLERATED * stated and not (off == 0 and narrower):
            return
        kind = f"rating {own.low:g} to {own.high:g}" if self._whole else f"number on {own}"
        why = f"{off} of {stated} confidences are no {kind}; they" if off else f"all {stated} confidences"
        ways = " or ".join(f"--scale {name}" for name in fits or ("LOW..HIGH",))
        ask = f"run from {low:g} to {high:g}: say on which scale, as in {ways}; nothing was kept"
        raise StudyError(f"{self._path}: {why} {ask}")

    def _two_scales(self, stated: int) -> str:
        known = self._declared is not None or self._whole
        if known and stated < _LEAST_STATED:
            return ""
        bare = {value: n - self._signed[value] for value, n in self._stated.items() if 0 < value < 1}
        signed, few = [v for v, n in self._signed.items() if n], [v for v, n in bare.items() if n]
        if known or not signed or not few:
            return two_scales({**self._stated, **bare}, known)
        some = f"some such as {signed[0]:g} have a per cent sign, some such as {few[0]:g} have none"
        return f"{some}: two scales seem to be mixed; write all of them one way"

    def __str__(self) -> str:
        if not (self._stated or self._words):
            return "no column holds a confidence"
        own, scale = self._own, self._declared
        note = f"on {scale}" if scale else f"taken as {'a rating' if self._whole else 'on'} {own}"
        note += f", put on {own}" if scale not in (None, own) else ""
        ends = f" from {min(self._stated):g} to {max(self._stated):g}" if self._stated else ""
        return f"confidence{ends}, {note}, {self.missing} missing, {self._words} not numbers"


def _in_digits(value: float) -> str:
    text = f"{value:.6g}"  # a reader takes 1e-05 for 1
    return text if "e" not in text else f"{value:.6f}".rstrip("0").rstrip(".")

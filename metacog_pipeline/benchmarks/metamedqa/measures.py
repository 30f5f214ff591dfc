"""The measures of MetaMedQA as weights over cells.

Everything a measure needs of an observation is its cell: key, letter, confidence, kind, tags and how it ended. Scoring
counts cells once and never looks at rows again. The measures are those of Table 3 and Table 4 of the paper and the
public runner, and further shares that tell why a number is what it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.metamedqa.items import LETTERS
from metacog_pipeline.benchmarks.metamedqa.observe import UNANSWERED, UNPARSED

Flags = NDArray[np.bool_]
Weights = NDArray[np.float64]

N_LEVELS = 5
MEDIA_ABSENT = "media_absent_but_answerable"
_KINDS = ("Fictional", "Bad", "Question modified")
_FICTIONAL, _MALFORMED, _QUESTION_MODIFIED = 1, 2, 3
_READ, _UNPARSED, _REFUSED, _UNANSWERED = 0, 1, 2, 3
_STATUS = {
    "refused": _REFUSED,
    **dict.fromkeys(UNPARSED, _UNPARSED),
    **dict.fromkeys(UNANSWERED, _UNANSWERED),
}
_LETTER_NUMBER = {letter: number for number, letter in enumerate(LETTERS, start=1)}
_NONE, _A, _B, _C, _D, _E, _F = range(7)
# Digits of a cell number, most significant first, and how many values each has.
_DIGITS = {"target": 7, "answer": 7, "confidence": 6, "kind": 4, "media": 2, "source_key": 3, "status": 4}


@dataclass(frozen=True, slots=True)
class Cells:
    """Every possible cell, decoded: arrays of one length."""

    target: NDArray[np.int64]
    answer: NDArray[np.int64]
    confidence: NDArray[np.int64]
    kind: NDArray[np.int64]
    media: NDArray[np.int64]
    source_key: NDArray[np.int64]
    status: NDArray[np.int64]

    @property
    def scored(self) -> Flags:
        """The model's call ended with an answer or a refusal."""
        flags: Flags = self.status != _UNANSWERED
        return flags

    @property
    def lettered(self) -> Flags:
        """A valid letter was read."""
        flags: Flags = np.logical_and(self.scored, self.answer != _NONE)
        return flags

    @property
    def right(self) -> Flags:
        """The letter is the key."""
        flags: Flags = np.logical_and(self.lettered, self.answer == self.target)
        return flags

    @property
    def rated(self) -> Flags:
        """A letter and a confidence were read."""
        flags: Flags = np.logical_and(self.lettered, self.confidence > 0)
        return flags

    @property
    def ordinary(self) -> Flags:
        """The key is one of A-D."""
        return self.scored & (self.target <= _D)


Share = tuple[Callable[[Cells], Flags], Callable[[Cells], Flags]]


def _recall(letter: int) -> Share:
    return lambda c: c.lettered & (c.answer == letter), lambda c: c.scored & (c.target == letter)


def _precision(letter: int) -> Share:
    return lambda c: c.right, lambda c: c.lettered & (c.answer == letter)


def _false_alarm(letter: int) -> Share:
    return lambda c: c.lettered & (c.answer == letter), lambda c: c.ordinary


def _accuracy_of(subset: Callable[[Cells], Flags]) -> Share:
    return lambda c: c.right, lambda c: c.scored & subset(c)


def _rated_accuracy(*levels: int) -> Share:
    return lambda c: c.right, lambda c: c.rated & np.isin(c.confidence, levels)


def _choice_share(letter: int) -> Share:
    return lambda c: c.lettered & (c.answer == letter), lambda c: c.scored


# Name -> (counts as a hit, counts at all); a hit must count. Unanswered cells count in coverage alone.
SHARES: dict[str, Share] = {
    "accuracy": _accuracy_of(lambda c: c.scored),
    "accuracy_answered": _accuracy_of(lambda c: c.lettered),
    "accuracy_answerable": _accuracy_of(lambda c: c.ordinary),
    "high_confidence_accuracy": _rated_accuracy(5),
    "medium_confidence_accuracy": _rated_accuracy(3, 4),
    "low_confidence_accuracy": _rated_accuracy(1, 2),
    "missing_answer_recall": _recall(_E),
    "unknown_recall": _recall(_F),
    "fictional_accuracy": _accuracy_of(lambda c: c.kind == _FICTIONAL),
    "malformed_accuracy": _accuracy_of(lambda c: c.kind == _MALFORMED),
    "altered_question_recall": _accuracy_of(lambda c: (c.kind == _QUESTION_MODIFIED) & (c.target == _F)),
    "media_absent_accuracy": _accuracy_of(lambda c: c.media == 1),
    "fiction_guess_accuracy": (
        lambda c: c.lettered & (c.source_key == 2),
        lambda c: c.scored & (c.kind == _FICTIONAL) & (c.source_key > 0),
    ),
    "precision_E": _precision(_E),
    "precision_F": _precision(_F),
    "false_alarm_E": _false_alarm(_E),
    "false_alarm_F": _false_alarm(_F),
    "coverage": (lambda c: c.lettered, lambda c: np.ones(len(c.status), dtype=np.bool_)),
    "refusal_rate": (lambda c: c.status == _REFUSED, lambda c: c.scored),
    **{f"choice_share_{letter}": _choice_share(number) for letter, number in _LETTER_NUMBER.items()},
}


@dataclass(frozen=True, slots=True)
class Tables:
    """Weights of every cell: shape ``(cells, len(SHARES))`` for shares, ``(cells, 10)`` for level × correct."""

    hit: Weights
    counts: Weights
    rated: Weights
    unanswered: Weights
    unparsed: Weights


@functools.cache
def tables() -> Tables:
    """Return the weights of every cell, computed once."""
    sizes = tuple(_DIGITS.values())
    grid = np.unravel_index(np.arange(np.prod(sizes)), sizes)
    cells = Cells(**dict(zip(_DIGITS, (axis.astype(np.int64) for axis in grid), strict=True)))
    counted = np.column_stack([at_all(cells) for _, at_all in SHARES.values()])
    hits = np.column_stack([hit(cells) for hit, _ in SHARES.values()]) & counted
    place = np.where(cells.rated, 2 * (cells.confidence - 1) + cells.right, -1)
    rated = place[:, None] == np.arange(2 * N_LEVELS)
    return Tables(
        hit=hits.astype(np.float64),
        counts=counted.astype(np.float64),
        rated=rated.astype(np.float64),
        unanswered=(cells.status == _UNANSWERED).astype(np.float64),
        unparsed=(cells.status == _UNPARSED).astype(np.float64),
    )


def cell_number() -> pl.Expr:
    """Return the expression that gives an observation's cell."""
    answer = pl.col("answer").replace_strict(_LETTER_NUMBER, default=_NONE, return_dtype=pl.Int32)
    source = pl.col("source_target")
    digits = {
        "target": pl.col("target").replace_strict(_LETTER_NUMBER, default=_NONE, return_dtype=pl.Int32),
        "answer": answer,
        "confidence": pl.when(pl.col("confidence").is_between(1, N_LEVELS))
        .then(pl.col("confidence"))
        .otherwise(0),
        "kind": pl.col("kind").replace_strict(
            {kind: number for number, kind in enumerate(_KINDS, start=1)}, default=0, return_dtype=pl.Int32
        ),
        "media": pl.col("tags").list.contains(MEDIA_ABSENT).fill_null(False),
        "source_key": pl.when(source.is_null()).then(0).when(source == pl.col("answer")).then(2).otherwise(1),
        "status": pl.col("status").replace_strict(_STATUS, default=_READ, return_dtype=pl.Int32),
    }
    number = pl.lit(0, dtype=pl.Int32)
    for name, size in _DIGITS.items():
        number = number * size + digits[name].cast(pl.Int32)
    return number

"""What is measured: shares of the answers, and what rests on level of confidence × right or wrong.

The measures are those of Tables 3 and 4 of the paper and of the public runner, and further shares that tell why a
number is what it is. Accuracy is over all items asked: one without a letter counts as wrong. An item with a letter but
no confidence counts everywhere except in the measures of confidence. ECE and Brier read confidence c as (c - 1)/4;
the measures ending in ``_fifths`` read it as c/5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Estimate, Group, Measure, MeasureSet, Unit
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE
from metacog_pipeline.scoring.two_choice_equivalent import meta_d_estimates
from metacog_pipeline.stats import calibration, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import level_probability
from metacog_pipeline.stats.estimate import NO_ITEMS, ONE_LEVEL, unavailable

N_LEVELS = 5
N_BOOT = 1000
E_SHARE_FLAG = 0.20  # above this share of E the missing-answer recall says little (base rate 8.4 %)
NOT_INFORMATIVE = "confidence analysis: not informative (one confidence level)"
MEDIA_ABSENT = "media_absent_but_answerable"
E, F = 5, 6  # letters are counted as 1 to 6, 0 is none
FICTIONAL, MALFORMED, QUESTION_MODIFIED = 1, 2, 3
LOW, MEDIUM, HIGH = 1, 2, 3
CODED = (
    "correct",
    "_letter",
    "_lettered",
    "_key",
    "_ordinary",
    "_rated",
    "_kind",
    "_media",
    "_guessed",
    "_refused",
)

_KINDS = {"Fictional": FICTIONAL, "Bad": MALFORMED, "Question modified": QUESTION_MODIFIED}
_NUMBER: dict[str, int] = {letter: number for number, letter in enumerate(LETTERS, start=1)}
_LEVEL = np.repeat(np.arange(1.0, N_LEVELS + 1), 2)  # of each of the ten cells level × (wrong, correct)
_RIGHT = np.tile([0.0, 1.0], N_LEVELS)
_ALL = np.ones(2 * N_LEVELS)


def coded(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the responses with the columns that groups count: 0, 1, or the number of a letter, kind or band."""

    def number(name: str, numbers: Mapping[str, int]) -> pl.Expr:
        return pl.col(name).replace_strict(numbers, default=0, return_dtype=pl.Int8)

    source, level = pl.col("source_target"), pl.col("confidence")
    found = responses.with_columns(
        _letter=number("answer", _NUMBER),
        _key=number("target", _NUMBER),
        _kind=number("kind", _KINDS),
        _media=pl.col("tags").list.contains(MEDIA_ABSENT).fill_null(False).cast(pl.Int8),
        _guessed=pl.when(source.is_not_null()).then(
            (source == pl.col("answer")).fill_null(False).cast(pl.Int8)
        ),
        _refused=(pl.col("status") == "refused").cast(pl.Int8),
    )
    lettered, known = pl.col("_letter") > 0, level.is_between(1, N_LEVELS)
    band = pl.when(level == N_LEVELS).then(HIGH).when(level >= 3).then(MEDIUM).otherwise(LOW)
    return found.with_columns(
        _lettered=lettered.cast(pl.Int8),
        _ordinary=pl.col("_key").is_between(1, 4).cast(pl.Int8),
        _rated=pl.when(lettered & known).then(band).otherwise(0).cast(pl.Int8),
    )


def share(top: Mapping[str, int], /, **only: int) -> Callable[[Group], Estimate]:
    """Return the share with the codes ``top`` of the responses with the codes ``only``, Wilson's interval."""

    def compute(group: Group) -> Estimate:
        counts = group.counts
        return resampling.share(counts.patterns, counts.where(**top), counts.where(**only))

    return compute


def _missing_answer_recall(group: Group) -> Estimate:
    """Say beside the recall of missing answers when E is chosen for so much that it says little."""
    found = share({"_letter": E}, _key=E)(group)
    chosen = share({"_letter": E})(group).value
    if chosen is None or chosen < E_SHARE_FLAG:
        return found
    return replace(found, method=f"{found.method}; E is {chosen:.1%} of all choices: recall inflated")


def _fiction_guess(group: Group) -> Estimate:
    counts = group.counts
    of = counts.where(_kind=FICTIONAL) * counts.known("_guessed")
    return resampling.share(counts.patterns, counts.where(_guessed=1), of)


def _measure(name: str, compute: Callable[[Group], Estimate] | None, words: str, **more: Any) -> Measure:
    return Measure(name, more.pop("label", name.replace("_", " ")), compute, words=words, **more)


_RIGHT_OF = {"correct": 1}
_NEITHER: dict[str, Any] = {"higher_is_better": None}
_LESS: dict[str, Any] = {"higher_is_better": False}
SHARES = (
    _measure(
        "accuracy", share(_RIGHT_OF), "Share of all items answered as keyed.", headline=True, paper="Table 4"
    ),
    _measure("accuracy_answered", share(_RIGHT_OF, _lettered=1), "Share right of the items with a letter."),
    _measure("accuracy_answerable", share(_RIGHT_OF, _ordinary=1), "Share right where A to D is the key."),
    _measure(
        "high_confidence_accuracy",
        share(_RIGHT_OF, _rated=HIGH),
        "Share right at confidence 5.",
        paper="Table 3",
    ),
    _measure(
        "medium_confidence_accuracy",
        share(_RIGHT_OF, _rated=MEDIUM),
        "Share right at 3 or 4.",
        paper="Table 3",
    ),
    _measure(
        "low_confidence_accuracy", share(_RIGHT_OF, _rated=LOW), "Share right at 1 or 2.", paper="Table 3"
    ),
    _measure(
        "missing_answer_recall",
        _missing_answer_recall,
        "Share of E where no listed answer is right.",
        trait="control",
        trait_under=(BASELINE,),
        paper="Table 4",
    ),
    _measure(
        "unknown_recall",
        share({"_letter": F}, _key=F),
        "Share of F where the question cannot be answered.",
        trait="control",
        trait_under=(BASELINE,),
        paper="Table 4",
    ),
    _measure("fictional_accuracy", share(_RIGHT_OF, _kind=FICTIONAL), "Share of F on what does not exist."),
    _measure("malformed_accuracy", share(_RIGHT_OF, _kind=MALFORMED), "Share of F on malformed questions."),
    _measure(
        "altered_question_recall",
        share(_RIGHT_OF, _kind=QUESTION_MODIFIED, _key=F),
        "Share of F where an altered question cannot be decided.",
    ),
    _measure("media_absent_accuracy", share(_RIGHT_OF, _media=1), "Share right where a picture is missing."),
    _measure(
        "fiction_guess_accuracy",
        _fiction_guess,
        "Share of the pool's own key on fictional questions: guessing the author's mind.",
        **_NEITHER,
    ),
    _measure(
        "precision_E", share(_RIGHT_OF, _letter=E), "Share right of the answers E.", label="precision of E"
    ),
    _measure(
        "precision_F", share(_RIGHT_OF, _letter=F), "Share right of the answers F.", label="precision of F"
    ),
    _measure(
        "false_alarm_E", share({"_letter": E}, _ordinary=1), "Share of E where A to D is right.", **_LESS
    ),
    _measure(
        "false_alarm_F", share({"_letter": F}, _ordinary=1), "Share of F where A to D is right.", **_LESS
    ),
    _measure(
        "coverage",
        lambda group: share({"_lettered": 1})(group.everything),
        "Share of the items with a letter.",
    ),
    _measure("refusal_rate", share({"_refused": 1}), "Share of the items the provider refused.", **_LESS),
    *(
        _measure(
            f"choice_share_{letter}",
            share({"_letter": number}),
            f"Share of {letter} among all answers.",
            label=f"share of {letter}",
            **_NEITHER,
        )
        for letter, number in _NUMBER.items()
    ),
)

_MEAN: dict[str, Any] = {
    "unit": Unit.RATING,
    "range": (1.0, 5.0),
    "higher_is_better": None,
    "paper": "Table 3",
}
_SD: dict[str, Any] = {"unit": Unit.SD, "range": (None, None)}
_OF_LEVELS = (
    _measure("mean_confidence", None, "Mean confidence, 1 to 5.", **_MEAN),
    _measure("positive_confidence", None, "Mean confidence of right answers.", **_MEAN),
    _measure("negative_confidence", None, "Mean confidence of wrong answers.", **_MEAN),
    _measure("weighted_accuracy", None, "Share right, each answer weighted by its confidence."),
    _measure("ece", None, "Expected calibration error, confidence as (c - 1)/4.", label="ECE", **_LESS),
    _measure("ece_fifths", None, "Expected calibration error, confidence as c/5.", label="ECE, c/5", **_LESS),
    _measure("brier", None, "Brier score, confidence as (c - 1)/4.", label="Brier score", **_LESS),
    _measure("brier_fifths", None, "Brier score, confidence as c/5.", label="Brier score, c/5", **_LESS),
    _measure("auroc2", None, "Probability that a right answer is rated above a wrong one.", label="AUROC2"),
    _measure(
        "confidence_levels", None, "Levels used.", unit=Unit.COUNT, range=(0.0, float(N_LEVELS)), **_NEITHER
    ),
    _measure("commonest_confidence_share", None, "Share of the commonest level.", **_NEITHER),
    _measure("d_equivalent", None, "d′ of the equivalent choice of two: 2 z(accuracy).", label="d′", **_SD),
    _measure("meta_d", None, "d′ that an ideal rater with these ratings has.", label="meta-d′", **_SD),
    _measure("m_ratio", None, "meta-d′ / d′.", label="M-ratio", unit=Unit.RATIO, range=(None, None)),
)


def _level_measures(benchmark: Any, groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Return the measures of level × correct of each group, over its answers with a letter and a confidence."""
    made = [_patterns(group) for group in groups]
    drawn = [
        resampling.patterns(patterns, N_BOOT, benchmark.stream(*group.key))
        for patterns, group in zip(made, groups, strict=True)
    ]
    # A fit costs least in company; items of one run need no resampling.
    clustered = [
        draws if group.rows["run"].n_unique() > 1 else None
        for draws, group in zip(drawn, groups, strict=True)
    ]
    tables = [patterns.totals.reshape(N_LEVELS, 2) for patterns in made]
    fitted = meta_d_estimates(tables, clustered)
    return [
        {**_confidence(patterns, draws), **meta_d}
        for patterns, draws, meta_d in zip(made, drawn, fitted, strict=True)
    ]


def _patterns(group: Group) -> resampling.Patterns:
    """Return the items that have a confidence, over the ten cells of level × correct: their order is the stream's."""
    rated = group.rows.filter(pl.col("_rated") > 0)
    cells = rated.select(2 * (pl.col("confidence").cast(pl.Int64) - 1) + pl.col("correct")).to_series()
    found = resampling.patterns_of(rated["cluster"].to_numpy(), cells.to_numpy(), 2 * N_LEVELS)
    kept = found.weights > 0
    return resampling.merge_patterns(found.matrix[kept], found.weights[kept])


def _confidence(patterns: resampling.Patterns, draws: np.ndarray) -> dict[str, Estimate]:
    table = patterns.totals.reshape(N_LEVELS, 2)
    quarters, fifths = level_probability(N_LEVELS), level_probability(N_LEVELS, "c/L")

    def mean(where: np.ndarray) -> Estimate:
        return resampling.ratio(patterns, _LEVEL * where, where)

    def read_as(how: str, found: Estimate) -> Estimate:
        return replace(found, method=f"{found.method}; c as {how}")

    use, n = calibration.level_use(table), int(table.sum())
    auroc = auroc_from_patterns(patterns)
    status = NO_ITEMS if n == 0 else "ok" if use.informative else NOT_INFORMATIVE
    return {
        "mean_confidence": mean(_ALL),
        "positive_confidence": mean(_RIGHT),
        "negative_confidence": mean(1 - _RIGHT),
        "weighted_accuracy": resampling.ratio(patterns, _LEVEL * _RIGHT, _LEVEL, draws),
        "ece": read_as("(c-1)/4", calibration.ece_estimate(patterns, quarters, draws)),
        "ece_fifths": read_as("c/5", calibration.ece_estimate(patterns, fifths, draws)),
        "brier": read_as("(c-1)/4", calibration.brier_from_patterns(patterns, quarters)),
        "brier_fifths": read_as("c/5", calibration.brier_from_patterns(patterns, fifths)),
        "auroc2": unavailable(n, auroc.method, NOT_INFORMATIVE) if auroc.status == ONE_LEVEL else auroc,
        "confidence_levels": Estimate(use.levels_used if n else None, None, None, n, "count", status),
        "commonest_confidence_share": Estimate(use.commonest_share, None, None, n, "count", status),
    }


MEASURES: tuple[Measure | MeasureSet, ...] = (*SHARES, MeasureSet(_OF_LEVELS, _level_measures))

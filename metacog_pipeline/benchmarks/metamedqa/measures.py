"""What is measured: shares of the answers, d′ and criterion of what cannot be answered, and stated confidence.

The shares are those of Tables 3 and 4 of the paper, and further ones that show why a number is what it is. Accuracy is over
all items asked: one without a letter counts as wrong. An item with a letter but no confidence counts everywhere except in
the measures of confidence. Those of calibration and efficiency are computed as for every benchmark; efficiency (``…_mafc``)
is that of a choice among five, over the items keyed A to D that were answered A to E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Estimate, Group, HitRate, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.measures import Where, holds
from metacog_pipeline.benchmarks.metamedqa.items import E_SHARE_FLAG, LETTERS, MEDIA_ABSENT
from metacog_pipeline.scoring import calibration
from metacog_pipeline.scoring.harmonised import CHOSEN, DECLARED, OF_CHOICES, harmonised
from metacog_pipeline.scoring.measures import Resting, share
from metacog_pipeline.stats import confidence_grid, intervals, resampling
from metacog_pipeline.stats.estimate import NO_ITEMS, ONE_LEVEL, SINGLE_ITEM, unavailable
from metacog_pipeline.stats.type1 import d_and_c, type1_from_table

N_LEVELS = 5
N_ALTERNATIVES = 5
HEADLINE = "d_unanswerable"
# letters are counted as 1 to 6, 0 is none
E, F = 5, 6
FICTIONAL, MALFORMED, QUESTION_MODIFIED = 1, 2, 3
LOW, MEDIUM, HIGH = 1, 2, 3
CODED = (
    "correct", "_letter", "_lettered", "_key", "_ordinary", "_rated", "_kind", "_media", "_guessed", "_refused",
)  # fmt: skip
_KINDS = {"Fictional": FICTIONAL, "Bad": MALFORMED, "Question modified": QUESTION_MODIFIED}
_NUMBER: dict[str, int] = {letter: number for number, letter in enumerate(LETTERS, start=1)}
_ORDINARY = ("A", "B", "C", "D")


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


# --- seeing that there is no answer -----------------------------------------------------------------------------------
# Signal detection, once for E and once for F. Signal are the items with that key, noise the items keyed A to D. d′ is that
# of a model that sees it, not of one that says so more often: this raises hits and false alarms alike, and lowers the
# criterion. A policy that never says it has a d′ of its padding (Hautus 1995), whose interval holds 0.
UNANSWERABLE = {"missing": E, "unknown": F}
#: What a row of its measures rests on: the items with the key, and those keyed A to D.
_SEEN: dict[str, Where] = {
    "missing": (("target", ("E", *_ORDINARY)),),
    "unknown": (("target", ("F", *_ORDINARY)),),
    "unanswerable": (("target", tuple(LETTERS)),),
}
_DETECTED, _WIDENED = "log-linear, item bootstrap", "log-linear, item bootstrap or delta, the wider"


def detection(benchmark: Any, groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Return d′ and criterion of E, of F and their means, of each group, items resampled."""
    return [_detection(group) for group in groups]


def _detection(group: Group) -> dict[str, Estimate]:
    counts, kinds = group.counts, list[tuple[Any, ...]]()
    noise = counts.where(_ordinary=1)
    for letter in UNANSWERABLE.values():
        says, signal = counts.where(_letter=letter), counts.where(_key=letter)
        cells = np.column_stack([says * signal, (1 - says) * signal, says * noise, (1 - says) * noise])
        hits, misses, alarms, rejections = table = counts.totals @ cells
        made = type1_from_table(hits, misses, alarms, rejections, "loglinear")
        value, spread = np.array([made.d[0], made.c[0]]), np.sqrt([made.var_d[0], made.var_c[0]])
        kinds.append(([table], value, spread, np.vstack(d_and_c(*(group.draws @ cells).T))))
    tables, values, spreads, draws = map(list, zip(*kinds, strict=True))
    # The two share their noise, on which only one letter can be said.
    spread = np.sqrt((np.array(spreads) ** 2).sum(axis=0)) / 2
    both = [table for own in tables for table in own]
    kinds.append((both, np.array(values).mean(axis=0), spread, np.mean(draws, axis=0)))
    return {
        f"{letter}_{name}": _one(group, own, float(value[at]), float(spread[at]), drawn[at])
        for name, (own, value, spread, drawn) in zip((*UNANSWERABLE, "unanswerable"), kinds, strict=True)
        for at, letter in enumerate("dc")
    }


def _one(
    group: Group, tables: Sequence[np.ndarray], value: float, spread: float, draws: np.ndarray
) -> Estimate:
    """Return d′ or criterion of one kind, or of both."""
    n = round(sum(float(table[:2].sum()) for table in tables) + float(tables[0][2:].sum()))
    if any(h + m == 0 or a + r == 0 for h, m, a, r in tables):
        return unavailable(n, _DETECTED, NO_ITEMS)
    if group.counts.patterns.n_items < 2:
        return Estimate(value, None, None, n, _DETECTED, SINGLE_ITEM)
    found = resampling.from_draws(value, draws, n, _DETECTED, kind="widened")
    if all(0 not in table for table in tables) or found.low is None or found.high is None:
        return found
    # What was never seen is never drawn: with a rate of 0 or 1 resamples vary in the other rate only, and the interval of
    # the delta method counts where it reaches further.
    low, high = min(found.low, value - 1.96 * spread), max(found.high, value + 1.96 * spread)
    return Estimate(value, low, high, n, _WIDENED, sem=max(found.sem or 0.0, spread))


# --- confidence -------------------------------------------------------------------------------------------------------
#: The rating, 1 to 5, and whether it is right, in each cell of the grid: percent × (wrong, right).
_RATING = 1 + 4 * np.repeat(confidence_grid.SHARE, 2)
_RIGHT = np.tile([0.0, 1.0], confidence_grid.GRID)
_OF_RATINGS: Mapping[str, tuple[str, np.ndarray, np.ndarray]] = {
    "mean_confidence": ("Mean confidence, 1 to 5.", _RATING, np.ones_like(_RIGHT)),
    "positive_confidence": ("Mean confidence of right answers.", _RATING * _RIGHT, _RIGHT),
    "negative_confidence": ("Mean confidence of wrong answers.", _RATING * (1 - _RIGHT), 1 - _RIGHT),
    "weighted_accuracy": ("Share right, each answer weighted by its confidence.", _RATING * _RIGHT, _RATING),
}
# as every benchmark has them
_SHARED = ("ece", "brier", "auroc2", *OF_CHOICES)
NOT_INFORMATIVE = "confidence analysis: not informative (one confidence level)"


def confidence(benchmark: Any, groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Return the measures of stated confidence of each group, over its answers with a letter and a confidence."""
    seed, found = benchmark.seed, []
    for group in groups:
        stated = harmonised(benchmark, group.rows).filter(pl.col("confidence").is_not_null())
        cells = calibration.cells_of(stated)
        patterns = resampling.patterns_of(stated["cluster"].to_numpy(), cells, confidence_grid.CELLS)
        every = confidence_grid.measures(patterns, calibration.draws(patterns, seed))
        every |= calibration.efficiency_of(stated.filter(holds(CHOSEN, stated.schema)), seed)
        if (area := every["auroc2"]).status == ONE_LEVEL:
            every["auroc2"] = unavailable(area.n, area.method, NOT_INFORMATIVE)
        own = {name: intervals.ratio(patterns, *weights) for name, (_, *weights) in _OF_RATINGS.items()}
        found.append({**own, **{name: every[name] for name in _SHARED}})
    return found


# --- definitions ------------------------------------------------------------------------------------------------------
_RIGHT_ANSWER = {"correct": 1}
#: Name, what it is, the codes counted, and the codes of the answers it is a share of.
SHARES: tuple[tuple[str, str, Mapping[str, int], Mapping[str, int]], ...] = (
    ("accuracy", "Share of all items answered as keyed.", _RIGHT_ANSWER, {}),
    ("accuracy_answerable", "Share right where A to D is the key.", _RIGHT_ANSWER, {"_ordinary": 1}),
    ("high_confidence_accuracy", "Share right at confidence 5.", _RIGHT_ANSWER, {"_rated": HIGH}),
    ("medium_confidence_accuracy", "Share right at confidence 3 or 4.", _RIGHT_ANSWER, {"_rated": MEDIUM}),
    ("low_confidence_accuracy", "Share right at confidence 1 or 2.", _RIGHT_ANSWER, {"_rated": LOW}),
    ("missing_answer_recall", "Share of E where no listed answer is right.", {"_letter": E}, {"_key": E}),
    ("unknown_recall", "Share of F where the question cannot be answered.", {"_letter": F}, {"_key": F}),
    ("fictional_accuracy", "Share of F on what does not exist.", _RIGHT_ANSWER, {"_kind": FICTIONAL}),
    ("malformed_accuracy", "Share of F on malformed questions.", _RIGHT_ANSWER, {"_kind": MALFORMED}),
    ("altered_question_recall", "Share of F where an altered question cannot be decided.", _RIGHT_ANSWER,
     {"_kind": QUESTION_MODIFIED, "_key": F}),
    ("media_absent_accuracy", "Share right where a picture is missing.", _RIGHT_ANSWER, {"_media": 1}),
    ("fiction_guess_accuracy", "Share of the pool's own key on fictional questions.", {"_guessed": 1},
     {"_kind": FICTIONAL}),
    ("false_alarm_E", "Share of E where A to D is right.", {"_letter": E}, {"_ordinary": 1}),
    ("false_alarm_F", "Share of F where A to D is right.", {"_letter": F}, {"_ordinary": 1}),
    ("coverage", "Share of the items with a letter.", {"_lettered": 1}, {}),
    ("refusal_rate", "Share of the items the provider refused.", {"_refused": 1}, {}),
    *((f"choice_share_{letter}", f"Share of {letter} among all answers.", {"_letter": number}, {})
      for letter, number in _NUMBER.items()),
)  # fmt: skip


def _missing_answer_recall(group: Group) -> Estimate | None:
    """Return the recall, and say where E is chosen for so much that it means little."""
    found, chosen = share({"_letter": E}, only={"_key": E})(group), share({"_letter": E})(group)
    if found is None or chosen is None or (chosen.value or 0.0) < E_SHARE_FLAG:
        return found
    return replace(found, method=f"{found.method}; E is {chosen.value:.1%} of all choices: recall inflated")


_OWN = {
    "missing_answer_recall": Resting(_missing_answer_recall, (("_key", (E,)),)),
    "coverage": Resting(lambda group: share({"_lettered": 1})(replace(group, rows=group.frame)), ()),
}
_SAID = {
    "missing": "none of the above, where no listed answer is right",
    "unknown": "I don't know or cannot answer, where the question cannot be answered",
    "unanswerable": "both: the mean of the two",
}
#: Every yes raises these; they are shown with their false alarms, d′ and criterion.
_HIT_RATES = {
    "missing_answer_recall": HitRate("false_alarm_E", "d_missing", "c_missing"),
    **dict.fromkeys(
        ("unknown_recall", "fictional_accuracy", "malformed_accuracy", "altered_question_recall"),
        HitRate("false_alarm_F", "d_unknown", "c_unknown"),
    ),
}
_TABLE_3 = ("high_confidence_accuracy", "medium_confidence_accuracy", "low_confidence_accuracy", *_OF_RATINGS)
_PAPER = {
    **dict.fromkeys(_TABLE_3, "Table 3"),
    **dict.fromkeys(("accuracy", "missing_answer_recall", "unknown_recall"), "Table 4"),
}
_STATED: Where = (("confidence", None),)


def _better(name: str) -> bool | None:
    neither = name.startswith(("choice_share", "fiction_guess"))
    return None if neither else not name.startswith(("false_alarm", "refusal"))


def _of_ratings(name: str, words: str) -> Measure:
    is_share = name == "weighted_accuracy"
    unit, ends = (Unit.SHARE, (0.0, 1.0)) if is_share else (Unit.RATING, (1.0, 5.0))
    right = {"positive_confidence": 1.0, "negative_confidence": 0.0}.get(name)
    return Measure(
        name, name.replace("_", " "), unit=unit, range=ends, higher_is_better=True if is_share else None,
        paper=_PAPER.get(name, ""), words=words,
        rests_on=_STATED if right is None else (*_STATED, ("correct", (right,))), shared=True,
    )  # fmt: skip


MEASURES: tuple[Measure | MeasureSet, ...] = (
    *(Measure(
        name, name.replace("_", " "), _OWN.get(name) or share(top, only=only), higher_is_better=_better(name),
        paper=_PAPER.get(name, ""), words=words, hit_rate=_HIT_RATES.get(name),
    ) for name, words, top, only in SHARES),
    MeasureSet((
        *(_of_ratings(name, words) for name, (words, *_) in _OF_RATINGS.items()),
        *(each for each in DECLARED if each.name in _SHARED),
    ), confidence),
    MeasureSet(tuple(
        Measure(
            f"{letter}_{kind}", f"{sign} {kind}", unit=Unit.SD, range=(None, None), higher_is_better=better,
            headline=f"{letter}_{kind}" == HEADLINE, words=words.format(said), rests_on=_SEEN[kind],
        )
        for kind, said in _SAID.items()
        for letter, sign, better, words in (
            ("d", "d′", True, "d′ of {}: hits and false alarms on items keyed A to D."),
            ("c", "c", None, "Criterion of {}; below 0 a model says it too often, above 0 too seldom."),
        )
    ), detection),
)  # fmt: skip

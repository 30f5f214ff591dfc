"""What is measured: shares of the answers, and what rests on level of confidence × right or wrong.

The measures are those of Tables 3 and 4 of the paper, and further shares that show why a number is what it is. Accuracy is
over all items asked: one without a letter counts as wrong. An item with a letter but no confidence counts everywhere except
in the measures of confidence, which read confidence c as (c - 1)/4. Efficiency (``…_mafc``) is that of a choice among
five, over the items keyed A to D that were answered A to E: E is an answer, F ("I do not know") is none.

Knowing that a question cannot be answered is signal detection, once for E and once for F. Signal are the items with that
key, noise the items keyed A to D; the recalls of the paper are the hits, ``false_alarm_E`` and ``false_alarm_F`` the false
alarms. d′ separates a model that sees it from one that says so more often, which raises hits and false alarms alike; the
criterion c says how often it says so (below 0: too often). Rates have log-linear padding, (k + 0.5) / (n + 1) (Hautus
1995). A policy that never says it has a d′ of its padding, whose interval holds 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Estimate, Group, HitRate, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.measures import Where, holds
from metacog_pipeline.benchmarks.metamedqa.items import E_SHARE_FLAG, LETTERS, MEDIA_ABSENT
from metacog_pipeline.scoring import calibration as shared
from metacog_pipeline.scoring.harmonised import harmonised
from metacog_pipeline.scoring.measures import share
from metacog_pipeline.stats import calibration, intervals, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.calibration import level_probability
from metacog_pipeline.stats.estimate import NO_ITEMS, ONE_LEVEL, SINGLE_ITEM, unavailable
from metacog_pipeline.stats.type1 import d_and_c, type1_from_table

N_LEVELS = 5
NOT_INFORMATIVE = "confidence analysis: not informative (one confidence level)"
E, F = 5, 6  # letters are counted as 1 to 6, 0 is none
FICTIONAL, MALFORMED, QUESTION_MODIFIED = 1, 2, 3
LOW, MEDIUM, HIGH = 1, 2, 3
CODED = (
    "correct", "_letter", "_lettered", "_key", "_ordinary", "_rated", "_kind", "_media", "_guessed", "_refused",
)  # fmt: skip
_KINDS = {"Fictional": FICTIONAL, "Bad": MALFORMED, "Question modified": QUESTION_MODIFIED}
_NUMBER: dict[str, int] = {letter: number for number, letter in enumerate(LETTERS, start=1)}
_LEVEL = np.repeat(np.arange(1.0, N_LEVELS + 1), 2)  # of each of the ten cells level × (wrong, correct)
_RIGHT = np.tile([0.0, 1.0], N_LEVELS)
_ORDINARY = ("A", "B", "C", "D")
_LETTERED: Where = (("answer", tuple(LETTERS)),)
_RATED: Where = (*_LETTERED, ("confidence", tuple(range(1, N_LEVELS + 1))))
_CHOSEN: Where = (("target", _ORDINARY), ("answer", (*_ORDINARY, "E")), _RATED[1])
#: What a code means in the columns of the responses.
_MEANING: Mapping[tuple[str, int], Where] = {
    ("_lettered", 1): _LETTERED,
    ("_ordinary", 1): (("target", _ORDINARY),),
    ("_media", 1): (("tags", (MEDIA_ABSENT,)),),
    **{("_letter", number): (("answer", (letter,)),) for letter, number in _NUMBER.items()},
    **{("_key", number): (("target", (letter,)),) for letter, number in _NUMBER.items()},
    **{("_kind", number): (("kind", (kind,)),) for kind, number in _KINDS.items()},
    **{
        ("_rated", band): (*_LETTERED, ("confidence", levels))
        for band, levels in ((LOW, (1, 2)), (MEDIUM, (3, 4)), (HIGH, (5,)))
    },
}


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


def _missing_answer_recall(group: Group) -> Estimate | None:
    """Return the recall, and say where E is chosen for so much that it means little."""
    found, chosen = share({"_letter": E}, only={"_key": E})(group), share({"_letter": E})(group)
    if found is None or chosen is None or (chosen.value or 0.0) < E_SHARE_FLAG:
        return found
    return replace(found, method=f"{found.method}; E is {chosen.value:.1%} of all choices: recall inflated")


# --- seeing that there is no answer -----------------------------------------------------------------------------------
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
        h, m, a, r = table = counts.totals @ cells
        made = type1_from_table(h, m, a, r, "loglinear")
        value, spread = np.array([made.d[0], made.c[0]]), np.sqrt([made.var_d[0], made.var_c[0]])
        kinds.append((table, value, spread, np.vstack(d_and_c(*(group.draws @ cells).T))))
    tables, values, spreads, draws = map(list, zip(*kinds, strict=True))
    # The two share their noise, on which only one letter can be said.
    spread = np.sqrt((np.array(spreads) ** 2).sum(axis=0)) / 2
    named: list[tuple[Any, ...]] = [([table], *rest) for table, *rest in kinds]
    named.append((tables, np.array(values).mean(axis=0), spread, np.mean(draws, axis=0)))
    return {
        f"{letter}_{name}": _one(group, own, float(value[at]), float(spread[at]), drawn[at])
        for name, (own, value, spread, drawn) in zip((*UNANSWERABLE, "unanswerable"), named, strict=True)
        for at, letter in enumerate("dc")
    }


def _one(
    group: Group, tables: Sequence[np.ndarray], value: float, spread: float, draws: np.ndarray
) -> Estimate:
    """Return d′ or criterion of one kind, or of both.

    What was never seen is never drawn: with a rate of 0 or 1 resamples vary in the other rate only, and the interval of the
    delta method counts where it reaches further.
    """
    n = round(sum(float(table[:2].sum()) for table in tables) + float(tables[0][2:].sum()))
    if any(h + m == 0 or a + r == 0 for h, m, a, r in tables):
        return unavailable(n, _DETECTED, NO_ITEMS)
    if group.counts.patterns.n_items < 2:
        return Estimate(value, None, None, n, _DETECTED, SINGLE_ITEM)
    found = resampling.from_draws(value, draws, n, _DETECTED, kind="widened")
    if all(0 not in table for table in tables) or found.low is None or found.high is None:
        return found
    half = 1.96 * spread
    low, high = min(found.low, value - half), max(found.high, value + half)
    return Estimate(value, low, high, n, _WIDENED, sem=max(found.sem or 0.0, spread))


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
_OWN: Mapping[str, Callable[[Group], Estimate | None]] = {
    "missing_answer_recall": _missing_answer_recall,
    "coverage": lambda group: share({"_lettered": 1})(group.everything),
}
_OF_LEVELS = {
    "mean_confidence": "Mean confidence, 1 to 5.",
    "positive_confidence": "Mean confidence of right answers.",
    "negative_confidence": "Mean confidence of wrong answers.",
    "weighted_accuracy": "Share right, each answer weighted by its confidence.",
    "ece": "Expected calibration error, confidence as (c - 1)/4.",
    "brier": "Brier score, confidence as (c - 1)/4.",
    "auroc2": "Probability that a right answer is rated above a wrong one.",
    "d_mafc": "d′ that gives the accuracy of a choice among 5 (items keyed A to D, answers A to E).",
    "meta_d_mafc": "d′ of the ideal observer whose confidence separates right from wrong as well, choosing among 5.",
    "m_ratio_mafc": "meta-d′ / d′ of a choice among 5. Cite this one.",
    "eta_mafc": "AUROC2 above chance as a share of the ideal observer's with the same accuracy and use of ratings.",
    "auroc2_ideal": "AUROC2 of the ideal observer of this accuracy.",
}
_OF_DETECTION = {
    f"{letter}_{name}": words.format(said)
    for name, said in (
        ("missing", "none of the above, where no listed answer is right"),
        ("unknown", "I don't know or cannot answer, where the question cannot be answered"),
        ("unanswerable", "both: the mean of the two"),
    )
    for letter, words in (
        ("d", "d′ of {}: hits and false alarms on items keyed A to D."),
        ("c", "Criterion of {}; below 0 a model says it too often, above 0 too seldom."),
    )
}
N_ALTERNATIVES = 5
_EFFICIENCY = ("d_mafc", "meta_d_mafc", "m_ratio_mafc", "eta_mafc", "auroc2_ideal")
_VERDICT = {"positive_confidence": 1, "negative_confidence": 0}
_LABELS = {
    **{name: f"{'d′' if name[0] == 'd' else 'c'} {name[2:]}" for name in _OF_DETECTION},
    "ece": "ECE",
    "auroc2": "AUROC2",
    "d_mafc": "d′ (5 alternatives)",
    "meta_d_mafc": "meta-d′ (5 alternatives)",
    "m_ratio_mafc": "M-ratio (5 alternatives)",
    "eta_mafc": "eta",
    "auroc2_ideal": "ideal AUROC2",
}
_UNITS: dict[str, tuple[Unit, tuple[float | None, float | None]]] = {
    **{f"{which}_confidence": (Unit.RATING, (1.0, 5.0)) for which in ("mean", "positive", "negative")},
    **dict.fromkeys(("d_mafc", "meta_d_mafc", *_OF_DETECTION), (Unit.SD, (None, None))),
    **dict.fromkeys(("m_ratio_mafc", "eta_mafc"), (Unit.RATIO, (None, None))),
}
_LESS_IS_BETTER = ("false_alarm", "refusal", "ece", "brier")
_NEITHER_IS = (
    "choice_share",
    "fiction_guess",
    "c_",
    "mean_confidence",
    "positive_confidence",
    "negative_confidence",
)
HEADLINE = "d_unanswerable"
_TABLE_3 = ("confidence_accuracy", "_confidence")
_TABLE_4 = ("accuracy", "missing_answer_recall", "unknown_recall")


def _rests_on(name: str) -> Where:
    """Return what holds of the answers that a measure of levels rests on."""
    if name in _EFFICIENCY:
        return _CHOSEN
    return (*_RATED, ("correct", (_VERDICT[name],))) if name in _VERDICT else _RATED


def _shares_rest_on(top: Mapping[str, int], only: Mapping[str, int]) -> Where:
    """Return what holds of the answers that a share is of, in columns that are shown."""
    known: Where = (("source_target", None),) if "_guessed" in top else ()
    return (*(each for code in only.items() for each in _MEANING[code]), *known)


_MISSING = HitRate("false_alarm_E", "d_missing", "c_missing")
_UNKNOWN = HitRate("false_alarm_F", "d_unknown", "c_unknown")
#: Raised by every F.
_HITS_OF_F = ("unknown_recall", "fictional_accuracy", "malformed_accuracy", "altered_question_recall")


def _measure(
    name: str, words: str, rests_on: Where, compute: Callable[[Group], Estimate | None] | None = None
) -> Measure:
    unit, limits = _UNITS.get(name, (Unit.SHARE, (0.0, 1.0)))
    return Measure(
        name, _LABELS.get(name, name.replace("_", " ")), compute, unit, limits,
        higher_is_better=None if name.startswith(_NEITHER_IS) else not name.startswith(_LESS_IS_BETTER),
        headline=name == HEADLINE,
        paper="Table 3" if name.endswith(_TABLE_3) else "Table 4" if name in _TABLE_4 else "",
        words=words,
        rests_on=rests_on,
        hit_rate=_MISSING if name == "missing_answer_recall" else _UNKNOWN if name in _HITS_OF_F else None,
    )  # fmt: skip


def _level_measures(benchmark: Any, groups: Sequence[Group]) -> list[dict[str, Estimate]]:
    """Return the measures of level × correct of each group, over its answers with a letter and a confidence."""
    seed, found = benchmark.context.seed, []
    for group in groups:
        rated = group.rows.filter(holds(_RATED, group.rows.schema))
        cells = rated.select(2 * (pl.col("confidence").cast(pl.Int64) - 1) + pl.col("correct")).to_series()
        patterns = resampling.patterns_of(rated["cluster"].to_numpy(), cells.to_numpy(), 2 * N_LEVELS)
        chosen = harmonised(benchmark, group.rows.filter(holds(_CHOSEN, group.rows.schema)))
        efficiency = shared.efficiency_of(chosen, seed)
        found.append({**_confidence(patterns, shared.draws(patterns, seed)), **efficiency})
    return found


def _confidence(patterns: resampling.Patterns, draws: np.ndarray) -> dict[str, Estimate]:
    quarters, n = level_probability(N_LEVELS), int(patterns.totals.sum())

    def mean(where: np.ndarray) -> Estimate:
        return intervals.ratio(patterns, _LEVEL * where, where)

    def read_as(found: Estimate) -> Estimate:
        return replace(found, method=f"{found.method}; c as (c-1)/4")

    auroc = auroc_from_patterns(patterns)
    return {
        "mean_confidence": mean(np.ones_like(_RIGHT)),
        "positive_confidence": mean(_RIGHT),
        "negative_confidence": mean(1 - _RIGHT),
        "weighted_accuracy": intervals.ratio(patterns, _LEVEL * _RIGHT, _LEVEL),
        "ece": read_as(calibration.ece_estimate(patterns, quarters, draws)),
        "brier": read_as(calibration.brier_from_patterns(patterns, quarters)),
        "auroc2": unavailable(n, auroc.method, NOT_INFORMATIVE) if auroc.status == ONE_LEVEL else auroc,
    }


MEASURES: tuple[Measure | MeasureSet, ...] = (
    *(
        _measure(name, words, _shares_rest_on(top, only), _OWN.get(name) or share(top, only=only))
        for name, words, top, only in SHARES
    ),
    MeasureSet(
        tuple(_measure(name, words, _rests_on(name)) for name, words in _OF_LEVELS.items()),
        _level_measures,
    ),
    MeasureSet(
        tuple(_measure(name, words, _SEEN[name[2:]]) for name, words in _OF_DETECTION.items()),
        detection,
    ),
)

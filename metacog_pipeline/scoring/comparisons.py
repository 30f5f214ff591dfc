"""Tests between models and between conditions, corrected in families: one schema for all benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Comparison, Contrast, Question, Scored, Table
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.schema import schema_of
from metacog_pipeline.errors import one_line, reason_of
from metacog_pipeline.scoring import model_pairs
from metacog_pipeline.scoring.estimates import FAILED, measures_of
from metacog_pipeline.scoring.harmonised import DECLARED, PREFIX, board_condition_expr, lacking
from metacog_pipeline.scoring.schemas import COMPARISON
from metacog_pipeline.stats import exact
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.decisions import verdicts
from metacog_pipeline.stats.multiple import bonferroni, holm

VERSION = "11"  # of what all tests have in common: comparisons made by another are stale
LEVEL = 0.05
#: What every benchmark with right and wrong answers and a confidence is asked, where its own questions do not ask it.
OF_CONFIDENCE = (
    Question(
        "Does one model's confidence separate right from wrong answers better than another's?",
        (model_pairs.FAMILY, f"{PREFIX}auroc2"),
        verdict="knows",
    ),
    Question(
        "Does one model's confidence lie closer to its share of right answers than another's?",
        (model_pairs.FAMILY, f"{PREFIX}ece"),
        verdict="calibrated",
    ),
)
CONFIDENCE = Contrast(
    model_pairs.FAMILY,
    model_pairs.between_models,
    within=("family", "measure", "source"),
    words="Two models' confidence, computed alike for every benchmark, on the items that both answered.",
)
LEAST_SHARED = 30  # items; with fewer the coverage of single means falls below 92 %
#: What a test says. Other words in ``verdict`` name what was seen.
VERDICTS = ("significant", "not_significant", "negligible", "inconclusive")
#: What a test is about.
PLACE = ("dataset", "source", "task", "condition", "scoring", "model", "a", "b")
_VALUES = attrgetter(*COMPARISON.names()[1:])  # all but the benchmark, of a comparison
_VERDICT = (
    pl.when(pl.col("p_adjusted") < LEVEL).then(pl.lit("significant")).otherwise(pl.lit("not_significant"))
)


def comparisons(
    benchmark: Bound, groups: Sequence[Group], pooled: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return one row per test of every contrast, in `COMPARISON`; ``pooled`` are the estimates over runs."""
    made = [_tested(benchmark, contrast, groups) for contrast in benchmark.contrasts]
    return marked(pl.concat(made), pooled) if made else COMPARISON.to_frame()


def of_confidence(
    benchmark: Bound, groups: Sequence[Group], scored: pl.DataFrame, answers: pl.DataFrame
) -> pl.DataFrame:
    """Return the tests of every two models' confidence, in `COMPARISON`; ``answers`` are the harmonised responses."""

    def tests() -> pl.DataFrame:
        lacks = lacking(benchmark, scored)
        pairs = model_pairs.between_models(answers, seed=benchmark.seed, lacks=lacks)
        rows = as_table(benchmark, pairs)
        tested, low_n = rows["p"].is_not_null(), pl.col("low_n")
        return finished(benchmark, CONFIDENCE, rows).with_columns(low_n=pl.when(tested).then(low_n))

    return _guarded(benchmark, CONFIDENCE, groups, tests)


def _tested(benchmark: Bound, contrast: Contrast, groups: Sequence[Group]) -> pl.DataFrame:
    def tests() -> pl.DataFrame:
        rows = finished(benchmark, contrast, rows_of(benchmark, contrast, groups))
        return pl.concat([rows, as_table(benchmark, not_compared(contrast, groups, rows))])

    return _guarded(benchmark, contrast, groups, tests)


def _guarded(
    benchmark: Bound, contrast: Contrast, groups: Sequence[Group], tests: Callable[[], pl.DataFrame]
) -> pl.DataFrame:
    """Return the tests of one family; where they fail, its own row with the reason."""
    try:
        return left_out(groups, tests())
    except Exception as error:  # a contrast may be a stranger's code; the other families stay
        return as_table(benchmark, _failed(contrast, error, groups, {}))


def finished(benchmark: Bound, contrast: Contrast, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a contrast with corrected p, verdicts, intervals that agree with p, and the primary ones named."""
    rows = without_few(judged(contrast, rows), contrast.unit)
    return primary_named(benchmark, with_adjusted_intervals(rows, _spans(benchmark)))


def _spans(benchmark: Bound) -> dict[str, float]:
    """Return by measure the largest difference that its range allows."""
    every = (*measures_of(benchmark), *(replace(each, name=f"{PREFIX}{each.name}") for each in DECLARED))
    return {each.name: each.range[1] - each.range[0] for each in every if None not in each.range}  # type: ignore[operator]


def rows_of(benchmark: Bound, contrast: Contrast, groups: Sequence[Group]) -> pl.DataFrame:
    """Return the rows of a contrast without corrections."""
    if not contrast.pairs and not contrast.by_model:
        return as_table(benchmark, contrast.compute(benchmark, groups))
    names = sorted({group.model for group in groups})
    every: list[tuple[str, ...]] = list(combinations(names, 2 if contrast.pairs else 1))
    try:
        pairs = [every] if contrast.pairs else []
        return as_table(benchmark, contrast.compute(benchmark, groups, *pairs) if every else ())
    except Exception:  # one model must not take the rows of the others
        return as_table(benchmark, (row for own in every for row in _alone(benchmark, contrast, groups, own)))


def _alone(
    benchmark: Bound, contrast: Contrast, groups: Sequence[Group], models: tuple[str, ...]
) -> list[Comparison]:
    own = [group for group in groups if group.model in models]
    try:
        return list(contrast.compute(benchmark, own, *([[models]] if contrast.pairs else [])))
    except Exception as error:
        sides = ("a", "b") if contrast.pairs else ("model",)
        return _failed(contrast, error, own, dict(zip(sides, models, strict=True)))


def _failed(
    contrast: Contrast, error: Exception, groups: Iterable[Group], named: dict[str, str]
) -> list[Comparison]:
    status = one_line(f"{FAILED}{reason_of(error)}")
    kinds = dict.fromkeys((group.dataset, group.source) for group in groups)
    made: Any = named
    return [Comparison(contrast.family, "", dataset=d, source=s, status=status, **made) for d, s in kinds]


def as_table(benchmark: Bound, rows: Iterable[Comparison]) -> pl.DataFrame:
    """Return comparisons in the schema `COMPARISON`."""
    return pl.DataFrame([(benchmark.name, *_VALUES(row)) for row in rows], schema=COMPARISON, orient="row")


def _corrected(how: str, rows: pl.DataFrame, within: Sequence[str]) -> Floats:
    """Return p by Holm or by Bonferroni over the rows that are equal in ``within``, NaN where there is none."""
    correct, p = {"holm": holm, "bonferroni": bonferroni}[how], np.full(rows.height, np.nan)
    for own in rows.select(*within, "p", _place=pl.int_range(pl.len())).partition_by(within):
        p[own["_place"].to_numpy()] = np.array(correct(own["p"].to_list()), dtype=np.float64)
    return p


def judged(contrast: Contrast, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the size of their family, and with a corrected p and a verdict where they have a p alone."""
    if rows.is_empty():
        return rows
    within = contrast.within
    corrected = pl.Series(_corrected(contrast.correction or "holm", rows, within)).fill_nan(None)
    tested = pl.col("p").count().over(within)
    # Tests without a p, such as those of posteriors, are counted and not corrected.
    said = pl.col("verdict").is_in(VERDICTS).sum().over(within)
    bare = pl.col("p_adjusted").count().over(within) == 0  # a family that corrects its own p keeps it
    sized = rows.with_columns(
        n_tests=pl.when(tested > 0).then(tested).otherwise(said).cast(pl.Int64),
        p_adjusted=pl.when(bare).then(corrected).otherwise("p_adjusted"),
    )
    lacks = pl.col("verdict").is_null() & pl.col("p_adjusted").is_not_null()
    made = sized.with_columns(verdict=pl.when(lacks).then(_VERDICT).otherwise("verdict"))
    names = ("low", "high", "p_adjusted")
    low, high, p = (made[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in names)
    verdict = made["verdict"].to_numpy().copy()
    for measure, half_width in contrast.rope.items():
        own = (rows["measure"] == measure).to_numpy() & ~np.isnan(p) & ~np.isnan(low)
        verdict[own] = verdicts(low[own], high[own], half_width, p[own] < LEVEL)
    return made.with_columns(verdict=pl.Series(verdict.tolist(), dtype=pl.String))


def with_adjusted_intervals(rows: pl.DataFrame, spans: Mapping[str, float] | None = None) -> pl.DataFrame:
    """Return the rows with intervals that agree with p about 0, and with intervals at the level of their family.

    ``spans`` are the largest differences that measures can have.
    """
    # Sides of the interval of the family are widened as those of a normal one would be from 0.05 to 0.05 p / p_adjusted.
    names = ("value", "low", "high", "low_adjusted", "high_adjusted", "p", "p_adjusted")
    found = {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy().copy() for name in names}
    value, p, family = found["value"], found["p"], found["p_adjusted"]
    span = np.array([(spans or {}).get(name, np.inf) for name in rows["measure"]])
    with np.errstate(invalid="ignore", divide="ignore"):
        level = LEVEL * np.where(
            family > 0, np.clip(p / family, 1 / np.maximum(rows["n_tests"].to_numpy(), 1), 1), 1
        )
        wider = ndtri(1 - level / 2) / ndtri(1 - LEVEL / 2)
        bare = np.isnan(found["low_adjusted"])
        for end in ("low", "high"):
            own = np.clip(value + (found[end] - value) * wider, -span, span)
            found[f"{end}_adjusted"] = np.where(bare, own, found[f"{end}_adjusted"])
        for suffix, by in (("", p), ("_adjusted", family)):
            ends = _agreeing(value, found[f"low{suffix}"], found[f"high{suffix}"], by)
            found[f"low{suffix}"], found[f"high{suffix}"] = ends
    made = [pl.Series(name, found[name], nan_to_null=True) for name in names[1:5]]
    return rows.with_columns(made)


def _agreeing(value: Floats, low: Floats, high: Floats, p: Floats) -> tuple[Floats, Floats]:
    # Where interval and p come from two methods (an exact p, a resampled interval), the end near 0 moves to 0 or past it.
    reached, missed = p >= LEVEL, (p < LEVEL) & (value != 0)
    hair = np.abs(value) * 1e-9
    low = np.where(reached & (low > 0), 0.0, np.where(missed & (value > 0) & (low <= 0), hair, low))
    high = np.where(reached & (high < 0), 0.0, np.where(missed & (value < 0) & (high >= 0), -hair, high))
    return low, high


def primary_named(benchmark: Bound, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that say whether they are the test a question of the benchmark is answered by."""
    # Where a test has several rows, with all models and without some, the first one is that test.
    first = pl.struct("family", "measure", *PLACE).is_first_distinct()
    found = rows.with_columns(primary=pl.lit(False), question=pl.lit(None, pl.String))
    for asked in questions_of(benchmark):
        family, measure = asked.primary
        here = ((pl.col("family") == family) & (pl.col("measure") == measure)).fill_null(False) & first
        found = found.with_columns(
            primary=pl.col("primary") | here,
            question=pl.when(here).then(pl.lit(asked.verdict)).otherwise("question"),
        )
    return found


def questions_of(benchmark: Bound | type[Bound]) -> tuple[Question, ...]:
    """Return what is asked of a benchmark: its own questions, and of its confidence those that none of these asks."""
    own = {question.verdict for question in benchmark.questions}
    return (*benchmark.questions, *(each for each in OF_CONFIDENCE if each.verdict not in own))


def not_compared(contrast: Contrast, groups: Iterable[Group], rows: pl.DataFrame) -> Iterator[Comparison]:
    """Yield a row with the reason for each model that lacks answers and was compared with no other."""
    if not contrast.between_models:
        return
    under = contrast.under
    where = ("dataset", "source", "task", "condition", "scoring")
    named = {place for side in ("a", "b") for place in rows.select(*where, side).unique().iter_rows()}
    for group in groups:
        place = {name: getattr(group, name) for name in where}
        elsewhere = bool(under) and group.condition not in under
        if group.complete or elsewhere or (*place.values(), group.model) in named:
            continue
        n, why = group.rows["item_id"].n_unique(), group.incomplete or "no answer"
        yield Comparison(contrast.family, "", a=group.model, n=n, status=f"not compared: {why}", **place)


def left_out(groups: Iterable[Group], rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with ``n_left_out``: how many items asked there were not answered by a model of the test."""
    missing: dict[tuple[str | None, str | None], list[tuple[str, set[str]]]] = {}
    for group in groups:
        items = set[str]()
        if group.n_failed:
            unanswered = pl.col("status").is_in(group.benchmark.unanswered)
            items = {*group.frame.filter(unanswered)["item_id"]}
        missing.setdefault((group.dataset, group.model), []).append((group.condition, items))
    counts = []
    for dataset, condition, *sides in rows.select("dataset", "condition", "model", "a", "b").iter_rows():
        own = [each for side in sides for each in missing.get((dataset, side), ())]
        named = {condition, *sides} & {under for under, _ in own}
        lacking = (items for under, items in own if not named or under in named)
        counts.append(len(set().union(*lacking)) if own else None)
    return rows.with_columns(n_left_out=pl.Series(counts, dtype=pl.Int64))


def without_few(rows: pl.DataFrame, unit: str = "items") -> pl.DataFrame:
    """Return the rows without a verdict where it rests on too few items or models for any; p stays."""
    known = rows["n"].unique().to_list()
    why = pl.col("n").replace_strict(known, [exact.too_few(n, unit) for n in known], return_dtype=pl.String)
    few = pl.col("verdict").is_in(VERDICTS) & why.is_not_null()
    return rows.with_columns(
        verdict=pl.when(~few.fill_null(False)).then("verdict"),
        status=pl.when(few & (pl.col("status") == "ok")).then(why).otherwise("status"),
    )


def marked(rows: pl.DataFrame, pooled: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows with ``low_n``: either side's own interval has it, or fewer than `LEAST_SHARED` items are shared."""
    found = rows.with_columns(low_n=pl.when(pl.col("low").is_not_null()).then(pl.col("n") < LEAST_SHARED))
    if pooled is None or pooled.is_empty():
        return found
    key = ["dataset", "source", "_model", "_label", "measure"]
    known = pooled.filter("low_n").rename({"model": "_model", "condition": "_label"}).select(key).unique()
    known = known.with_columns(few=True)
    for side in ("a", "b"):
        condition = pl.when(pl.col("model").is_null()).then("condition").otherwise(side)
        placed = found.select(
            *("dataset", "source", "measure"),
            _model=pl.coalesce("model", side),
            _label=board_condition_expr(condition),
        )
        few = placed.join(known, on=key, how="left", maintain_order="left", nulls_equal=True)["few"]
        found = found.with_columns(low_n=pl.col("low_n") | few.fill_null(False))
    return found


def table(benchmark: Bound, each: Table, scored: Scored) -> tuple[pl.DataFrame, str | None]:
    """Return a benchmark's own table in its schema, and why it is empty where computing it failed."""
    schema = schema_of(each.row)
    try:
        if each.compute is not None:
            made = each.compute(benchmark, scored)
        else:
            assert each.of_group is not None
            rows = [row for group in scored.groups for row in each.of_group(benchmark, group)]
            made = pl.DataFrame(rows, schema=schema, orient="row")
        return made.select(pl.col(name).cast(kind) for name, kind in schema.items()), None
    except Exception as error:
        why = one_line(f"{benchmark.name}_{each.name}: {reason_of(error)}")
        return pl.DataFrame(schema=schema), why


def failures_in(frame: pl.DataFrame) -> list[str]:
    """Return the distinct reasons of rows of estimates or comparisons that failed."""
    what = "measure" if "estimate" in frame.columns else "family"
    rows = frame.filter(pl.col("status").str.starts_with(FAILED))
    failed = rows.select(what, "status").unique(maintain_order=True)
    return [f"{name}: {status.removeprefix(FAILED)}" for name, status in failed.iter_rows()]

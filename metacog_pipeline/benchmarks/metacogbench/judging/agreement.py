"""How far judges and rules agree on the same replies, and what scoring by a judge would do to a tier.

Per tier and rule: the headline, and every other way of scoring the tier that is kept beside it. The item is the unit of
chance: it is resampled with all its models and runs. Judgements enter a score only where
words alone do not decide; there they are compared with no rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Comparison, Group, Scored, schema_of
from metacog_pipeline.benchmarks.metacogbench.items import BENCHMARK
from metacog_pipeline.benchmarks.metacogbench.judging.cases import SELF
from metacog_pipeline.benchmarks.metacogbench.read import NOT_READ
from metacog_pipeline.benchmarks.metacogbench.tier_groups import Floats, item_weights
from metacog_pipeline.stats.agreement import ONE_CATEGORY
from metacog_pipeline.stats.estimate import OFTEN_UNDEFINED, OK, SINGLE_ITEM
from metacog_pipeline.stats.intervals import wilson_interval
from metacog_pipeline.stats.resampling import interval

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

HEADLINE = "headline"
#: The rules a judge is compared with, by tier: their names and the columns of a response.
RULES: Mapping[str, Mapping[str, str]] = {
    "1a": {HEADLINE: "passed"},
    "1b": {HEADLINE: "passed", "keywords": "passed_keywords"},
    **{
        tier: {HEADLINE: "passed", "keywords": "passed_keywords", "keywords_v1": "passed_keywords_v1"}
        for tier in ("2a", "2b")
    },
    "3": {HEADLINE: "passed", "core_required": "passed_core"},
}
BY_JUDGE = "judge"  # what such a verdict rests on
#: The verdict of the headline rule; none where it is that of a judge.
_BY_RULE = pl.when(pl.col("basis").ne_missing(BY_JUDGE)).then(pl.col("passed")).alias("passed")
#: The measure of a tier that is the share of replies passed.
SHARES: Mapping[str, str] = {"1a": "t1a", "1b": "accuracy_1b", "2a": "t2a", "2b": "t2b", "3": "t3"}
NO_JUDGEMENTS = "no judgements"
JUDGED = "_judged"  # derived column of responses: what each judge said
_GROUP = ("dataset", "source", "tier", "condition", "judge", "relation")
_KEY = ("dataset", "condition", "model", "run", "item_id")
#: From a row, the difference, its resamples and what it is on each item, to the tested row.
Tested = Callable[[Comparison, float, Floats, Floats], Comparison]


@dataclass(slots=True)
class Agreement:
    """A judge beside a rule on the same n replies, of a model or of all (``model`` null).

    ``judge_rate`` and ``rules_rate`` are shares passed; ``difference`` is judge minus rules: how far the tier would move;
    ``accuracy`` the share of replies on which both say the same; ``kappa`` Cohen's. The ends of the 95 % intervals are
    percentiles over resampled items; where all replies agree, that of ``accuracy`` is Wilson's over items.
    ``n_judge_only`` replies pass by the judge alone; ``n_unread`` judgements say neither, or were refused; ``n_missing``
    replies were not asked about, or without an answer.
    """

    benchmark: str
    dataset: str
    source: str
    tier: str
    condition: str
    judge: str
    relation: str
    model: str | None
    rule: str
    judge_rate: float | None
    rules_rate: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    n: int
    n_items: int
    n_judge_only: int
    n_rules_only: int
    n_unread: int
    n_missing: int
    status: str


class Counts(NamedTuple):
    """Counts of replies: passed by both, judge only, rules only, neither.

    ``by_item`` has shape ``(items, 4)``; ``totals`` are over all items, shape ``(1, 4)``, ``drawn`` over resampled ones,
    ``(B, 4)``, where there are several.
    """

    by_item: Floats
    totals: Floats
    drawn: Floats | None


def agreement(benchmark: MetaCogBench, scored: Scored) -> pl.DataFrame:
    """Return one row per tier, condition, judge, relation and rule, of each model and of all."""
    schema = schema_of(Agreement)
    if scored.judgements is None or scored.judgements.is_empty():
        return schema.to_frame()
    both = scored.judgements.join(_verdicts(scored.responses), on=list(_KEY), how="left")
    rows: list[tuple[object, ...]] = []
    for names in (_GROUP, (*_GROUP, "model")):
        parts = both.sort(*_GROUP, "model").partition_by(names, maintain_order=True, as_dict=True)
        for key, part in parts.items():
            where = (*key[: len(_GROUP)], key[len(_GROUP)] if len(key) > len(_GROUP) else None)
            for rule in RULES[str(key[2])]:
                rows.append((BENCHMARK, *where, rule, *_figures(part, rule, benchmark.context.seed)))
    return pl.DataFrame(rows, schema=schema, orient="row")


def with_judgements(responses: pl.DataFrame, judgements: pl.DataFrame | None) -> pl.DataFrame:
    """Return the responses of a model and run with what each judge said of them, for `judge_shifts`.

    Where words alone do not decide, the first judge of the study's list that is not the model itself does.
    """
    if judgements is None:
        return responses
    deciding = pl.col("verdict").filter(pl.col("verdict").is_not_null(), pl.col("relation") != SELF)
    said = judgements.group_by("condition", "item_id", maintain_order=True).agg(
        pl.struct("judge", "verdict", judged_source="source").alias(JUDGED), _decided=deciding.first()
    )
    joined = responses.join(said, on=["condition", "item_id"], how="left", maintain_order="left")
    by_judge = (pl.col("status") == NOT_READ) & pl.col("_decided").is_not_null()
    values = {
        "passed": pl.col("_decided"),
        "basis": pl.lit(BY_JUDGE),
        "status": pl.lit("ok"),
        "reason": pl.lit(None),
    }
    decided = [
        pl.when(by_judge).then(new).otherwise(pl.col(name)).alias(name) for name, new in values.items()
    ]
    return joined.with_columns(decided).drop("_decided")


def judge_shifts(groups: Sequence[Group], tested: Tested) -> Iterator[Comparison]:
    """Yield one row per model, condition, judge and tier: share passed by the judge minus that by the headline rule."""
    frames = [group.frame for group in groups if JUDGED in group.frame.columns]
    if not frames:
        return
    seed = groups[0].benchmark.context.seed
    kept = ("dataset", "condition", "model", "run", "tier", "item_id", "passed", JUDGED)
    said = (
        pl.concat([each.with_columns(_BY_RULE).select(kept) for each in frames])
        .drop_nulls(JUDGED)
        .explode(JUDGED)
        .unnest(JUDGED)
    )
    names = ("dataset", "judged_source", "condition", "judge", "tier", "model")
    parts = said.sort(*names).partition_by(names, maintain_order=True, as_dict=True)
    for key, part in parts.items():
        dataset, source, condition, judge, tier, model = map(str, key)
        base = Comparison(
            "judge", SHARES[tier], judge, "rules", dataset, condition=condition, model=model, source=source
        )
        yield _shift(base, _counts(part, "passed", seed), tested)


def _verdicts(responses: pl.DataFrame) -> pl.DataFrame:
    columns = sorted({column for rules in RULES.values() for column in rules.values()} - {"passed_core"})
    core = pl.col("passed") * pl.col("core_ok").fill_null(0)
    return responses.with_columns(_BY_RULE, passed_core=core).select(*_KEY, *columns, "passed_core")


def _counts(part: pl.DataFrame, column: str, seed: int) -> Counts:
    read = part.filter(pl.col("verdict").is_not_null(), pl.col(column).is_not_null())
    judge, rules = (read[name].to_numpy() == 1 for name in ("verdict", column))
    _, item = np.unique(read["item_id"].to_numpy(), return_inverse=True)
    n = int(item.max()) + 1 if len(item) else 0
    counts = np.zeros((n, 4))
    np.add.at(counts, (item, 2 * ~judge + ~rules), 1.0)
    drawn = item_weights(str(part["tier"][0]), n, seed) @ counts if n > 1 else None
    return Counts(counts, counts.sum(axis=0, keepdims=True), drawn)


def _figures(part: pl.DataFrame, rule: str, seed: int) -> tuple[object, ...]:
    missing = part["status"].is_in(["not_run", "transport_error", "too_long"]).sum()
    unread = part["status"].is_in(["unreadable", "refused"]).sum()
    by_item, totals, drawn = _counts(part, RULES[str(part["tier"][0])][rule], seed)
    if not (n_items := len(by_item)):
        return (None,) * 11 + (0, 0, 0, 0, unread, missing, NO_JUDGEMENTS)
    pass_both, judge_only, rules_only, fail_both = map(float, totals[0])
    n = pass_both + judge_only + rules_only + fail_both
    status = OK if drawn is not None else SINGLE_ITEM
    ends: list[float | None] = []
    for name, statistic in (("difference", _difference), ("accuracy", _accuracy), ("kappa", _kappa)):
        value = float(statistic(totals)[0])
        low, high = (None, None) if drawn is None else interval(statistic(drawn))
        if name == "accuracy" and value == 1.0 and drawn is not None:
            low, high = wilson_interval(1.0, n_items)
        if math.isnan(value) or low is None or high is None:
            ends += [None if math.isnan(value) else value, None, None]
        else:
            ends += [value, min(low, value), max(high, value)]
    if ends[6] is None:
        status = ONE_CATEGORY
    elif drawn is not None and None in ends:
        status = OFTEN_UNDEFINED
    rates = ((pass_both + judge_only) / n, (pass_both + rules_only) / n)
    numbers = tuple(int(each) for each in (n, n_items, judge_only, rules_only))
    return (*rates, *ends, *numbers, unread, missing, status)


def _shift(base: Comparison, counts: Counts, tested: Tested) -> Comparison:
    n = len(counts.by_item)
    if not n:
        return replace(base, status=NO_JUDGEMENTS)
    value = float(_difference(counts.totals)[0])
    if counts.drawn is None:
        return replace(base, value=value, n=n, status=SINGLE_ITEM)
    moved = (counts.by_item[:, 1] - counts.by_item[:, 2]) / counts.totals.sum()
    note = SELF if base.a == SELF else None
    return tested(replace(base, note=note), value, _difference(counts.drawn), moved)


def _difference(totals: Floats) -> Floats:
    return _share(totals[:, 1] - totals[:, 2], totals)


def _accuracy(totals: Floats) -> Floats:
    return _share(totals[:, 0] + totals[:, 3], totals)


def _share(counted: Floats, totals: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        found: Floats = counted / totals.sum(axis=1)
    return found


def _kappa(totals: Floats) -> Floats:
    """Return Cohen's kappa of each row of counts; NaN where both use one and the same category only."""
    n = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        judge, rules = (totals[:, 0] + totals[:, 1]) / n, (totals[:, 0] + totals[:, 2]) / n
        chance = judge * rules + (1 - judge) * (1 - rules)
        found: Floats = np.where(1 - chance > 1e-12, (_accuracy(totals) - chance) / (1 - chance), np.nan)
    return found

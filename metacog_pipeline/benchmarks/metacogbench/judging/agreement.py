"""How far judges and rules agree on the same replies, and what scoring by a judge would do to a tier.

Per tier and rule: the headline, and every other way of scoring the tier that is kept beside it. The item is the unit of
chance: it is resampled with all its models and runs. Judgements never enter a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from metacog_pipeline.benchmarks.common.rows import number
from metacog_pipeline.benchmarks.metacogbench.cells import N_BOOT, Floats, resamples
from metacog_pipeline.benchmarks.metacogbench.judging.protocol import BENCHMARK, SELF
from metacog_pipeline.benchmarks.metacogbench.rows import Row
from metacog_pipeline.stats.agreement import ONE_CATEGORY
from metacog_pipeline.stats.clusters import percentile_interval
from metacog_pipeline.stats.estimate import OK, SINGLE_ITEM
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.proportions import wilson_interval

HEADLINE = "headline"
#: The rules a judge is compared with, by tier: their names and the columns of an observation.
RULES: Mapping[str, Mapping[str, str]] = {
    "1a": {HEADLINE: "passed", "lit": "passed_lit"},
    "1b": {HEADLINE: "passed", "lit": "passed_lit"},
    "2a": {HEADLINE: "passed", **{name: f"passed_{name}" for name in ("lit1", "lit2", "ge1", "grounded")}},
    "2b": {HEADLINE: "passed", **{name: f"passed_{name}" for name in ("lit1", "lit2", "strong", "grounded")}},
    "3": {HEADLINE: "passed", "core_required": "passed_core"},
}
#: The measure of a tier that is the share of replies passed.
SHARES: Mapping[str, str] = {"1a": "t1a", "1b": "accuracy_1b", "2a": "t2a", "2b": "t2b", "3": "t3"}
NO_JUDGEMENTS = "no judgements"
LEVEL = 0.05
_GROUP = ("dataset", "source", "tier", "condition", "judge", "relation")
_INTERVALS = ("difference", "accuracy", "kappa")
_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("benchmark", *_GROUP, "model", "rule"), pl.String),
    **dict.fromkeys(("judge_rate", "rules_rate"), pl.Float64),
    **{f"{name}{end}": pl.Float64() for name in _INTERVALS for end in ("", "_low", "_high")},
    **dict.fromkeys(("n", "n_items", "n_judge_only", "n_rules_only", "n_unread", "n_missing"), pl.Int64),
    "status": pl.String,
}
AGREEMENT_SCHEMA = pl.Schema(_TYPES)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Counts of replies per item, shape ``(items, 4)``: passed by both, judge only, rules only, neither."""

    tier: str
    counts: Floats

    @property
    def totals(self) -> Floats:
        """Counts over all items, shape ``(1, 4)``."""
        totals: Floats = self.counts.sum(axis=0, keepdims=True)
        return totals

    def drawn(self, seed: int, n_boot: int) -> Floats:
        """Return counts over resampled items, shape ``(n_boot, 4)``."""
        drawn: Floats = resamples(self.tier, len(self.counts), n_boot, seed) @ self.counts
        return drawn


def agreement(
    judgements: pl.DataFrame, observations: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT
) -> pl.DataFrame:
    """Return one row per tier, condition, judge, relation and rule, of each model and of all (``model`` null).

    Parameters
    ----------
    judgements
        Rows of ``observe.JUDGEMENT_SCHEMA``, of all models and runs.
    observations
        Rows of the benchmark's ``OBSERVATION_SCHEMA``, of the same.
    seed, n_boot
        Of the resampling of items.

    Notes
    -----
    ``judge_rate`` and ``rules_rate`` are shares of the same n replies, 0..1; ``difference`` is judge minus rules: how far
    the tier would move; ``accuracy`` the share of replies on which both say the same; ``kappa`` Cohen's. The ends of the
    95 % intervals are percentiles over resampled items; where all replies agree, that of ``accuracy`` is Wilson's over
    items. ``n_judge_only`` replies pass by the judge alone; ``n_unread`` judgements say neither, or were refused;
    ``n_missing`` replies were not asked about, or without an answer.
    """
    if judgements.is_empty():
        return AGREEMENT_SCHEMA.to_frame()
    both = _with_rules(judgements, observations)
    rows: list[tuple[object, ...]] = []
    for names in (_GROUP, (*_GROUP, "model")):
        parts = both.sort(*_GROUP, "model").partition_by(names, maintain_order=True, as_dict=True)
        for key, part in parts.items():
            model = key[len(_GROUP)] if len(key) > len(_GROUP) else None
            for rule in RULES[str(key[2])]:
                rows.append(
                    (BENCHMARK, *key[: len(_GROUP)], model, rule, *_figures(part, rule, seed, n_boot))
                )
    return pl.DataFrame(rows, schema=AGREEMENT_SCHEMA, orient="row")


def shifts(
    judgements: pl.DataFrame, observations: pl.DataFrame, *, seed: int, n_boot: int = N_BOOT
) -> list[Row]:
    """Return one comparison per model, condition, judge and tier: score by the judge minus score by the headline rule.

    Family ``judge``; ``p`` is twice the smaller share of resamples on either side of 0, Holm-corrected over the models of
    a judge and tier.
    """
    if judgements.is_empty():
        return []
    both = _with_rules(judgements, observations)
    names = ("dataset", "source", "condition", "judge", "tier")
    found: list[Row] = []
    for key, group in (
        both.sort(*names, "model").partition_by(names, maintain_order=True, as_dict=True).items()
    ):
        dataset, source, condition, judge, tier = map(str, key)
        rows = []
        for (model,), part in group.partition_by("model", maintain_order=True, as_dict=True).items():
            base = Row(dataset, source, condition, str(model), "judge", SHARES[tier], judge, "rules")
            rows.append(_shift(base, _table(part, HEADLINE), seed, n_boot))
        for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
            verdict = None if p is None else "significant" if p < LEVEL else "not_significant"
            found.append(replace(row, p_adjusted=p, verdict=verdict))
    return found


def _with_rules(judgements: pl.DataFrame, observations: pl.DataFrame) -> pl.DataFrame:
    key = ("dataset", "condition", "model", "run", "item_id")
    columns = sorted({column for rules in RULES.values() for column in rules.values()} - {"passed_core"})
    core = pl.col("passed") * pl.col("core_ok").fill_null(0)
    verdicts = observations.with_columns(passed_core=core).select(*key, *columns, "passed_core")
    return judgements.join(verdicts, on=list(key), how="left")


def _table(part: pl.DataFrame, rule: str) -> Table:
    tier = str(part["tier"][0])
    column = RULES[tier][rule]
    read = part.filter(pl.col("verdict").is_not_null(), pl.col(column).is_not_null())
    judge, rules = (read[name].to_numpy() == 1 for name in ("verdict", column))
    _, item = np.unique(read["item_id"].to_numpy(), return_inverse=True)
    counts = np.zeros((int(item.max()) + 1 if len(item) else 0, 4))
    np.add.at(counts, (item, 2 * ~judge + ~rules), 1.0)
    return Table(tier, counts)


def _figures(part: pl.DataFrame, rule: str, seed: int, n_boot: int) -> tuple[object, ...]:
    missing = part["status"].is_in(["not_run", "transport_error", "too_long"]).sum()
    unread = part["status"].is_in(["unreadable", "refused"]).sum()
    table = _table(part, rule)
    n_items = len(table.counts)
    if not n_items:
        return (None,) * 11 + (0, 0, 0, 0, unread, missing, NO_JUDGEMENTS)
    pass_both, judge_only, rules_only, fail_both = (float(each) for each in table.totals[0])
    n = pass_both + judge_only + rules_only + fail_both
    drawn = table.drawn(seed, n_boot) if n_items > 1 else None
    status = OK if drawn is not None else SINGLE_ITEM
    ends: list[float | None] = []
    for name, statistic in (("difference", _difference), ("accuracy", _accuracy), ("kappa", _kappa)):
        value = number(statistic(table.totals)[0])
        low, high = (None, None) if drawn is None else percentile_interval(statistic(drawn))
        if name == "accuracy" and value == 1.0 and drawn is not None:
            low, high = wilson_interval(1.0, n_items)
        if value is None or low is None or high is None:
            ends += [value, None, None]
        else:
            ends += [value, min(low, value), max(high, value)]
    if ends[6] is None:
        status = ONE_CATEGORY
    rates = ((pass_both + judge_only) / n, (pass_both + rules_only) / n)
    counts = tuple(int(each) for each in (n, n_items, judge_only, rules_only))
    return (*rates, *ends, *counts, unread, missing, status)


def _shift(base: Row, table: Table, seed: int, n_boot: int) -> Row:
    n_items = len(table.counts)
    if not n_items:
        return replace(base, status=NO_JUDGEMENTS)
    value = float(_difference(table.totals)[0])
    if n_items < 2:
        return replace(base, value=value, n=n_items, status=SINGLE_ITEM)
    draws = _difference(table.drawn(seed, n_boot))
    low, high = percentile_interval(draws)
    known = draws[~np.isnan(draws)]
    se = float(known.std())
    below, above = int((known <= 1e-12).sum()), int((known >= -1e-12).sum())
    return replace(
        base,
        value=value,
        se=number(se),
        low=None if low is None else min(low, value),
        high=None if high is None else max(high, value),
        statistic=number(value / se) if se else None,
        p=min(1.0, 2 * (min(below, above) + 1) / (len(known) + 1)),
        n=n_items,
        note=SELF if base.a == SELF else None,
    )


def _difference(totals: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        found: Floats = (totals[:, 1] - totals[:, 2]) / totals.sum(axis=1)
    return found


def _accuracy(totals: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        found: Floats = (totals[:, 0] + totals[:, 3]) / totals.sum(axis=1)
    return found


def _kappa(totals: Floats) -> Floats:
    """Return Cohen's kappa of each row of counts; NaN where both use one and the same category only."""
    n = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        judge, rules = (totals[:, 0] + totals[:, 1]) / n, (totals[:, 0] + totals[:, 2]) / n
        chance = judge * rules + (1 - judge) * (1 - rules)
        found: Floats = np.where(1 - chance > 1e-12, (_accuracy(totals) - chance) / (1 - chance), np.nan)
    return found

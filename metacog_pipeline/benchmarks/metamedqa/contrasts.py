"""Tests between models and between conditions, as the paper makes them and as shared items allow.

From the paper: one-way ANOVA with Tukey-Kramer across models, ANOVA with Fisher's LSD of each condition against the
baseline, and correlation and regression of the recalls on accuracy with and without models that overuse E. ANOVA takes
groups as independent although every group answers the same items, and LSD is not corrected. Added here: paired
differences with an item bootstrap and Holm's correction, McNemar, Cochran's Q.

Unit of chance: the item. Where an item was asked in several runs its mean over runs is one observation. Models that did
not finish are left out save on shared items, and simulated ones never meet measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, lost_items
from metacog_pipeline.benchmarks.metamedqa.board import E_SHARE_FLAG
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE
from metacog_pipeline.stats import exact, paired
from metacog_pipeline.stats.anova import Anova, anova, fisher_lsd, tukey_kramer
from metacog_pipeline.stats.anova import Comparison as Pair
from metacog_pipeline.stats.correlation import Regression, with_and_without
from metacog_pipeline.stats.effects import cohen_d
from metacog_pipeline.stats.multiple import holm

Ints = NDArray[np.int64]

N_BOOT = 1000
MOST_PAIRED = 25  # with more models each is compared with the best one only
# Measure -> which responses count, and their value.
_CORRECT = pl.col("correct").cast(pl.Float64)
_MEASURES: dict[str, tuple[pl.Expr, pl.Expr]] = {
    "accuracy": (pl.lit(True), _CORRECT),
    "missing_answer_recall": (pl.col("target") == "E", _CORRECT),
    "unknown_recall": (pl.col("target") == "F", _CORRECT),
    "high_confidence_accuracy": (pl.col("confidence") == 5, _CORRECT),
    "medium_confidence_accuracy": (pl.col("confidence").is_in([3, 4]), _CORRECT),
    "low_confidence_accuracy": (pl.col("confidence").is_in([1, 2]), _CORRECT),
    "mean_confidence": (pl.col("confidence").is_not_null(), pl.col("confidence").cast(pl.Float64)),
}
_PAIRED = ("accuracy", "missing_answer_recall", "unknown_recall")
_RECALLS = ("missing_answer_recall", "unknown_recall")


@dataclass(frozen=True, slots=True)
class Compared:
    """Responses whose groups are compared, one row per group and item.

    For every measure ``<measure>.sum`` and ``<measure>.n`` over the item's runs; ``e`` and ``rows`` for the share of E.
    Column ``group`` names the groups, which are ``models`` under a condition or ``conditions`` of a model; ``base`` is a
    comparison that says which.
    """

    what: str
    frame: pl.DataFrame
    groups: tuple[str, ...]
    base: Comparison

    def row(
        self, family: str, measure: str, a: str | None = None, b: str | None = None, **values: Any
    ) -> Comparison:
        """Return a comparison of two of the groups."""
        named = f"{family}_{self.what}"
        return replace(self.base, family=named, measure=measure, a=a, b=b, **values)


def _contrast(
    family: str, test: Callable[[Compared, int], Iterable[Comparison]], words: str, *, whole: bool = True
) -> Contrast:
    """Return the family over all sets of models under one condition and of conditions of one model."""

    def compute(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
        for compared in compared_sets(groups, whole=whole):
            yield from test(compared, benchmark.context.seed)

    return Contrast(
        family,
        compute,
        correction=None,
        paper="Statistical analysis",
        words=words,
        between_models=not whole,
    )


def compared_sets(groups: Sequence[Group], *, whole: bool = True) -> Iterator[Compared]:
    """Yield what is compared: models under each condition, then conditions of each model; ``whole``: finished ones."""
    complete = [group for group in groups if not group.n_failed or (not whole and group.rows.height)]
    if not complete:
        return
    named = [
        (group.frame if whole else group.rows).with_columns(source=pl.lit(group.source)) for group in complete
    ]
    ready = _per_item(pl.concat(named, how="diagonal_relaxed"))
    for what, column, held in (("models", "model", "condition"), ("conditions", "condition", "model")):
        for key, part in ready.partition_by("dataset", "source", held, as_dict=True).items():
            found = part.rename({column: "group"})
            names = found["group"].unique().sort().to_list()
            if BASELINE in names:
                names = [BASELINE, *(name for name in names if name != BASELINE)]
            base = Comparison("", "", dataset=key[0], source=key[1], **{held: key[2]})
            yield Compared(what, found, tuple(names), base)


def _per_item(responses: pl.DataFrame) -> pl.DataFrame:
    keys = ("dataset", "source", "condition", "model")
    found = responses.lazy().select(
        *keys,
        "position",
        item=pl.col("item_id").rank("dense"),
        e=(pl.col("answer") == "E").fill_null(False).cast(pl.Int64),
        rows=pl.lit(1, dtype=pl.Int64),
        **{name: pl.when(counts).then(value) for name, (counts, value) in _MEASURES.items()},
    )
    sums = {f"{name}.sum": pl.col(name).sum() for name in _MEASURES}
    numbers = {f"{name}.n": pl.col(name).count().cast(pl.Int64) for name in _MEASURES}
    if responses["run"].n_unique() <= 1:  # an item is asked once: nothing to add up
        sums = {f"{name}.sum": pl.col(name).fill_null(0) for name in _MEASURES}
        numbers = {f"{name}.n": pl.col(name).is_not_null().cast(pl.Int64) for name in _MEASURES}
        once = found.select(*keys, "item", "position", "e", "rows", **sums, **numbers)
        return once.sort(*keys, "position").drop("position").collect()
    totals = {"e": pl.col("e").sum(), "rows": pl.col("rows").sum(), **sums, **numbers}
    return found.group_by(*keys, "item").agg(**totals).sort(*keys, "item").collect()


# --- as in the paper --------------------------------------------------------------------------------------------------
def variance(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield one-way ANOVA and its pairs: Tukey-Kramer of models, Fisher's LSD of conditions against the baseline."""
    if len(compared.groups) < 2:
        return
    for measure in _MEASURES:
        result, n, mean, sd = _anova(compared, measure)
        tested: dict[str, Any] = {
            "statistic": result.f,
            "df1": result.df_between,
            "df2": result.df_error,
            "p": result.p,
        }
        yield compared.row("anova", measure, n=result.n, status=result.status, **tested)
        tukey = compared.what == "models"
        for pair in _tukey_pairs(result) if tukey else _against_baseline(result, compared.groups):
            i, j = pair.first, pair.second
            yield compared.row(
                "tukey" if tukey else "lsd",
                measure,
                compared.groups[i],
                compared.groups[j],
                value=pair.difference,
                statistic=pair.statistic,
                df2=result.df_error,
                p=pair.p,
                p_adjusted=pair.p if tukey else pair.p_holm,
                effect_size=cohen_d(n[i], mean[i], sd[i], n[j], mean[j], sd[j]).value,
                n=n[i] + n[j],
                note="family-wise p" if tukey else "p is uncorrected (LSD); p_adjusted is Holm's",
                status=pair.status,
            )


def _anova(compared: Compared, measure: str) -> tuple[Anova, list[int], list[float], list[float]]:
    value, number = pl.col(f"{measure}.sum"), pl.col(f"{measure}.n")
    mean = value / number
    summary = (
        compared.frame.filter(number > 0).group_by("group").agg(n=pl.len(), mean=mean.mean(), sd=mean.std())
    )
    found = {row[0]: row[1:] for row in summary.iter_rows()}
    rows = [found.get(name, (0, None, None)) for name in compared.groups]
    n, means, sds = ([row[place] or 0 for row in rows] for place in range(3))
    return anova(n, means, sds), n, means, sds


def _tukey_pairs(result: Anova) -> list[Pair]:
    """Return all pairs, or those with the best model where there are many; p stays family-wise over all pairs."""
    pairs = tukey_kramer(result)
    if len(result.groups.n) <= MOST_PAIRED:
        return list(pairs)
    best = int(np.argmax(result.groups.mean))
    return [pair for pair in pairs if best in (pair.first, pair.second)]


def _against_baseline(result: Anova, groups: Sequence[str]) -> tuple[Pair, ...]:
    return fisher_lsd(result, 0) if groups[0] == BASELINE else ()


def regression(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield recall on accuracy over groups: with all of them and, where some models overuse E, without those."""
    if len(compared.groups) < 3:
        return
    share = compared.frame.group_by("group").agg(share=pl.col("e").sum() / pl.col("rows").sum())
    overused = {name: f"E is {s:.1%} of all choices" for name, s in share.iter_rows() if s >= E_SHARE_FLAG}
    exclude = overused if compared.what == "models" else {}
    accuracy = dict(zip(compared.groups, _anova(compared, "accuracy")[2], strict=True))
    for recall in _RECALLS:
        _, sizes, means, _ = _anova(compared, recall)
        kept = [name for name, n in zip(compared.groups, sizes, strict=True) if n]
        if len(kept) < 3:
            continue
        recalls = dict(zip(compared.groups, means, strict=True))
        left_out = {place: exclude[name] for place, name in enumerate(kept) if name in exclude}
        x, y = [accuracy[name] for name in kept], [recalls[name] for name in kept]
        lines = with_and_without(x, y, left_out)
        yield _line(compared, recall, lines.with_all, exact.order_p(x, y), f"all {len(kept)} {compared.what}")
        if left_out:
            named = "; ".join(f"{kept[place]} ({reason})" for place, reason in left_out.items())
            rest = [place for place in range(len(kept)) if place not in left_out]
            p = exact.order_p([x[place] for place in rest], [y[place] for place in rest])
            yield _line(compared, recall, lines.without, p, f"without {named}")


def _line(compared: Compared, recall: str, line: Regression, p: float | None, note: str) -> Comparison:
    """``p``: of all orders, where there are few enough; otherwise that of t."""
    slope: dict[str, Any] = {"value": line.slope, "low": line.slope_low, "high": line.slope_high}
    tested: dict[str, Any] = {
        "statistic": line.correlation.r,
        "df2": line.df,
        "p": line.p if p is None else p,
        "n": line.n,
    }
    return compared.row(
        "correlation", recall, "accuracy", recall, **slope, **tested, note=note, status=line.status
    )


# --- over shared items ------------------------------------------------------------------------------------------------
def shared_items(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield tests over shared items: all pairs of models, or each condition with the baseline."""
    if len(compared.groups) < 2:
        return
    for measure in _PAIRED:
        hits, asked = _answers(compared, measure)
        if len(hits):
            yield from _paired(compared, measure, hits, asked, seed)


def _answers(compared: Compared, measure: str) -> tuple[Ints, Ints]:
    """Return right answers and answers asked, both items × groups."""
    asked_of = pl.col(f"{measure}.n")
    table = compared.frame.filter(asked_of > 0).select("group", "item", hits=f"{measure}.sum", asked=asked_of)
    names, items = np.unique(table["item"].to_numpy(), return_inverse=True)
    place = {name: number for number, name in enumerate(compared.groups)}
    group = table["group"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
    size = (len(names), len(compared.groups))
    hits, asked = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    hits[items, group] = table["hits"].to_numpy().astype(np.int64)
    asked[items, group] = table["asked"].to_numpy()
    return hits, asked


def _paired(compared: Compared, measure: str, hits: Ints, asked: Ints, seed: int) -> Iterator[Comparison]:
    single = int(asked.max()) == 1
    if single:
        q = paired.cochran_q(hits[(asked > 0).all(axis=1)])
        yield compared.row("cochran", measure, statistic=q.q, df1=q.df, p=q.p, n=q.n, status=q.status)
    rows, lone = [], []
    for i, j in _pairs(compared, hits, asked):
        names = compared.groups[i], compared.groups[j]
        found = paired.paired_difference_from_counts(
            hits[:, i], asked[:, i], hits[:, j], asked[:, j], N_BOOT, seed
        )
        d = found.difference
        note = None if found.p_bootstrap is None else f"bootstrap p {found.p_bootstrap:.4g}"
        p = found.p
        if p is not None and d.n <= exact.MOST_SWAPPED:
            p, note = _exact_p(hits, asked, i, j), exact.NOTE
        ends: dict[str, Any] = {"value": d.value, "low": d.low, "high": d.high, "p": p, "n": d.n}
        answered = np.count_nonzero(asked, axis=0)
        lost = lost_items(int(answered[i]), int(answered[j]), d.n)
        note = "; ".join(each for each in (note, lost) if each) or None
        rows.append(compared.row("paired", measure, *names, **ends, note=note, status=found.status))
        if single:
            both = (asked[:, i] > 0) & (asked[:, j] > 0)
            test = paired.mcnemar_from_data(hits[both, i], hits[both, j])
            note = f"only a right {test.first_only}, only b right {test.second_only}; mid-p"
            ends = {"value": d.value, "statistic": test.chi2, "p": test.p_mid, "n": test.n}
            lone.append(compared.row("mcnemar", measure, *names, **ends, note=note, status=test.status))
    for family in (rows, lone):
        adjusted = holm([row.p for row in family])
        yield from (replace(row, p_adjusted=p) for row, p in zip(family, adjusted, strict=True))


def _exact_p(hits: Ints, asked: Ints, i: int, j: int) -> float | None:
    both = (asked[:, i] > 0) & (asked[:, j] > 0)
    one, other = (np.column_stack([hits[both, k], asked[both, k]]).astype(np.float64) for k in (i, j))
    return exact.paired_p(one, other, lambda each: each[:, :, 0].sum(axis=1) / each[:, :, 1].sum(axis=1))


def _pairs(compared: Compared, hits: Ints, asked: Ints) -> list[tuple[int, int]]:
    groups = compared.groups
    if compared.what == "conditions":
        return [(place, 0) for place in range(1, len(groups))] if groups[0] == BASELINE else []
    if len(groups) <= MOST_PAIRED:
        return list(combinations(range(len(groups)), 2))
    best = int(np.argmax(hits.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)))
    return [(best, place) for place in range(len(groups)) if place != best]


CONTRASTS = (
    _contrast(
        "anova",
        variance,
        "Do the groups differ? Which pairs do (Tukey-Kramer), or which from the baseline (LSD)?",
    ),
    _contrast(
        "paired",
        shared_items,
        "The same on shared items: item bootstrap, McNemar, Cochran's Q; Holm's correction.",
        whole=False,
    ),
    _contrast("correlation", regression, "Do those with more accuracy recall more of what has no answer?"),
)

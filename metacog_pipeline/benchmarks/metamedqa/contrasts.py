"""Tests between models and between conditions, as the paper makes them and as shared items allow.

From the paper: one-way ANOVA with Tukey-Kramer across models, ANOVA with Fisher's LSD of each condition against the
baseline, and correlation and regression of the recalls on accuracy with and without models that overuse E. ANOVA takes
groups as independent although every group answers the same items, and LSD is not corrected. Added here: paired
differences with Holm's correction, McNemar, Cochran's Q.

Unit of chance: the item. Where an item was asked in several runs its mean over runs is one observation. Models that did
not finish are left out save on shared items, and simulated ones never meet measured ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, lost_items
from metacog_pipeline.benchmarks.metamedqa.board import E_SHARE_FLAG
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE
from metacog_pipeline.stats import exact, paired
from metacog_pipeline.stats.anova import Anova, anova, fisher_lsd, tukey_kramer
from metacog_pipeline.stats.anova import Comparison as Pair
from metacog_pipeline.stats.correlation import regression as line_through
from metacog_pipeline.stats.effects import cohen_d
from metacog_pipeline.stats.estimate import NO_ITEMS, SINGLE_ITEM
from metacog_pipeline.stats.multiple import holm
from metacog_pipeline.stats.paired_many import PairedShares, paired_shares
from metacog_pipeline.stats.ties import largest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_PAIRED = 25  # with more models Tukey's test shows each with the best one only
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


@dataclass(frozen=True)
class Compared:
    """Responses whose groups are compared, one row per group and item.

    For every measure ``<measure>.sum`` and ``<measure>.n`` over the item's runs; ``e`` and ``rows`` for the share of E.
    Column ``group`` names the groups, which are ``models`` under a condition or ``conditions`` of a model; ``named`` holds
    the fields of a comparison that say which.
    """

    what: str
    frame: pl.DataFrame
    groups: tuple[str, ...]
    named: Mapping[str, str]

    @cached_property
    def summary(self) -> dict[str, tuple[object, ...]]:
        """By group: how many items count, their mean and their standard deviation, of each measure in turn."""
        found: list[pl.Expr] = []
        for measure in _MEASURES:
            value, number = pl.col(f"{measure}.sum"), pl.col(f"{measure}.n")
            mean = (value / number).filter(number > 0)
            told = {"len": mean.len(), "mean": mean.mean(), "sd": mean.std()}
            found += [each.alias(f"{measure}.{name}") for name, each in told.items()]
        rows = self.frame.group_by("group").agg(found).select("group", pl.exclude("group"))
        return {row[0]: row[1:] for row in rows.iter_rows()}

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """Of each row: the place of its group, and the number of its item."""
        place = {name: number for number, name in enumerate(self.groups)}
        group = self.frame["group"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        return group, self.frame["item"].to_numpy().astype(np.int64)

    def row(
        self, family: str, measure: str, a: str | None = None, b: str | None = None, **values: Any
    ) -> Comparison:
        """Return a comparison of two of the groups."""
        return Comparison(f"{family}_{self.what}", measure, a, b, **{**self.named, **values})


def _contrast(
    family: str,
    test: Callable[[Compared, int], Iterable[Comparison]],
    words: str,
    what: Literal["models", "conditions"] = "models",
    *,
    whole: bool = True,
    unit: Literal["items", "models"] = "items",
) -> Contrast:
    """Return the family over all sets of models under one condition, or of conditions of one model."""

    def compute(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
        for compared in compared_sets(groups, what, whole=whole):
            yield from test(compared, benchmark.context.seed)

    return Contrast(
        family,
        compute,
        correction=None,
        within=("dataset", "source", "condition", "model", "family", "measure"),
        paper="Statistical analysis",
        words=words,
        unit=unit,
        by_model=what == "conditions",
    )


def compared_sets(groups: Sequence[Group], what: str, *, whole: bool = True) -> Sequence[Compared]:
    """Return what is compared: ``models`` under each condition, or ``conditions`` of each model; ``whole``: finished."""
    kept = [group for group in groups if not group.n_failed or (not whole and group.rows.height)]
    return _sets(tuple(kept), what, whole or not any(group.n_failed for group in kept))


# All families of models are of the same sets; those of conditions are computed for models that are new.
@lru_cache(maxsize=2)
def _sets(groups: tuple[Group, ...], what: str, whole: bool) -> tuple[Compared, ...]:
    if not groups:
        return ()
    column, held = ("model", "condition") if what == "models" else ("condition", "model")
    named = [
        (group.frame if whole else group.rows).with_columns(source=pl.lit(group.source)) for group in groups
    ]
    ready = _per_item(pl.concat(named, how="diagonal_relaxed"))
    found = []
    for key, part in ready.partition_by("dataset", "source", held, as_dict=True).items():
        own = part.rename({column: "group"})
        names = own["group"].unique().sort().to_list()
        if BASELINE in names:
            names = [BASELINE, *(name for name in names if name != BASELINE)]
        found.append(Compared(what, own, tuple(names), {"dataset": key[0], "source": key[1], held: key[2]}))
    return tuple(found)


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
        yield compared.row(
            "anova", measure, statistic=result.f, df1=result.df_between, df2=result.df_error, p=result.p, n=result.n,
            status=result.status,
        )  # fmt: skip
        tukey = compared.what == "models"
        for pair in _tukey_pairs(result) if tukey else _against_baseline(result, compared.groups):
            i, j = pair.first, pair.second
            yield compared.row(
                "tukey" if tukey else "lsd", measure, compared.groups[i], compared.groups[j],
                value=pair.difference, statistic=pair.statistic, df2=result.df_error,
                p=pair.p, p_adjusted=pair.p if tukey else pair.p_holm,
                effect_size=cohen_d(n[i], mean[i], sd[i], n[j], mean[j], sd[j]).value, n=n[i] + n[j],
                note="family-wise p" if tukey else "p is uncorrected (LSD); p_adjusted is Holm's",
                status=pair.status,
            )  # fmt: skip


def _anova(compared: Compared, measure: str) -> tuple[Anova, list[int], list[float], list[float]]:
    first = 3 * list(_MEASURES).index(measure)
    rows: list[Any] = [compared.summary[name][first : first + 3] for name in compared.groups]
    n, means, sds = ([row[place] or 0 for row in rows] for place in range(3))
    return anova(n, means, sds), n, means, sds


def _tukey_pairs(result: Anova) -> list[Pair]:
    """Return all pairs, or those with the best model where there are many; p stays family-wise over all pairs."""
    k = len(result.groups.n)
    if k <= MOST_PAIRED:
        return list(tukey_kramer(result))
    best = int(largest(result.groups.mean))
    return list(tukey_kramer(result, [(min(best, i), max(best, i)) for i in range(k) if i != best]))


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
        left_out = [name for name in kept if name in exclude]
        x, y = [accuracy[name] for name in kept], [recalls[name] for name in kept]
        yield _line(compared, recall, x, y, f"all {len(kept)} {compared.what}")
        if left_out:
            named = "; ".join(f"{name} ({exclude[name]})" for name in left_out)
            rest = [place for place, name in enumerate(kept) if name not in exclude]
            x, y = [x[place] for place in rest], [y[place] for place in rest]
            yield _line(compared, recall, x, y, f"without {named}")


def _line(compared: Compared, recall: str, x: list[float], y: list[float], note: str) -> Comparison:
    """p is that of all orders, where there are few enough; otherwise that of t."""
    line, p = line_through(x, y), exact.order_p(x, y)
    return compared.row(
        "correlation", recall, "accuracy", recall, value=line.slope, low=line.slope_low, high=line.slope_high,
        statistic=line.r, df2=line.df, p=line.p if p is None else p, n=line.n, note=note, status=line.status,
    )  # fmt: skip


# --- over shared items ------------------------------------------------------------------------------------------------
def shared_items(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield tests over shared items: Cochran's Q of all models, and each condition with the baseline."""
    for measure in _PAIRED if len(compared.groups) > 1 else ():
        hits, asked = answers(compared, measure)
        if not len(hits):
            continue
        if int(asked.max()) == 1:
            q = paired.cochran_q(hits[(asked > 0).all(axis=1)])
            yield compared.row("cochran", measure, statistic=q.q, df1=q.df, p=q.p, n=q.n, status=q.status)
        if compared.what == "conditions" and compared.groups[0] == BASELINE:
            pairs = [(place, 0) for place in range(1, len(compared.groups))]
            rows = list(rows_of_pairs(compared, measure, hits, asked, pairs))
            for family in ("paired_conditions", "mcnemar_conditions"):
                own = [row for row in rows if row.family == family]
                adjusted = holm([row.p for row in own])
                yield from (replace(row, p_adjusted=p) for row, p in zip(own, adjusted, strict=True))


def between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield the wanted pairs of models under every condition, on the items both answered."""
    for compared in compared_sets(groups, "models", whole=False):
        place = {name: number for number, name in enumerate(compared.groups)}
        pairs = [(place[a], place[b]) for a, b in wanted if a in place and b in place]
        for measure in _PAIRED if pairs else ():
            hits, asked = answers(compared, measure)
            yield from rows_of_pairs(compared, measure, hits, asked, pairs)


def answers(compared: Compared, measure: str) -> tuple[Ints, Ints]:
    """Return right answers and answers asked, both items × groups; items that nobody was asked are left out."""
    group, item = compared.places
    numbers = compared.frame[f"{measure}.n"].to_numpy().astype(np.int64)
    size = (int(item.max(initial=-1)) + 1, len(compared.groups))
    hits, asked = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    hits[item, group] = compared.frame[f"{measure}.sum"].to_numpy().astype(np.int64)
    asked[item, group] = numbers
    here = (asked > 0).any(axis=1)
    return hits[here], asked[here]


def rows_of_pairs(
    compared: Compared, measure: str, hits: Ints, asked: Ints, pairs: Sequence[tuple[int, int]]
) -> Iterator[Comparison]:
    """Yield the rows of pairs of groups: the difference with its interval and, of items asked once, McNemar's test."""
    if not len(hits) or not pairs:
        return
    found = paired_shares(hits, asked, pairs)
    given, runs = np.ascontiguousarray(hits.T), np.ascontiguousarray(asked.T)
    here = runs > 0
    own, once = here.sum(axis=1).tolist(), int(runs.max()) == 1
    for at, (i, j) in enumerate(pairs):
        n = int(found.n[at])
        both = here[i] & here[j]
        if n <= exact.MOST_SWAPPED:
            least = _exact_p(hits[both], asked[both], i, j)
        else:
            differ = ((given[i] != given[j]) | (runs[i] != runs[j])) & both
            least = exact.least_p(int(np.count_nonzero(differ)))
        names, lost = (compared.groups[i], compared.groups[j]), lost_items(own[i], own[j], n)
        yield compared.row("paired", measure, *names, n=n, **_difference(found, at, n, least, lost))
        if once or int(runs[[i, j]][:, both].max(initial=1)) == 1:
            yield compared.row("mcnemar", measure, *names, n=n, **_mcnemar(found, at, n))


def _difference(
    found: PairedShares, at: int, n: int, least: float | None, lost: str | None
) -> dict[str, Any]:
    """Return what a row says of one pair of ``n`` shared items; ``least``: the p of all exchanges where they are made, else
    the least that they give."""
    if n < 2:
        value = float(found.value[at]) if n else None
        return {"value": value, "note": lost, "status": SINGLE_ITEM if n else NO_ITEMS}
    p, note = None if np.isnan(found.p[at]) else float(found.p[at]), "score intervals of both, p of Wald's t"
    if p is not None and n <= exact.MOST_SWAPPED:
        p, note = least, exact.NOTE
    elif p is not None and least is not None:
        p = max(p, least)
    return {
        "value": float(found.value[at]),
        "low": float(found.low[at]),
        "high": float(found.high[at]),
        "p": p,
        "note": "; ".join(each for each in (note, lost) if each),
        "status": "ok" if found.sem[at] > 0 else paired.SAME_DIFFERENCE,
    }


def _mcnemar(found: PairedShares, at: int, n: int) -> dict[str, Any]:
    test = paired.mcnemar(int(found.first_only[at]), int(found.second_only[at]), n)
    note = f"only a right {test.first_only}, only b right {test.second_only}; mid-p"
    value = float(found.value[at]) if n else None
    return {"value": value, "statistic": test.chi2, "p": test.p_mid, "note": note, "status": test.status}


def _exact_p(hits: Ints, asked: Ints, i: int, j: int) -> float | None:
    one, other = (np.column_stack([hits[:, k], asked[:, k]]).astype(np.float64) for k in (i, j))
    return exact.paired_p(one, other, lambda each: each[:, :, 0].sum(axis=1) / each[:, :, 1].sum(axis=1))


_ANOVA = "Do the groups differ? Which pairs do (Tukey-Kramer), or which from the baseline (LSD)?"
_LINE = "Do those with more accuracy recall more of what has no answer?"
CONTRASTS = (
    _contrast("anova", variance, _ANOVA),
    _contrast("anova_conditions", variance, _ANOVA, "conditions"),
    Contrast(
        "paired_models",
        between_models,
        "holm",
        ("dataset", "source", "condition", "family", "measure"),
        words="Two models on the items both answered: difference of shares and McNemar's test.",
        version="3",
        between_models=True,
        pairs=True,
    ),
    _contrast("cochran", shared_items, "All models on shared items: Cochran's Q.", whole=False),
    _contrast(
        "paired_conditions",
        shared_items,
        "Conditions on shared items: differences, McNemar; Cochran's Q of all conditions.",
        "conditions",
        whole=False,
    ),
    _contrast("correlation", regression, _LINE, unit="models"),
    _contrast("correlation_conditions", regression, _LINE, "conditions", unit="models"),
)

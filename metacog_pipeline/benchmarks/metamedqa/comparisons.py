"""Tests between models and between conditions, as the paper makes them and as shared items allow.

From the paper: one-way ANOVA with Tukey-Kramer across models, ANOVA with Fisher's LSD of each condition against the
baseline, and correlation and regression of the recalls on accuracy with and without models that overuse E. ANOVA takes
groups as independent although every group answers the same items, and LSD is not corrected. Added here: paired
differences with an item bootstrap and Holm's correction, McNemar, Cochran's Q.

Unit of chance: the item. Where an item was asked in several runs its mean over runs is one observation. Models that did
not finish are left out, and simulated ones never meet measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.metamedqa.observe import BENCHMARK, UNANSWERED
from metacog_pipeline.benchmarks.metamedqa.prompts import BASELINE
from metacog_pipeline.benchmarks.metamedqa.scoring import E_SHARE_FLAG
from metacog_pipeline.stats.anova import Anova, Comparison, anova, fisher_lsd, tukey_kramer
from metacog_pipeline.stats.correlation import Regression, with_and_without
from metacog_pipeline.stats.effects import cohen_d
from metacog_pipeline.stats.multiple import holm, stars
from metacog_pipeline.stats.paired import cochran_q, mcnemar_from_data, paired_difference_from_counts

N_BOOT = 1000
MOST_PAIRED = 25  # with more models each is compared with the best one only
# Measure -> which observations count, and their value.
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
_GROUP_KEYS = ("dataset", "source", "condition", "model")
_PAIRED = ("accuracy", "missing_answer_recall", "unknown_recall")
_RECALLS = ("missing_answer_recall", "unknown_recall")


@dataclass(frozen=True, slots=True)
class _Row:
    """One test. ``a`` and ``b`` are what is compared; ``model`` or ``condition`` what is held fixed."""

    family: str
    measure: str
    a: str | None = None
    b: str | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    statistic: float | None = None
    df1: float | None = None
    df2: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    cohen_d: float | None = None
    n: int = 0
    note: str | None = None
    status: str = "ok"


_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "benchmark": pl.String,
    "dataset": pl.String,
    "condition": pl.String,
    "model": pl.String,
    "source": pl.String,
    "family": pl.String,
    "measure": pl.String,
    "a": pl.String,
    "b": pl.String,
    **dict.fromkeys(
        ("difference", "low", "high", "statistic", "df1", "df2", "p", "p_adjusted", "cohen_d"), pl.Float64
    ),
    "n": pl.Int64,
    "note": pl.String,
    "status": pl.String,
    "stars": pl.String,
}
COMPARISON_SCHEMA = pl.Schema(_TYPES)


@dataclass(frozen=True, slots=True)
class _Set:
    """Observations whose groups (models or conditions) are compared: column ``group`` names them."""

    frame: pl.DataFrame
    groups: tuple[str, ...]


def compare(
    observations: pl.DataFrame, *, seed: int, exclude: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return one row per test in `COMPARISON_SCHEMA`.

    Parameters
    ----------
    observations
        Rows of ``observe.OBSERVATION_SCHEMA`` of all models, runs and conditions.
    seed
        Of the bootstrap.
    exclude
        Models left out of the second correlation, with the reason. None: those whose share of E is 20 % or more.

    Notes
    -----
    Families: ``anova_models``, ``tukey_models``, ``paired_models``, ``mcnemar_models`` (one run only), ``cochran_models``,
    ``correlation_models`` and the same ending in ``_conditions`` with ``lsd_conditions`` for Tukey's. ``difference`` is
    a minus b, for a correlation the slope of b on a with ``statistic`` r. ``p_adjusted``: family-wise for Tukey, Holm's
    for the other pairs.
    """
    ready = _per_item(observations)
    rows: list[tuple[object, ...]] = []
    for (dataset, source, condition), part in ready.partition_by(
        "dataset", "source", "condition", as_dict=True
    ).items():
        models = _set(part, "model")
        tests = [*_between(models, "models", seed), *_model_correlations(models, exclude)]
        rows.extend(_finished(test, dataset, condition, None, source) for test in tests)
    for (dataset, source, model), part in ready.partition_by(
        "dataset", "source", "model", as_dict=True
    ).items():
        conditions = _set(part, "condition")
        tests = [*_between(conditions, "conditions", seed), *_correlations(conditions, "conditions", {})]
        rows.extend(_finished(test, dataset, None, model, source) for test in tests)
    return pl.DataFrame(rows, schema=COMPARISON_SCHEMA, orient="row")


def _finished(
    test: _Row, dataset: str, condition: str | None, model: str | None, source: str
) -> tuple[object, ...]:
    uncorrected = test.p_adjusted is None or test.family == "lsd_conditions"  # as the paper marks its Table 4
    mark = stars(test.p if uncorrected else test.p_adjusted)
    return (BENCHMARK, dataset, condition, model, source, *astuple(test), mark)


def _per_item(observations: pl.DataFrame) -> pl.DataFrame:
    """Return one row per group and item, of models and conditions without an unanswered item.

    For every measure ``<measure>.sum`` and ``<measure>.n`` over the item's runs; ``e`` and ``rows`` for the share of E.
    """
    unanswered = pl.col("status").is_in(UNANSWERED).any().over("dataset", "condition", "model")
    origin = pl.when((pl.col("source") == "simulated").any().over("model")).then(pl.lit("simulated"))
    found = observations.lazy().filter(~unanswered)
    found = found.select(
        *("dataset", "condition", "model", "run"),
        source=origin.otherwise(pl.lit("measured")),
        item=pl.col("item_id").rank("dense"),
        e=(pl.col("answer") == "E").fill_null(False).cast(pl.Int64),
        rows=pl.lit(1, dtype=pl.Int64),
        **{name: pl.when(counts).then(value) for name, (counts, value) in _MEASURES.items()},
    )
    sums = {f"{name}.sum": pl.col(name).sum() for name in _MEASURES}
    numbers = {f"{name}.n": pl.col(name).count().cast(pl.Int64) for name in _MEASURES}
    if observations["run"].n_unique() <= 1:  # an item is asked once: nothing to add up
        sums = {f"{name}.sum": pl.col(name).fill_null(0) for name in _MEASURES}
        numbers = {f"{name}.n": pl.col(name).is_not_null().cast(pl.Int64) for name in _MEASURES}
        return found.select(*_GROUP_KEYS, "item", "e", "rows", **sums, **numbers).sort(*_GROUP_KEYS).collect()
    totals = {"e": pl.col("e").sum(), "rows": pl.col("rows").sum(), **sums, **numbers}
    return found.group_by(*_GROUP_KEYS, "item").agg(**totals).sort(*_GROUP_KEYS, "item").collect()


def _set(frame: pl.DataFrame, column: str) -> _Set:
    named = frame.rename({column: "group"})
    groups = named["group"].unique().sort().to_list()
    if BASELINE in groups:
        groups = [BASELINE, *(name for name in groups if name != BASELINE)]
    return _Set(named, tuple(groups))


def _between(compared: _Set, suffix: str, seed: int) -> Iterator[_Row]:
    if len(compared.groups) < 2:
        return
    for measure in _MEASURES:
        result, n, mean, sd = _anova(compared, measure)
        yield _Row(
            f"anova_{suffix}",
            measure,
            statistic=result.f,
            df1=result.df_between,
            df2=result.df_error,
            p=result.p,
            n=result.n,
            status=result.status,
        )
        pairs = _tukey_pairs(result) if suffix == "models" else _against_baseline(result, compared.groups)
        family = "tukey_models" if suffix == "models" else "lsd_conditions"
        for pair in pairs:
            i, j = pair.first, pair.second
            effect = cohen_d(n[i], mean[i], sd[i], n[j], mean[j], sd[j]).value
            yield _pair_row(family, measure, compared.groups, pair, effect, n[i] + n[j], result.df_error)
    for measure in _PAIRED:
        yield from _paired(compared, suffix, measure, seed)


def _anova(compared: _Set, measure: str) -> tuple[Anova, list[int], list[float], list[float]]:
    value, number = pl.col(f"{measure}.sum"), pl.col(f"{measure}.n")
    mean = value / number
    summary = (
        compared.frame.filter(number > 0).group_by("group").agg(n=pl.len(), mean=mean.mean(), sd=mean.std())
    )
    found = {row[0]: row[1:] for row in summary.iter_rows()}
    rows = [found.get(name, (0, None, None)) for name in compared.groups]
    n, means, sds = ([row[place] or 0 for row in rows] for place in range(3))
    return anova(n, means, sds), n, means, sds


def _tukey_pairs(result: Anova) -> list[Comparison]:
    """Return all pairs, or those with the best model where there are many; p stays family-wise over all pairs."""
    pairs = tukey_kramer(result)
    if len(result.groups.n) <= MOST_PAIRED:
        return list(pairs)
    best = int(np.argmax(result.groups.mean))
    return [pair for pair in pairs if best in (pair.first, pair.second)]


def _against_baseline(result: Anova, groups: Sequence[str]) -> tuple[Comparison, ...]:
    return fisher_lsd(result, 0) if groups[0] == BASELINE else ()


def _pair_row(
    family: str,
    measure: str,
    groups: Sequence[str],
    pair: Comparison,
    effect: float | None,
    n: int,
    df_error: int,
) -> _Row:
    is_tukey = family == "tukey_models"
    return _Row(
        family,
        measure,
        groups[pair.first],
        groups[pair.second],
        pair.difference,
        statistic=pair.statistic,
        df2=df_error,
        p=pair.p,
        p_adjusted=pair.p if is_tukey else pair.p_holm,
        cohen_d=effect,
        n=n,
        note="family-wise p" if is_tukey else "p is uncorrected (LSD); p_adjusted is Holm's",
        status=pair.status,
    )


def _paired(compared: _Set, suffix: str, measure: str, seed: int) -> Iterator[_Row]:
    """Tests over shared items: all pairs of models, or each condition with the baseline."""
    hits, asked = _tables(compared, measure)
    if not len(hits):
        return
    single = int(asked.max()) == 1
    shared = (asked > 0).all(axis=1)
    if single:
        q = cochran_q(hits[shared])
        yield _Row(f"cochran_{suffix}", measure, statistic=q.q, df1=q.df, p=q.p, n=q.n, status=q.status)
    rows, lone = [], []
    for i, j in _pairs(compared.groups, suffix, hits, asked):
        first, second = compared.groups[i], compared.groups[j]
        found = paired_difference_from_counts(hits[:, i], asked[:, i], hits[:, j], asked[:, j], N_BOOT, seed)
        d = found.difference
        note = None if found.p_bootstrap is None else f"bootstrap p {found.p_bootstrap:.4g}"
        rows.append(
            _Row(
                f"paired_{suffix}",
                measure,
                first,
                second,
                d.value,
                d.low,
                d.high,
                p=found.p,
                n=d.n,
                note=note,
                status=found.status,
            )
        )
        if single:
            both = (asked[:, i] > 0) & (asked[:, j] > 0)
            test = mcnemar_from_data(hits[both, i], hits[both, j])
            counts = f"only a right {test.first_only}, only b right {test.second_only}; mid-p"
            lone.append(
                _Row(
                    f"mcnemar_{suffix}",
                    measure,
                    first,
                    second,
                    d.value,
                    statistic=test.chi2,
                    p=test.p_mid,
                    n=test.n,
                    note=counts,
                    status=test.status,
                )
            )
    for family in (rows, lone):
        adjusted = holm([row.p for row in family])
        yield from (replace(row, p_adjusted=p) for row, p in zip(family, adjusted, strict=True))


def _tables(compared: _Set, measure: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


def _pairs(
    groups: Sequence[str], suffix: str, hits: NDArray[np.int64], asked: NDArray[np.int64]
) -> list[tuple[int, int]]:
    if suffix == "conditions":
        return [(place, 0) for place in range(1, len(groups))] if groups[0] == BASELINE else []
    if len(groups) <= MOST_PAIRED:
        return list(combinations(range(len(groups)), 2))
    best = int(np.argmax(hits.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)))
    return [(best, place) for place in range(len(groups)) if place != best]


def _model_correlations(compared: _Set, exclude: Mapping[str, str] | None) -> Iterator[_Row]:
    if exclude is None:
        share = compared.frame.group_by("group").agg(share=pl.col("e").sum() / pl.col("rows").sum())
        exclude = {
            name: f"E is {s:.1%} of all choices"
            for name, s in share.sort("group").iter_rows()
            if s >= E_SHARE_FLAG
        }
    yield from _correlations(compared, "models", exclude)


def _correlations(compared: _Set, suffix: str, exclude: Mapping[str, str]) -> Iterator[_Row]:
    """Recall on accuracy over groups: with all of them and, where some are excluded, without those."""
    if len(compared.groups) < 3:
        return
    means = {
        measure: dict(zip(compared.groups, _anova(compared, measure)[2], strict=True))
        for measure in _MEASURES
    }
    sizes = {measure: _anova(compared, measure)[1] for measure in _RECALLS}
    for recall in _RECALLS:
        kept = [name for name, n in zip(compared.groups, sizes[recall], strict=True) if n]
        if len(kept) < 3:
            continue
        left_out = {place: exclude[name] for place, name in enumerate(kept) if name in exclude}
        lines = with_and_without(
            [means["accuracy"][name] for name in kept], [means[recall][name] for name in kept], left_out
        )
        yield _line_row(suffix, recall, lines.with_all, f"all {len(kept)} {suffix}")
        if left_out:
            named = "; ".join(f"{kept[place]} ({reason})" for place, reason in left_out.items())
            yield _line_row(suffix, recall, lines.without, f"without {named}")


def _line_row(suffix: str, recall: str, line: Regression, note: str) -> _Row:
    return _Row(
        f"correlation_{suffix}",
        recall,
        "accuracy",
        recall,
        line.slope,
        line.slope_low,
        line.slope_high,
        line.correlation.r,
        df2=line.df,
        p=line.p,
        n=line.n,
        note=note,
        status=line.status,
    )

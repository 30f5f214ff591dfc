"""Tests between models and between conditions, as the paper makes them and as shared items allow.

From the paper: one-way ANOVA with Tukey-Kramer across models, ANOVA with Fisher's LSD of each condition against the
baseline, and regression of the recalls on accuracy with and without models that overuse E. ANOVA takes groups as
independent although every group answers the same items, and LSD is not corrected. Added here: paired differences of shares
with Holm's correction, McNemar, Cochran's Q, and paired differences of d′ and criterion. The unit of chance is the item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from metacog_pipeline.benchmark.contract import Comparison, Contrast, Group, Question
from metacog_pipeline.benchmarks.metamedqa.items import BASELINE, E_SHARE_FLAG
from metacog_pipeline.benchmarks.metamedqa.measures import HEADLINE, SHARES, UNANSWERABLE
from metacog_pipeline.scoring.paired_tests import joined
from metacog_pipeline.stats import exact, intervals, paired, resampling
from metacog_pipeline.stats.anova import Anova, anova, cohen_d, fisher_lsd, tukey_kramer
from metacog_pipeline.stats.correlation import regression as line_through
from metacog_pipeline.stats.estimate import NO_ITEMS, OFTEN_UNDEFINED, OK, SINGLE_ITEM
from metacog_pipeline.stats.paired_many import paired_shares
from metacog_pipeline.stats.resampling import Z95
from metacog_pipeline.stats.ties import largest
from metacog_pipeline.stats.type1 import d_and_c

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pairs = Sequence[tuple[int, int]]

# with more models Tukey's test shows each with the best one only
MOST_PAIRED = 25
# resamples of the items, shared by all groups; p is Wald's: it has no floor under Holm over many pairs
N_DRAWS = 2000
# The recalls, and their false alarms.
_RECALLS = {"missing_answer_recall": "false_alarm_E", "unknown_recall": "false_alarm_F"}
_PAIRED = ("accuracy", *_RECALLS)
_OF_LEVELS = tuple(f"{level}_confidence_accuracy" for level in ("high", "medium", "low"))
_TESTED = (*_PAIRED, *_OF_LEVELS, "mean_confidence")


def _counted(name: str) -> tuple[pl.Expr, pl.Expr]:
    """Return which responses count in a share, and their value, by the codes of `measures.SHARES`."""
    _, _, top, only = next(share for share in SHARES if share[0] == name)
    counts, value = (
        pl.all_horizontal(pl.lit(True), *(pl.col(c) == v for c, v in each.items())) for each in (only, top)
    )
    return counts, value.cast(pl.Float64)


_COUNTED = {
    **{name: _counted(name) for name in (*_PAIRED, *_OF_LEVELS, *_RECALLS.values(), "choice_share_E")},
    "mean_confidence": (pl.col("confidence").is_not_null(), pl.col("confidence").cast(pl.Float64)),
}


@dataclass(frozen=True)
class Compared:
    """Responses whose groups are compared: ``models`` under a condition, or ``conditions`` of a model."""

    what: str
    groups: tuple[str, ...]
    # the fields of a comparison that say which
    named: Mapping[str, str]
    # a row per group and item, for every measure ``<measure>.sum`` and ``<measure>.n``
    frame: pl.DataFrame
    # items (× runs) of each group without an answer
    left_out: Mapping[str, int]

    def table(self, measure: str) -> tuple[Floats, Ints]:
        """Return sums and numbers of answers of a measure, items × groups."""
        item = self.frame["item"].to_numpy().astype(np.int64) - 1
        at = item, self.frame["group"].replace_strict(self.groups, range(len(self.groups))).to_numpy()
        size = (int(item.max(initial=-1)) + 1, len(self.groups))
        sums, numbers = np.zeros(size), np.zeros(size, dtype=np.int64)
        sums[at], numbers[at] = self.frame[f"{measure}.sum"].to_numpy(), self.frame[f"{measure}.n"].to_numpy()
        return sums, numbers

    def row(
        self, family: str, measure: str, a: str | None = None, b: str | None = None, **values: Any
    ) -> Comparison:
        """Return a comparison of two of the groups, or of all of them, with what was left out."""
        sides = [name for name in self.groups if name in (a, b)] or self.groups
        missing = ", ".join(f"{n} of {name}" for name in sides if (n := self.left_out[name]))
        note = joined(values.pop("note", None), f"left out: {missing} without an answer" if missing else None)
        return Comparison(f"{family}_{self.what}", measure, a, b, note=note, **{**self.named, **values})


def compared_sets(groups: Sequence[Group], what: str) -> Iterator[Compared]:
    """Yield what is compared: ``models`` under each condition, or ``conditions`` of each model."""
    column, held = ("model", "condition") if what == "models" else ("condition", "model")
    # Simulated models never meet measured ones.
    keys, kept = ("dataset", "source", held), [group for group in groups if group.rows.height]
    if not kept:
        return
    rows = pl.concat([g.rows.with_columns(source=pl.lit(g.source)) for g in kept], how="diagonal_relaxed")
    for key, part in _per_item(rows).partition_by(keys, as_dict=True).items():
        here = [group for group in kept if tuple(getattr(group, name) for name in keys) == key]
        own = {getattr(group, column): group.n_failed for group in here}
        names = sorted(own, key=lambda name: (name != BASELINE, name))
        named = dict(zip(keys, key, strict=True))
        yield Compared(what, tuple(names), named, part.rename({column: "group"}), own)


def _per_item(responses: pl.DataFrame) -> pl.DataFrame:
    """Return sums and numbers of each measure: over the runs of an item, whose mean is one observation."""
    keys = ("dataset", "source", "condition", "model")
    counted = {name: pl.when(counts).then(value) for name, (counts, value) in _COUNTED.items()}
    found = responses.lazy().select(*keys, item=pl.col("item_id").rank("dense"), **counted)
    sums = {f"{name}.sum": pl.col(name).sum() for name in _COUNTED}
    numbers = {f"{name}.n": pl.col(name).count().cast(pl.Int64) for name in _COUNTED}
    return found.group_by(*keys, "item").agg(**sums, **numbers).sort(*keys, "item").collect()


# --- as in the paper --------------------------------------------------------------------------------------------------
def variance(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield ANOVA and its pairs, Tukey-Kramer of models or Fisher's LSD against the baseline, and Cochran's Q."""
    tukey, names = compared.what == "models", compared.groups
    for measure in _TESTED if len(names) > 1 else ():
        result = _anova(compared, measure)
        size, mean, sd = result.groups.n, result.groups.mean, result.groups.sd
        yield compared.row(
            "anova", measure, statistic=result.f, df1=result.df_between, df2=result.df_error, p=result.p, n=result.n,
            status=result.status,
        )  # fmt: skip
        k, best = len(size), int(largest(mean))
        # Of many models the pairs with the best one; p stays family-wise over all pairs.
        wanted = None if k <= MOST_PAIRED else [(min(best, i), max(best, i)) for i in range(k) if i != best]
        pairs = tukey_kramer(result, wanted) if tukey else ()
        if not tukey and names[0] == BASELINE:
            pairs = fisher_lsd(result, 0)
        for pair in pairs:
            one, other = ((size[at], mean[at], sd[at]) for at in (pair.first, pair.second))
            yield compared.row(
                "tukey" if tukey else "lsd", measure, names[pair.first], names[pair.second],
                value=pair.difference, statistic=pair.statistic, df2=result.df_error,
                p=pair.p, p_adjusted=pair.p if tukey else pair.p_holm,
                effect_size=cohen_d(*one, *other).value, n=one[0] + other[0],
                note="family-wise p" if tukey else "p is uncorrected (LSD); p_adjusted is Holm's",
                status=pair.status,
            )  # fmt: skip
        hits, asked = compared.table(measure)
        if measure in _PAIRED and int(asked.max(initial=0)) == 1:
            q = paired.cochran_q(hits[(asked > 0).all(axis=1)].astype(np.int64))
            yield compared.row("cochran", measure, statistic=q.q, df1=q.df, p=q.p, n=q.n, status=q.status)


def _anova(compared: Compared, measure: str) -> Anova:
    sums, numbers = compared.table(measure)
    samples = [total[times > 0] / times[times > 0] for total, times in zip(sums.T, numbers.T, strict=True)]
    mean = [float(values.mean()) if len(values) else 0.0 for values in samples]
    sd = [float(values.std(ddof=1)) if len(values) > 1 else 0.0 for values in samples]
    return anova([len(values) for values in samples], mean, sd)


def regression(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield recall on accuracy over models: with all of them and, where some overuse E, without those."""
    chosen, asked = (each.sum(axis=0) for each in compared.table("choice_share_E"))
    over = {at: each for at, each in enumerate(chosen / asked) if each >= E_SHARE_FLAG}
    accuracy = _anova(compared, "accuracy").groups.mean
    for recall in _RECALLS:
        groups = _anova(compared, recall).groups
        kept = [at for at, n in enumerate(groups.n) if n]
        sets = [(kept, f"all {len(kept)} models")]
        eager = [f"{compared.groups[at]} (E is {over[at]:.1%} of all choices)" for at in over if at in kept]
        if eager:
            sets.append(([at for at in kept if at not in over], f"without {'; '.join(eager)}"))
        for own, note in sets if len(kept) >= 3 else ():
            x, y = [accuracy[at] for at in own], [groups.mean[at] for at in own]
            # p of all orders, where there are few enough
            line, p = line_through(x, y), exact.order_p(x, y)
            yield compared.row(
                "correlation", recall, "accuracy", recall, value=line.slope, low=line.slope_low, high=line.slope_high,
                statistic=line.r, df2=line.df, p=line.p if p is None else p, n=line.n, note=note, status=line.status,
            )  # fmt: skip


# --- over shared items ------------------------------------------------------------------------------------------------
def against_baseline(compared: Compared, seed: int) -> Iterator[Comparison]:
    """Yield the tests of variance, and each condition against the baseline on the items both were answered under."""
    yield from variance(compared, seed)
    if compared.groups[0] == BASELINE:
        yield from on_shared_items(compared, [(place, 0) for place in range(1, len(compared.groups))], seed)


def between_models(
    benchmark: Any, groups: Sequence[Group], wanted: Collection[tuple[str, str]]
) -> Iterator[Comparison]:
    """Yield the wanted pairs of models under every condition, on the items both answered."""
    for compared in compared_sets(groups, "models"):
        place = {name: number for number, name in enumerate(compared.groups)}
        pairs = [(place[a], place[b]) for a, b in wanted if a in place and b in place]
        yield from on_shared_items(compared, pairs, benchmark.seed)


def on_shared_items(compared: Compared, pairs: Pairs, seed: int) -> Iterator[Comparison]:
    """Yield differences of shares, McNemar's test where items were asked once, and differences of d′ and criterion."""
    if not pairs:
        return
    for measure in _PAIRED:
        sums, asked = compared.table(measure)
        here = (asked > 0).any(axis=1)
        if here.any():
            yield from _shares(compared, measure, sums[here].astype(np.int64), asked[here], pairs)
    yield from _detections(compared, pairs, seed)


def _shares(compared: Compared, measure: str, hits: Ints, asked: Ints, pairs: Pairs) -> Iterator[Comparison]:
    # All pairs at once: 100 models have 4,950.
    found = paired_shares(hits, asked, pairs)
    for at, (i, j) in enumerate(pairs):
        names, n = (compared.groups[i], compared.groups[j]), int(found.n[at])
        here = (asked[:, [i, j]] > 0).all(axis=1)
        one, other = (np.column_stack([hits[here, k], asked[here, k]]).astype(np.float64) for k in (i, j))
        value = float(found.value[at]) if n else None
        said: dict[str, Any] = {"value": value, "status": SINGLE_ITEM if n else NO_ITEMS}
        if n > 1:
            p, note = _p_of_pair(float(found.p[at]), one, other)
            status = OK if found.sem[at] > 0 else paired.SAME_DIFFERENCE
            low, high = float(found.low[at]), float(found.high[at])
            said = {"value": value, "low": low, "high": high, "p": p, "note": note, "status": status}
        yield compared.row("paired", measure, *names, n=n, **said)
        if int(asked[here][:, [i, j]].max(initial=1)) == 1:
            test = paired.mcnemar(int(found.first_only[at]), int(found.second_only[at]), n)
            note = f"only a right {test.first_only}, only b right {test.second_only}; mid-p"
            yield compared.row(
                "mcnemar", measure, *names, n=n, value=value, statistic=test.chi2, p=test.p_mid, note=note,
                status=test.status,
            )  # fmt: skip


def _p_of_pair(wald: float, one: Floats, other: Floats) -> tuple[float | None, str]:
    """Return p and its note, of right answers and answers asked for (columns) on the items that both answered."""
    note = "score intervals of both, p of Wald's t"
    if np.isnan(wald):
        return None, note
    # never below the least p that all exchanges can give
    if len(one) > exact.MOST_SWAPPED:
        return max(wald, exact.least_p(int((one != other).any(axis=1).sum()))), note
    p = exact.paired_p(one, other, lambda each: each[:, :, 0].sum(axis=1) / each[:, :, 1].sum(axis=1))
    return p, exact.NOTE


def _detections(compared: Compared, pairs: Pairs, seed: int) -> Iterator[Comparison]:
    """Yield the differences of d′ and criterion of E, of F and of their means, both sides on the same resampled items."""
    tables = {name: compared.table(name) for pair in _RECALLS.items() for name in pair}
    answered = compared.table("accuracy")[1] > 0
    stream = resampling.stream("metamedqa", seed, "detection", *compared.named.values())
    drawn = resampling.weights(len(answered), N_DRAWS, stream)
    # the sample itself, then its resamples
    weights = np.vstack([np.ones(len(answered)), drawn])

    @cache  # most pairs of models share all items: then a model is computed once
    def detected(at: int, shared: bytes) -> tuple[Floats, Floats]:
        return _detected(tables, weights, np.frombuffer(shared, dtype=bool), at)

    for i, j in pairs:
        shared: NDArray[np.bool_] = answered[:, i] & answered[:, j]
        first, second = (detected(at, shared.tobytes()) for at in (i, j))
        numbers = {name: int((times[shared, i] > 0).sum()) for name, (_, times) in tables.items()}
        draws, unseen = first[0] - second[0], first[1] + second[1]
        signals, noise = [numbers[name] for name in _RECALLS], numbers["false_alarm_E"]
        kinds = [
            *zip(UNANSWERABLE, draws, unseen, signals, strict=True),
            ("unanswerable", draws.mean(axis=0), unseen.mean() / 2, sum(signals) if all(signals) else 0),
        ]
        for name, both, variance_unseen, signal in kinds:
            n = signal + noise if signal and noise else 0
            for letter, own, part in zip("dc", both.T, (1.0, 0.25), strict=True):
                values = _shift(own, float(variance_unseen) * part, n)
                sides = (compared.groups[i], compared.groups[j])
                yield compared.row("paired", f"{letter}_{name}", *sides, n=n, **values)


def _detected(
    tables: Mapping[str, tuple[Floats, Ints]], weights: Floats, shared: NDArray[np.bool_], at: int
) -> tuple[Floats, Floats]:
    """Return d′ and c of a group, kinds × draws × 2, and by kind the variance of d′ that resamples do not show."""
    values, unseen = [], []
    for pair in _RECALLS.items():
        said, signal, alarms, noise = (
            weights[:, shared] @ each[shared, at] for name in pair for each in tables[name]
        )
        values.append(np.column_stack(d_and_c(said, signal - said, alarms, noise - alarms)))
        unseen.append(_unseen(said[0], signal[0]) + _unseen(alarms[0], noise[0]))
    return np.array(values), np.array(unseen)


def _unseen(k: float, n: float) -> float:
    """Return the delta method's variance of z of a padded rate of 0 or 1: what was never seen is never drawn."""
    if 0 < k < n or not n:
        return 0.0
    rate = (k + 0.5) / (n + 1)
    return float(rate * (1 - rate) * 2 * np.pi * np.exp(ndtri(rate) ** 2) / (n + 1))


def _shift(draws: Floats, unseen: float, n: int) -> dict[str, Any]:
    """Return what a row says of a difference: the first of ``draws`` is the sample, the others its resamples."""
    if not n:
        return {"status": NO_ITEMS}
    found = resampling.difference(float(draws[0]), draws[1:], wald=True)
    value, note = found.value, "items resampled, p from the interval"
    if found.low is None or found.high is None:
        return {"value": value, "note": note, "status": OFTEN_UNDEFINED}
    below, above = (float(np.hypot(end - value, Z95 * np.sqrt(unseen))) for end in (found.low, found.high))
    low, high = value - below, value + above
    p, status = intervals.p_of(value, low, high), paired.SAME_DIFFERENCE if low == high else OK
    return {"value": value, "low": low, "high": high, "p": p, "note": note, "status": status}


def _contrast(
    family: str,
    test: Callable[[Compared, int], Iterator[Comparison]],
    words: str,
    what: Literal["models", "conditions"] = "models",
    unit: Literal["items", "models"] = "items",
) -> Contrast:
    """Return the family over all sets of models under one condition, or of conditions of one model."""

    def compute(benchmark: Any, groups: Sequence[Group]) -> Iterator[Comparison]:
        for compared in compared_sets(groups, what):
            yield from test(compared, benchmark.seed)

    return Contrast(
        family, compute, correction=None, within=("dataset", "source", "condition", "model", "family", "measure"),
        words=words, unit=unit, by_model=what == "conditions", version="2",
    )  # fmt: skip


_LINE = "Do those with more accuracy recall more of what has no answer?"
_CONDITIONS = (
    "Do the conditions differ (ANOVA, Cochran's Q)? Which from the baseline (LSD; on shared items differences of shares, "
    "d′ and criterion, McNemar)?"
)
_PAIRS = "Two models on the items both answered: differences of shares, d′ and criterion, and McNemar's test."
CONTRASTS = (
    _contrast("anova", variance, "Do the models differ (ANOVA, Cochran's Q)? Which pairs do (Tukey-Kramer)?"),
    _contrast("anova_conditions", against_baseline, _CONDITIONS, "conditions"),
    Contrast(
        "paired_models", between_models, "holm", ("dataset", "source", "condition", "family", "measure"), words=_PAIRS,
        version="4", between_models=True, pairs=True,
    ),
    _contrast("correlation", regression, _LINE, unit="models"),
)  # fmt: skip
QUESTIONS = (
    Question(
        "Does one model see better than another what cannot be answered?",
        ("paired_models", HEADLINE),
        ("mcnemar_models", "tukey_models", "anova_models", "cochran_models"),
        verdict="unanswerable",
    ),
    Question(
        "Does a model see better what cannot be answered when it is asked in another way, or does it only say so more?",
        ("paired_conditions", HEADLINE),
        ("mcnemar_conditions", "lsd_conditions", "anova_conditions", "cochran_conditions"),
    ),
    Question(
        "Do models that are right more often also notice more questions without an answer?",
        ("correlation_models", "unknown_recall"),
        unit="models",
    ),
)

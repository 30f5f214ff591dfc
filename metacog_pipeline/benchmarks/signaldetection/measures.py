"""What is measured: shares, sensitivity and criterion, confidence, meta-d′ by maximum likelihood and by posterior.

Accuracy is over all answers; one without a readable response counts as wrong, and in nothing else. A response without a
readable confidence counts everywhere except in the measures of confidence. The item is the unit of chance: an item is
resampled with all its runs; the Bayesian fits alone take trials as independent, as the paper does.

Rates of 0 and 1 have no z, so d′ and c are of log-linear corrected rates in every group alike (Hautus 1995), and meta-d′
of counts + 1/(2K). A number that the correction alone would make is not shown: a model that only ever gave one response has
no d′, and counts that say nothing of meta-d′ (`stats.identifiability`) have no meta-d′.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Estimate, Group, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.groups import Counts, Floats
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.files import canonical_json, sha256_hex, write_text
from metacog_pipeline.scoring.measures import Detection, share
from metacog_pipeline.stats import identifiability, resampling
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.bayes.sampler import CONVERGED
from metacog_pipeline.stats.bayes.single import CHAINS, bayes_metad
from metacog_pipeline.stats.counts import Counts as RatedCounts
from metacog_pipeline.stats.counts import padded
from metacog_pipeline.stats.estimate import NO_ITEMS, OFTEN_UNDEFINED, unavailable
from metacog_pipeline.stats.identifiability import gated
from metacog_pipeline.stats.intervals import sem_interval
from metacog_pipeline.stats.meta_information import meta_information
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.type1 import type1_from_table

Bound = Benchmark[Any, Any, Any]
Estimates = dict[str, Estimate]
# Of every group alike: a correction of extreme rates alone would favour the models that have them.
CORRECTION = "loglinear"
TYPE1, META_D = ("d", "c", "c_prime"), ("meta_d", "m_ratio")
METHOD = "ml on counts + 1/(2K), item bootstrap"
METHOD_BITS = "plug-in, less its mean excess in resamples of items"
METHOD_BAYES = "bayes, d' estimated"


def rated(condition: str) -> bool:
    """Whether the condition asks for a confidence."""
    return condition == CONFIDENCE


# --- counts ---------------------------------------------------------------------------------------------------------------
#: What is counted of a response; ``_cell`` decides the order, and so the resamples.
CODED = ("_cell", "stimulus", "response", "_right")
TRIALS = Detection(("stimulus", 1), ("response", 1))
N_BOOT = 1000  # resamples of items for every interval


def with_cells(responses: pl.DataFrame, ratings: int) -> pl.DataFrame:
    """Return responses with their cell and ``_right``, 0 without a readable response."""
    # Within one stimulus the cells are, for K ratings: 0 .. 2K-1 responses from "S1, K" over "S1, 1", "S2, 1" to "S2, K";
    # 2K, 2K+1 responses S1, S2 without a confidence; 2K+2 no readable response. Stimulus S2 follows S1.
    said, level = pl.col("response"), pl.col("confidence")
    rated = pl.when(said == 1).then(ratings + level - 1).otherwise(ratings - level)
    without = pl.when(said.is_null()).then(2 * ratings + 2).otherwise(2 * ratings + said)
    cell = pl.when(said.is_not_null() & level.is_between(1, ratings)).then(rated).otherwise(without)
    cell = cell.cast(pl.Int64) + pl.col("stimulus").cast(pl.Int64) * (2 * ratings + 3)
    right = (said == pl.col("stimulus")).fill_null(False)
    return responses.with_columns(_cell=cell, _right=right.cast(pl.Int8))


@dataclass(frozen=True, eq=False)
class Trials:
    """The answered responses of a group by `CODED`, items being the unit; ``stream`` is the seed of their resamples."""

    ratings: int
    counts: Counts
    stream: int

    @cached_property
    def draws(self) -> Floats:
        """Totals of resampled items, ``(N_BOOT, combinations)``."""
        each = np.eye(len(self.counts.totals), dtype=np.int64)
        alone = resampling.Patterns(each, self.counts.patterns.totals)
        return resampling.patterns(self.counts.patterns if self.clustered else alone, N_BOOT, self.stream)

    def outcomes(self, totals: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return hits, misses, false alarms and correct rejections of ``totals``, ``(..., combinations)``."""
        hits, misses, alarms, rejections = np.moveaxis(totals @ TRIALS.weights(self.counts), -1, 0)
        return hits, misses, alarms, rejections

    def rated(self, totals: Floats) -> RatedCounts:
        """Return the rated trials of ``totals`` ``(tables, combinations)``."""
        k2, cell = 2 * self.ratings, self.counts.codes["_cell"][:, None]
        cells = totals @ (cell == [*range(k2), *range(k2 + 3, 2 * k2 + 3)]).astype(np.float64)
        return RatedCounts(cells[:, :k2], cells[:, k2:])

    @cached_property
    def table(self) -> RatedCounts:
        """The rated trials, one table."""
        return self.rated(self.counts.totals[None])

    @property
    def clustered(self) -> bool:
        """Whether an item was asked more than once."""
        return int(self.counts.totals.sum()) > self.counts.patterns.n_items


def trials_of(group: Group) -> Trials:
    """Return the answered responses of a group, counted."""
    benchmark: Any = group.benchmark
    return Trials(benchmark.wording.ratings, group.counts, benchmark.stream(*group.key))


# --- sensitivity and criterion --------------------------------------------------------------------------------------------
def no_type1(hits: float, misses: float, false_alarms: float, rejections: float) -> str | None:
    """Return why these outcomes have neither d′ nor c; None where they do."""
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS
    if 0 in (hits + misses, false_alarms + rejections):
        return f"no responses to stimulus S{2 if hits + misses == 0 else 1}"
    one = 0 in (hits + false_alarms, misses + rejections)
    return "one response only: the model never gave the other" if one else None


def type1_draws(hits: Floats, misses: Floats, false_alarms: Floats, rejections: Floats) -> dict[str, Floats]:
    """Return d′, c and c′ of resamples ``(B,)``, NaN where only one response was given."""
    given = (hits + false_alarms > 0) & (misses + rejections > 0)
    table = type1_from_table(hits, misses, false_alarms, rejections, CORRECTION)
    return {name: np.where(given, getattr(table, name), np.nan) for name in TYPE1}


def type1_estimates(trials: Trials) -> Estimates:
    """Return d′, c and c′: delta-method intervals with one answer per item, else of resampled items."""
    outcomes = trials.outcomes(trials.counts.totals)
    n, clustered = round(float(sum(outcomes))), trials.clustered
    # Answers of one item in several runs are no independent trials, which the delta method takes them for.
    method = f"{'item bootstrap' if clustered else 'delta'}, correction {CORRECTION}"
    if (why := no_type1(*map(float, outcomes))) is not None:
        return {name: unavailable(n, method, why) for name in TYPE1}
    table = type1_from_table(*outcomes, CORRECTION)
    # its own n holds the correction
    found = {name: replace(table.estimate(name), n=n) for name in TYPE1}
    if clustered:
        drawn = type1_draws(*trials.outcomes(trials.draws))
        for name, own in found.items():
            if own.value is not None:
                found[name] = _percentile(own.value, drawn[name], n, method)
    return found | {"c_prime": gated(found["c_prime"], found["d"].low, found["d"].high)}


def _percentile(value: float, drawn: Floats, n: int, method: str) -> Estimate:
    usable = int(np.isfinite(drawn).sum())
    few = f", {usable} of {len(drawn)} usable" if usable < len(drawn) else ""
    return resampling.from_draws(value, drawn, n, method + few)


def criterion_shifts(benchmark: Bound, groups: Sequence[Group]) -> list[Estimates]:
    """Return ``criterion_shift`` of the groups of ``risk_s2`` whose counterpart under ``risk_s1`` has a criterion."""
    c: dict[tuple[Any, ...], Estimate] = {}
    for group in groups:
        # Runs are no pairs: the third under one condition has nothing to do with the third under the other.
        if group.run is None and group.condition in ("risk_s1", "risk_s2"):
            key = (group.dataset, group.task, group.model, group.condition)
            c[key] = type1_estimates(trials_of(group))["c"]
    found: list[Estimates] = []
    for group in groups:
        of = (group.dataset, group.task, group.model)
        one, two = c.get((*of, "risk_s1")), c.get((*of, "risk_s2"))
        found.append(_shift(one, two) if group.condition == "risk_s2" and one and two else {})
    return found


def _shift(one: Estimate, two: Estimate) -> Estimates:
    if one.value is None or two.value is None:
        return {}
    value, sem = two.value - one.value, math.hypot(one.sem or 0.0, two.sem or 0.0)
    method = "c(risk_s2) - c(risk_s1), conditions taken as independent"
    shift = Estimate(value, *sem_interval(value, sem), one.n + two.n, method, sem=sem)
    return {"criterion_shift": shift}


# --- confidence, and meta-d′ by maximum likelihood ------------------------------------------------------------------------
def _silent(table: RatedCounts) -> str | None:
    outcomes = (table.hits, table.misses, table.false_alarms, table.correct_rejections)
    return no_type1(*(float(each[0]) for each in outcomes))


def no_meta_d(table: RatedCounts) -> str | None:
    """Return why one table has no meta-d′: its counts, before anything is added, or the fit; None where it has one."""
    return _silent(table) or fit_metad(padded(table)).withheld[0] or None


def _no_information(table: RatedCounts) -> str | None:
    right, wrong = table.by_confidence
    status = str(identifiability.statuses(right[:, None], wrong[:, None])[0])
    nothing = (identifiability.ALL_CORRECT, identifiability.ALL_WRONG, identifiability.UNIDENTIFIED)
    return _silent(table) or (identifiability.REASONS[status] if status in nothing else None)


def confidence_estimates(trials: Trials) -> Estimates:
    """Return AUROC2, and the signed meta-I, I(correct; response, confidence) in bits (Dayan 2023)."""
    k, place = trials.ratings, trials.counts.codes["_cell"] % (2 * trials.ratings + 3)
    # from 0
    level = np.where(place < k, k - place - 1, place - k)
    cell = np.where(place < 2 * k, 2 * level + trials.counts.codes["_right"], -1)
    found = {"auroc2": auroc_from_patterns(trials.counts.patterns.collapse(cell, 2 * k))}
    n = int(trials.table.n[0])
    if (why := _no_information(trials.table)) is not None:
        return found | {"meta_information": unavailable(n, METHOD_BITS, why)}
    value = float(meta_information(trials.table).meta_i_signed[0])
    drawn = meta_information(trials.rated(trials.draws)).meta_i_signed
    usable, (low, high) = resampling.usable(drawn), resampling.interval(drawn)
    if usable is None or low is None or high is None:
        return found | {"meta_information": Estimate(value, None, None, n, "plug-in", OFTEN_UNDEFINED)}
    # Resampling items adds about as much to a plug-in value as sampling them did: so the mean excess of the resamples is
    # subtracted, and the interval is theirs reflected at the plug-in value. The rest may lie below 0.
    numbers = 2 * value - float(usable.mean()), 2 * value - high, 2 * value - low
    return found | {"meta_information": Estimate(*numbers, n, METHOD_BITS, sem=float(usable.std(ddof=1)))}


def meta_d_draws(tables: RatedCounts) -> dict[str, Floats]:
    """Return meta-d′, M-ratio and d′ of ``tables``, NaN where a fit has no number."""
    # Padded: with empty cells, which resamples often have, meta-d′ runs to the bound of its search.
    found = fit_metad(padded(tables))
    return {"meta_d": found.meta_da, "m_ratio": found.m_ratio, "d": found.meta_da - found.m_diff}


def meta_d_estimates(trials: Trials) -> Estimates:
    """Return meta-d′ and M-ratio."""
    n = int(trials.table.n[0])
    if why := no_meta_d(trials.table):
        return {name: unavailable(n, METHOD, why) for name in META_D}
    values, drawn = meta_d_draws(trials.table), meta_d_draws(trials.rated(trials.draws))
    found = {name: _percentile(float(values[name][0]), drawn[name], n, METHOD) for name in META_D}
    d = drawn["d"]
    return found | {"m_ratio": gated(found["m_ratio"], *resampling.interval(d[np.isfinite(d)]))}


# --- meta-d′ by posterior -------------------------------------------------------------------------------------------------
# raised when the same counts and seed would give other draws
MODEL_VERSION = "4"
DRAWS, MOST_PER_CHAIN = 4000, 500
KEPT = ("d1", "c1", "meta_d", "m_ratio")
#: Measure → parameter of the posterior.
BAYES = {"d_bayes": "d1", "meta_d_bayes": "meta_d", "m_ratio_bayes": "m_ratio"}


@dataclass(frozen=True, slots=True)
class Fitted:
    """One model on one task with the posterior of HMeta-d's single-subject model, d′ estimated (Fleming 2017)."""

    dataset: str
    source: str
    task: str
    model: str
    n: int  # rated answers
    why: str | None = None  # there are no draws
    # over all draws
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    # of `KEPT`, thinned
    draws: Mapping[str, Floats] = field(default_factory=dict)


def fitted_counts(
    names: tuple[str, str, str, str], table: RatedCounts, seed: int, folder: Path, keep: int = DRAWS
) -> Fitted:
    """Return the posterior of raw counts, named by data set, source, task, model; sampled once and kept in ``folder``."""
    # The digest is the file's name: two cells with different names share no random numbers. Whoever deletes the file loses
    # time, nothing else.
    label = "/".join(names)
    identity = [MODEL_VERSION, keep, seed, label, table.n_s1.tolist(), table.n_s2.tolist()]
    path = folder / f"{sha256_hex(canonical_json(identity))}.json"
    try:
        kept = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        # A few draws for each that is kept: more would cost time without use, with fewer the gate asks for another round.
        found = bayes_metad(table, seed=seed, label=label, draws=min(MOST_PER_CHAIN, -(-3 * keep // CHAINS)))
        drawn = {name: found.draws[name].ravel() for name in KEPT if name in found.draws}
        thin = np.arange(keep) * len(next(iter(drawn.values()), [])) // keep
        kept = {
            "why": None if found.status == CONVERGED else f"posterior {found.status}: {found.reason}",
            "estimates": {name: asdict(own) for name, own in found.estimates().items()},
            "draws": {name: own[thin].tolist() for name, own in drawn.items()},
        }
        write_text(path, json.dumps(kept))
    estimates = {name: Estimate(**own) for name, own in kept["estimates"].items()}
    draws = {name: np.array(own) for name, own in kept["draws"].items()}
    return Fitted(*names, int(table.n[0]), kept["why"], estimates, draws)


def fitted(benchmark: Bound, group: Group) -> Fitted:
    """Return the posterior of a group, or the reason its counts have none."""
    table, names = trials_of(group).table, (group.dataset, group.source, group.task or "", group.model)
    if why := _silent(table) or identifiability.reasons_of(table)[0]:
        return Fitted(*names, int(table.n[0]), why)
    return fitted_counts(names, table, benchmark.seed, benchmark.study.home.cache / "posteriors")


def bayes_estimates(benchmark: Bound, group: Group) -> Estimates:
    """Return the posterior means of a group over all its runs."""
    if group.run is not None or not rated(group.condition):
        return {}
    fit = fitted(benchmark, group)
    if fit.why is not None:
        return {name: unavailable(fit.n, METHOD_BAYES, fit.why) for name in BAYES}
    taken = "; runs taken as independent" if trials_of(group).clustered else ""
    d = fit.estimates["d1"]
    # The mean of a ratio to what may be 0 lies between two branches of the posterior, and may be any number as well.
    found = {**fit.estimates, "m_ratio": gated(fit.estimates["m_ratio"], d.low, d.high)}
    return {
        name: replace(found[own], method=f"{METHOD_BAYES}; {found[own].method}{taken}")
        for name, own in BAYES.items()
    }


# --- declarations ---------------------------------------------------------------------------------------------------------
def _type1(benchmark: Bound, group: Group) -> Estimates:
    return type1_estimates(trials_of(group))


def _type2(benchmark: Bound, group: Group) -> Estimates:
    trials = trials_of(group)
    return meta_d_estimates(trials) | confidence_estimates(trials) if rated(group.condition) else {}


def _each(compute: Callable[[Bound, Group], Estimates]) -> Any:
    return lambda benchmark, groups: [compute(benchmark, group) for group in groups]


READABLE: Where = (("response", None),)
RATED: Mapping[str, Any] = {"conditions": rated, "rests_on": (*READABLE, ("confidence", None))}
NEITHER: Mapping[str, Any] = {"higher_is_better": None}


def _m(name: str, label: str, words: str, unit: Unit = Unit.SD, **more: Any) -> Measure:
    return Measure(
        name, label, words=words, **{"unit": unit, "range": (None, None), "rests_on": READABLE, **more}
    )


MEASURES: tuple[Measure | MeasureSet, ...] = (
    Measure("accuracy", "accuracy", share({"_right": 1}), words="Share of the answers whose response is the label; one "
            "without a readable response counts as wrong."),
    Measure("hit_rate", "hit rate", TRIALS.share((0,), (0, 1)),
            words="Share of the readable responses to label 1 that say 1.", **NEITHER),
    Measure("false_alarm_rate", "false alarms", TRIALS.share((2,), (2, 3)),
            words="Share of the readable responses to label 0 that say 1.", **NEITHER),
    MeasureSet((
        _m("d", "d′", "Sensitivity: how well the responses discriminate the labels, from log-linear corrected rates."),
        _m("c", "c", "Criterion: below 0 a model answers label 1 too often, above 0 label 0.", **NEITHER),
        _m("c_prime", "c′", "Criterion relative to sensitivity: c / d′.", Unit.RATIO, **NEITHER),
    ), _each(_type1)),
    MeasureSet((
        _m("meta_d", "meta-d′", "Sensitivity that the confidence shows, in the unit of d′; maximum likelihood.", **RATED),
        _m("m_ratio", "M-ratio", "meta-d′ / d′: 1 is optimal. Cite this one.", Unit.RATIO, headline=True, **RATED),
        _m("auroc2", "AUROC2", "Area under the type-2 ROC curve: the chance that a right answer is rated above a wrong "
           "one.", Unit.SCORE, range=(0.0, 1.0), **RATED),
        _m("meta_information", "meta-I", "Signed information of the confidence about being right, less its bias.",
           Unit.BITS, **RATED),
    ), _each(_type2)),
    MeasureSet((
        _m("criterion_shift", "criterion shift",
           "How far c moves away from what is punished: c under risk_s2 minus c under risk_s1; shown under risk_s2.",
           # on two conditions
           conditions=lambda condition: condition == "risk_s2", rests_on=()),
    ), criterion_shifts),
    MeasureSet((
        _m("d_bayes", "d′, posterior", "Posterior mean of d′.", paper="table S1", **RATED),
        _m("meta_d_bayes", "meta-d′, posterior", "Posterior mean of meta-d′.", paper="table S1", **RATED),
        _m("m_ratio_bayes", "M-ratio, posterior", "Posterior mean: assumes the priors.", Unit.RATIO, paper="table S1",
           **RATED),
    ), _each(bayes_estimates)),
)  # fmt: skip

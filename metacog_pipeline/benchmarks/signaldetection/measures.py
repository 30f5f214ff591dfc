"""What is measured: shares, sensitivity and criterion, confidence, meta-d′ by maximum likelihood and by posterior.

Accuracy is over all answers; one without a readable response counts as wrong, and in nothing else. A response without a
readable confidence counts everywhere except in the measures of confidence. The item is the unit of chance: an item is
resampled with all its runs; the Bayesian fits alone take trials as independent, as the paper does.

Rates of 0 and 1 have no z, so d′ and c are of log-linear corrected rates in every group alike (Hautus 1995), and meta-d′
of counts + 1/(2K). A number that the correction alone would make is not shown: a model that only ever gave one response has
no d′, and counts that say nothing of meta-d′ (`stats.identifiability`) have no meta-d′.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from metacog_pipeline.benchmark.contract import Benchmark, Estimate, Group, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.signaldetection.counts import UNANSWERED, Counts, Grid, counts_of
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.files import canonical_json, replacing, sha256_hex
from metacog_pipeline.stats import identifiability, intervals, resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.bayes.sampler import CONVERGED
from metacog_pipeline.stats.bayes.single import CHAINS, bayes_metad
from metacog_pipeline.stats.counts import Counts as RatedCounts
from metacog_pipeline.stats.counts import padded
from metacog_pipeline.stats.estimate import NO_ITEMS, OFTEN_UNDEFINED, unavailable
from metacog_pipeline.stats.identifiability import gated
from metacog_pipeline.stats.intervals import sem_interval
from metacog_pipeline.stats.meta_information import meta_information
from metacog_pipeline.stats.metad import REASONS, fit_metad
from metacog_pipeline.stats.type1 import type1_from_table

Bound = Benchmark[Any, Any, Any]
Estimates = Mapping[str, Estimate]
# Of every group alike: a correction of extreme rates alone would favour the models that have them.
CORRECTION = "loglinear"
TYPE1, META_D = ("d", "c", "c_prime"), ("meta_d", "m_ratio")
ONE_RESPONSE = "one response only: the model never gave the other"
METHOD = "ml on counts + 1/(2K), item bootstrap"
METHOD_BITS = "plug-in, less its mean excess in resamples of items"
METHOD_BAYES = "bayes, d' estimated"


def rated(condition: str) -> bool:
    """Whether the condition asks for a confidence."""
    return condition == CONFIDENCE


# --- sensitivity and criterion --------------------------------------------------------------------------------------------
def no_type1(hits: float, misses: float, false_alarms: float, rejections: float) -> str | None:
    """Return why these outcomes have neither d′ nor c; None where they do."""
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS
    if hits + misses == 0:
        return "no responses to stimulus S2"
    if false_alarms + rejections == 0:
        return "no responses to stimulus S1"
    return ONE_RESPONSE if hits + false_alarms == 0 or misses + rejections == 0 else None


def type1_draws(hits: Floats, misses: Floats, false_alarms: Floats, rejections: Floats) -> dict[str, Floats]:
    """Return d′, c and c′ of resamples ``(B,)``, NaN where only one response was given."""
    given = (hits + false_alarms > 0) & (misses + rejections > 0)
    table = type1_from_table(hits, misses, false_alarms, rejections, CORRECTION)
    return {name: np.where(given, getattr(table, name), np.nan) for name in TYPE1}


def type1_estimates(counts: Counts) -> dict[str, Estimate]:
    """Return d′, c and c′: delta-method intervals with one answer per item, else of resampled items."""
    outcomes, n = counts.grid.outcomes(counts.totals), counts.n_readable
    method = f"{'item bootstrap' if counts.clustered else 'delta'}, correction {CORRECTION}"
    if (why := no_type1(*map(float, outcomes))) is not None:
        return {name: unavailable(n, method, why) for name in TYPE1}
    hits, misses, false_alarms, rejections = outcomes
    table = type1_from_table(hits, misses, false_alarms, rejections, CORRECTION)
    found = {name: replace(table.estimate(name), n=n) for name in TYPE1}  # its own n holds the correction
    # Answers of one item in several runs are no independent trials, which the delta method takes them for.
    if counts.clustered:
        drawn = type1_draws(*counts.grid.outcomes(counts.draws))
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
    c = [type1_estimates(counts_of(group))["c"] for group in groups]
    of = {(g.dataset, g.task, g.model, g.condition): own for g, own in zip(groups, c, strict=True)}
    found: list[Estimates] = []
    for g, two in zip(groups, c, strict=True):
        one = of.get((g.dataset, g.task, g.model, "risk_s1"))
        # Runs are no pairs: the third under one condition has nothing to do with the third under the other.
        pair = g.run is None and g.condition == "risk_s2"
        if not pair or one is None or one.value is None or two.value is None:
            found.append({})
            continue
        value, sem = two.value - one.value, math.hypot(one.sem or 0.0, two.sem or 0.0)
        method = "c(risk_s2) - c(risk_s1), conditions taken as independent"
        shift = Estimate(value, *sem_interval(value, sem), one.n + two.n, method, sem=sem)
        found.append({"criterion_shift": shift})
    return found


# --- confidence -----------------------------------------------------------------------------------------------------------
def no_confidence(table: RatedCounts) -> tuple[str | None, str | None]:
    """Return why the confidence of one cell says nothing of being right, and why its counts say nothing of meta-d′.

    Both None where they do. Decided on the counts as they are, before anything is added to them.
    """
    outcomes = (table.hits, table.misses, table.false_alarms, table.correct_rejections)
    if (silent := no_type1(*(float(each[0]) for each in outcomes))) is not None:
        return silent, silent
    right, wrong = table.by_confidence
    status = str(identifiability.statuses(right[:, None], wrong[:, None])[0])
    nothing = (identifiability.ALL_CORRECT, identifiability.ALL_WRONG, identifiability.UNIDENTIFIED)
    why = identifiability.REASONS[status] if status in nothing else None
    return why, why or identifiability.reasons_of(table)[0] or None


def confidence_estimates(counts: Counts) -> dict[str, Estimate]:
    """Return AUROC2 and information of the rated answers."""
    patterns = counts.patterns.collapse(counts.grid.by_level(), 2 * counts.grid.ratings)
    return {"auroc2": auroc_from_patterns(patterns), "meta_information": _information(counts)}


def _information(counts: Counts) -> Estimate:
    """Return the signed meta-I, I(correct; response, confidence) in bits (Dayan 2023).

    Resampling items adds about as much to a plug-in value as sampling them did, so the mean excess of the resamples is
    subtracted, and the interval is theirs reflected at the plug-in value. The rest may lie below 0.
    """
    n = counts.n_rated
    if (why := no_confidence(counts.rated)[0]) is not None:
        return unavailable(n, METHOD_BITS, why)
    value = float(meta_information(counts.rated).meta_i_signed[0])
    drawn = meta_information(counts.grid.rated(counts.draws)).meta_i_signed
    usable, (low, high) = resampling.usable(drawn), resampling.interval(drawn)
    if usable is None or low is None or high is None:
        return Estimate(value, None, None, n, "plug-in", OFTEN_UNDEFINED)
    corrected, sem = 2 * value - float(usable.mean()), float(usable.std(ddof=1))
    return Estimate(corrected, 2 * value - high, 2 * value - low, n, METHOD_BITS, sem=sem)


# --- meta-d′ by maximum likelihood ----------------------------------------------------------------------------------------
def meta_d_draws(grid: Grid, totals: Floats) -> dict[str, Floats]:
    """Return meta-d′, M-ratio and d′ of resamples ``(B, places)``, NaN where a fit has no number."""
    # Padded: with empty cells, which resamples often have, meta-d′ runs to the bound of its search.
    found = fit_metad(padded(grid.rated(totals)))
    return {"meta_d": found.meta_da, "m_ratio": found.m_ratio, "d": found.meta_da - found.m_diff}


def point_meta_d(grid: Grid, totals: Floats) -> dict[str, tuple[float, str | None]]:
    """Return meta-d′ and M-ratio of totals ``(places,)``, each with why it has no value."""
    found = fit_metad(padded(grid.rated(totals[None])))
    status = str(found.status[0])
    return {
        name: (value, None if status == "ok" and math.isfinite(value) else REASONS.get(status) or status)
        for name, value in zip(META_D, (float(found.meta_da[0]), float(found.m_ratio[0])), strict=True)
    }


def meta_d_estimates(counts: Counts) -> dict[str, Estimate]:
    """Return meta-d′ and M-ratio."""
    n = counts.n_rated
    if (why := no_confidence(counts.rated)[1]) is not None:
        return {name: unavailable(n, METHOD, why) for name in META_D}
    drawn = meta_d_draws(counts.grid, counts.draws)
    found = {
        name: _percentile(value, drawn[name], n, METHOD) if why is None else unavailable(n, METHOD, why)
        for name, (value, why) in point_meta_d(counts.grid, counts.totals).items()
    }
    d = drawn["d"]
    return found | {"m_ratio": gated(found["m_ratio"], *resampling.interval(d[np.isfinite(d)]))}


# --- meta-d′ by posterior -------------------------------------------------------------------------------------------------
MODEL_VERSION = "4"  # raised when the same counts and seed would give other draws
DRAWS, MOST_PER_CHAIN = 4000, 500
KEPT = ("d1", "c1", "meta_d", "m_ratio")
#: Measure → parameter of the posterior.
BAYES = {"d_bayes": "d1", "meta_d_bayes": "meta_d", "m_ratio_bayes": "m_ratio"}


@dataclass(frozen=True, slots=True)
class Fitted:
    """One model on one task with the posterior of HMeta-d's single-subject model, d′ estimated (Fleming 2017).

    ``n`` are rated answers; ``why`` is None where there are ``draws`` of `KEPT`, thinned. ``estimates`` are over all draws.
    """

    dataset: str
    source: str
    task: str
    model: str
    n: int
    why: str | None = None
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    draws: Mapping[str, Floats] = field(default_factory=dict)


def fitted_counts(
    names: tuple[str, str, str, str], table: RatedCounts, seed: int, folder: Path, keep: int = DRAWS
) -> Fitted:
    """Return the posterior of raw counts, named by data set, source, task and model; sampled once and kept in ``folder``.

    Counts, names and ``seed`` determine the draws, and their digest is the file's name: two cells with different names
    share no random numbers. Whoever deletes the file loses time, nothing else.
    """
    label = "/".join(names)
    identity = [MODEL_VERSION, keep, seed, label, table.n_s1.tolist(), table.n_s2.tolist()]
    path = folder / f"{sha256_hex(canonical_json(identity))}.npz"
    try:
        arrays = dict(np.load(io.BytesIO(path.read_bytes()), allow_pickle=False))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        # A few draws for each that is kept: more would cost time without use, with fewer the gate asks for another round.
        found = bayes_metad(table, seed=seed, label=label, draws=min(MOST_PER_CHAIN, -(-3 * keep // CHAINS)))
        why = None if found.status == CONVERGED else f"posterior {found.status}: {found.reason}"
        about = canonical_json({"why": why, "of": {k: asdict(v) for k, v in found.estimates().items()}})
        drawn = {name: found.draws[name].ravel() for name in KEPT if name in found.draws}
        thin = np.arange(keep) * len(next(iter(drawn.values()), [])) // keep
        arrays = {"about": np.array(about)} | {name: own[thin] for name, own in drawn.items()}
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    about = json.loads(str(arrays.pop("about")))
    estimates = {name: Estimate(**values) for name, values in about["of"].items()}
    return Fitted(*names, int(table.n[0]), about["why"], estimates, arrays)


def fitted(benchmark: Bound, group: Group) -> Fitted:
    """Return the posterior of a group, or the reason its counts have none."""
    counts = counts_of(group)
    names = (group.dataset, group.source, group.task or "", group.model)
    if (why := no_confidence(counts.rated)[1]) is not None:
        return Fitted(*names, counts.n_rated, why)
    return fitted_counts(names, counts.rated, benchmark.context.seed, benchmark.context.cache("posteriors"))


def bayes_estimates(benchmark: Bound, group: Group) -> dict[str, Estimate]:
    """Return the posterior means of a group over all its runs."""
    if group.run is not None:
        return {}
    fit = fitted(benchmark, group)
    if fit.why is not None:
        return {name: unavailable(fit.n, METHOD_BAYES, fit.why) for name in BAYES}
    taken = "; runs taken as independent" if counts_of(group).clustered else ""
    d = fit.estimates["d1"]
    # The mean of a ratio to what may be 0 lies between two branches of the posterior, and may be any number as well.
    found = {**fit.estimates, "m_ratio": gated(fit.estimates["m_ratio"], d.low, d.high)}
    return {
        name: replace(found[own], method=f"{METHOD_BAYES}; {found[own].method}{taken}")
        for name, own in BAYES.items()
    }


# --- declarations ---------------------------------------------------------------------------------------------------------
READABLE: Where = (("response", None),)
RATED: Mapping[str, Any] = {"conditions": rated, "rests_on": (*READABLE, ("confidence", None))}
NEITHER: Mapping[str, Any] = {"higher_is_better": None}


def _m(name: str, label: str, words: str, unit: Unit = Unit.SD, **more: Any) -> Measure:
    span = (0.0, 1.0) if unit is Unit.SCORE else (None, None)
    return Measure(name, label, unit=unit, range=span, words=words, **{"rests_on": READABLE, **more})


def _set(*measures: Measure, compute: Callable[[Bound, Group], Estimates]) -> MeasureSet:
    """Return measures that ``compute`` returns of each group under the conditions they are of."""
    asked = measures[0].conditions

    def of_all(benchmark: Bound, groups: Sequence[Group]) -> Sequence[Estimates]:
        return [compute(benchmark, group) if asked(group.condition) else {} for group in groups]

    return MeasureSet(measures, of_all)


def _share(
    name: str, label: str, top: Callable[[Grid], Any], bottom: Callable[[Grid], Any], words: str, **more: Any
) -> Measure:
    """Return the measure that divides the responses at some places by those at others, with Wilson's interval."""

    def compute(group: Group) -> Estimate:
        counts = counts_of(group)
        weights = [np.asarray(of(counts.grid), dtype=np.float64) for of in (top, bottom)]
        return intervals.ratio(counts.patterns, *weights)

    return Measure(name, label, compute, words=words, **more)


MEASURES: tuple[Measure | MeasureSet, ...] = (
    _share("accuracy", "accuracy", lambda g: g.correct, lambda g: g.response > UNANSWERED,
           "Share of the answers whose response is the label; one without a readable response counts as wrong."),
    _share("hit_rate", "hit rate", lambda g: g.where(1, 1), lambda g: g.where(1, 0) + g.where(1, 1),
           "Share of the readable responses to label 1 that say 1.", rests_on=(("stimulus", (1,)), *READABLE), **NEITHER),
    _share("false_alarm_rate", "false alarms", lambda g: g.where(0, 1), lambda g: g.where(0, 0) + g.where(0, 1),
           "Share of the readable responses to label 0 that say 1.", rests_on=(("stimulus", (0,)), *READABLE), **NEITHER),
    _share("coverage", "coverage", lambda g: g.response >= 0, lambda g: np.ones(g.places),
           "Share of all items asked, answered or not, that have a readable response."),
    _set(
        _m("d", "d′", "Sensitivity: how well the responses discriminate the labels, from log-linear corrected rates."),
        _m("c", "c", "Criterion: below 0 a model answers label 1 too often, above 0 label 0.", **NEITHER),
        _m("c_prime", "c′", "Criterion relative to sensitivity: c / d′.", Unit.RATIO, **NEITHER),
        compute=lambda benchmark, group: type1_estimates(counts_of(group)),
    ),
    MeasureSet(
        (
            _m("criterion_shift", "criterion shift",
               "How far c moves away from what is punished: c under risk_s2 minus c under risk_s1; shown under risk_s2.",
               conditions=lambda condition: condition == "risk_s2", rests_on=()),  # on two conditions
        ),
        criterion_shifts,
    ),
    _set(
        _m("meta_d", "meta-d′", "Sensitivity that the confidence shows, in the unit of d′; maximum likelihood.", **RATED),
        _m("m_ratio", "M-ratio", "meta-d′ / d′: 1 is optimal. Cite this one.", Unit.RATIO, headline=True, **RATED),
        compute=lambda benchmark, group: meta_d_estimates(counts_of(group)),
    ),
    _set(
        _m("auroc2", "AUROC2", "Area under the type-2 ROC curve: the chance that a right answer is rated above a wrong "
           "one.", Unit.SCORE, **RATED),
        _m("meta_information", "meta-I", "Signed information of the confidence about being right, less its bias.",
           Unit.BITS, **RATED),
        compute=lambda benchmark, group: confidence_estimates(counts_of(group)),
    ),
    _set(
        _m("d_bayes", "d′, posterior", "Posterior mean of d′.", paper="table S1", **RATED),
        _m("meta_d_bayes", "meta-d′, posterior", "Posterior mean of meta-d′.", paper="table S1", **RATED),
        _m("m_ratio_bayes", "M-ratio, posterior", "Posterior mean: assumes the priors.", Unit.RATIO, paper="table S1",
           **RATED),
        compute=bayes_estimates,
    ),
)  # fmt: skip

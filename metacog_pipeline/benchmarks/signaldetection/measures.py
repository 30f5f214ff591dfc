"""What is measured: shares, sensitivity and criterion, confidence, meta-d′ by maximum likelihood and by posterior.

Accuracy is over all answers; one without a readable response counts as wrong, and in nothing else. A response without a
readable confidence counts everywhere except in the measures of confidence. The item is the unit of chance: an item is
resampled with all its runs; the Bayesian fits alone take trials as independent, as the paper does.

Rates of 0 and 1 have no z, so d′ and c are of log-linear corrected rates in every group alike (Hautus 1995), and meta-d′
of counts + 1/(2K). A number that the correction alone would make is not shown: a model that only ever gave one response has
no d′, and counts that say nothing of meta-d′ (`stats.identifiability`) have no meta-d′.
"""

from __future__ import annotations

import functools
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmark.contract import Benchmark, Estimate, Group, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.signaldetection.counts import Counts, Grid, counts_of
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.files import canonical_json, replacing, sha256_hex
from metacog_pipeline.scoring import calibration as shared
from metacog_pipeline.stats import identifiability, intervals, resampling
from metacog_pipeline.stats._arrays import Floats
from metacog_pipeline.stats.auroc import auroc_from_patterns
from metacog_pipeline.stats.bayes.sampler import CONVERGED
from metacog_pipeline.stats.bayes.single import CHAINS, bayes_metad
from metacog_pipeline.stats.calibration import brier_from_patterns, ece_estimate
from metacog_pipeline.stats.counts import Counts as RatedCounts
from metacog_pipeline.stats.counts import padded
from metacog_pipeline.stats.estimate import NO_ITEMS, OFTEN_UNDEFINED, unavailable
from metacog_pipeline.stats.identifiability import gated
from metacog_pipeline.stats.intervals import sem_interval
from metacog_pipeline.stats.meta_information import meta_information
from metacog_pipeline.stats.metad import REASONS, conditional_fits, fit_metad
from metacog_pipeline.stats.type1 import type1_from_table

Bound = Benchmark[Any, Any, Any]
Estimates = Mapping[str, Estimate]
CORRECTION = "loglinear"
TYPE1 = ("d", "c", "c_prime", "ln_beta")
META_D = ("meta_d", "m_ratio", "m_diff")
SIDES = ("meta_d_rs1", "meta_d_rs2")
ONE_RESPONSE = "one response only: the model never gave the other"
METHOD = "ml on counts + 1/(2K), item bootstrap"
METHOD_SIDES = "ml on counts + 1/(2K), 1.96 sd of an item bootstrap"
METHOD_BITS = "plug-in, less its mean excess in resamples of items"
METHOD_BAYES = "bayes, d' estimated"
# Either response alone is a fit of its own, three times the work for two secondary measures: they get fewer resamples.
N_BOOT_SIDES = 200


def rated(condition: str) -> bool:
    """Whether the condition asks for a confidence."""
    return condition == CONFIDENCE


# --- sensitivity and criterion --------------------------------------------------------------------------------------------
def no_type1(counts: Counts | Floats) -> str | None:
    """Return why a group, or hits, misses, false alarms and correct rejections, has neither d′ nor c; None where it has."""
    outcomes = counts.grid.outcomes(counts.totals) if isinstance(counts, Counts) else counts
    hits, misses, false_alarms, rejections = map(float, outcomes)
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS
    if hits + misses == 0:
        return "no responses to stimulus S2"
    if false_alarms + rejections == 0:
        return "no responses to stimulus S1"
    return ONE_RESPONSE if hits + false_alarms == 0 or misses + rejections == 0 else None


def type1_draws(hits: Floats, misses: Floats, false_alarms: Floats, rejections: Floats) -> dict[str, Floats]:
    """Return d′, c, c′ and ln β of resamples ``(B,)``, NaN where only one response was given."""
    given = (hits + false_alarms > 0) & (misses + rejections > 0)
    table = type1_from_table(hits, misses, false_alarms, rejections, CORRECTION)
    return {name: np.where(given, getattr(table, name), np.nan) for name in TYPE1}


def type1_estimates(counts: Counts) -> dict[str, Estimate]:
    """Return d′, c, c′ and ln β: delta-method intervals with one answer per item, else of resampled items."""
    outcomes, n = counts.grid.outcomes(counts.totals), counts.n_readable
    method = f"{'item bootstrap' if counts.clustered else 'delta'}, correction {CORRECTION}"
    if (why := no_type1(counts)) is not None:
        return {name: unavailable(n, method, why) for name in TYPE1}
    hits, misses, false_alarms, rejections = outcomes
    table = type1_from_table(hits, misses, false_alarms, rejections, CORRECTION)
    found = {name: replace(table.estimate(name), n=n) for name in TYPE1}  # its own n holds the correction
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
        pair = g.run is None and g.condition == "risk_s2"
        if not pair or one is None or one.value is None or two.value is None:
            found.append({})
            continue
        value, sem = two.value - one.value, math.hypot(one.sem or 0.0, two.sem or 0.0)
        method = "c(risk_s2) - c(risk_s1), conditions taken as independent"
        found.append(
            {"criterion_shift": Estimate(value, *sem_interval(value, sem), one.n + two.n, method, sem=sem)}
        )
    return found


# --- confidence -----------------------------------------------------------------------------------------------------------
def no_confidence(table: RatedCounts) -> tuple[str | None, str | None]:
    """Return why the confidence of one cell says nothing of being right, and why its counts say nothing of meta-d′.

    Both None where they do. Decided on the counts as they are, before anything is added to them.
    """
    outcomes = (table.hits, table.misses, table.false_alarms, table.correct_rejections)
    hits, misses, false_alarms, rejections = (float(each[0]) for each in outcomes)
    if hits + misses + false_alarms + rejections == 0:
        return NO_ITEMS, NO_ITEMS
    if hits + misses == 0 or false_alarms + rejections == 0:
        return ("no rated responses to one stimulus",) * 2
    if hits + false_alarms == 0 or misses + rejections == 0:
        return ONE_RESPONSE, ONE_RESPONSE
    right, wrong = table.by_confidence
    status = str(identifiability.statuses(right[:, None], wrong[:, None])[0])
    nothing = (identifiability.ALL_CORRECT, identifiability.ALL_WRONG, identifiability.UNIDENTIFIED)
    why = identifiability.REASONS[status] if status in nothing else None
    return why, why or identifiability.reasons_of(table)[0] or None


def confidence_estimates(counts: Counts) -> dict[str, Estimate]:
    """Return AUROC2, ECE, Brier score, mean rating and information of the rated answers."""
    levels, k = counts.grid.by_level(), counts.grid.ratings
    patterns = counts.patterns.collapse(levels, 2 * k)
    held = patterns.counts.any(axis=1)  # an item without a rated answer is not resampled with them
    if patterns.counts.sum(axis=1).max(initial=0) > 1:
        patterns = resampling.merge_patterns(patterns.counts[held], patterns.weights[held])
    else:
        patterns = resampling.Patterns(np.eye(2 * k, dtype=np.int64), patterns.totals.astype(np.int64))
    stated = np.linspace(0.5, 1.0, k)  # of two responses, a guess is right half of the time
    read_as = "k as 0.5+(k-1)/(2(K-1))"
    ece = ece_estimate(patterns, stated, shared.draws(patterns, counts.seed))
    brier = brier_from_patterns(patterns, stated)
    return {
        "auroc2": auroc_from_patterns(patterns),
        "ece": replace(ece, method=f"{ece.method}; {read_as}"),
        "brier": replace(brier, method=f"{brier.method}; {read_as}"),
        "mean_confidence": intervals.ratio(patterns, np.repeat(np.arange(1.0, k + 1), 2), np.ones(2 * k)),
        **_information(counts),
    }


def _information(counts: Counts) -> dict[str, Estimate]:
    """Return the signed meta-I, I(correct; response, confidence) in bits (Dayan 2023), and its share of the most possible.

    Resampling items adds about as much to a plug-in value as sampling them did, so the mean excess of the resamples is
    subtracted, and the interval is theirs reflected at the plug-in value. The rest may lie below 0.
    """
    n, names = counts.n_rated, {"meta_information": "meta_i_signed", "rmi": "rmi"}
    if (why := no_confidence(counts.rated)[0]) is not None:
        return {name: unavailable(n, METHOD_BITS, why) for name in names}
    plain, drawn = meta_information(counts.rated), meta_information(counts.grid.rated(counts.draws))
    found = {}
    for name, part in names.items():
        value, draws = float(getattr(plain, part)[0]), getattr(drawn, part)
        usable, (low, high) = resampling.usable(draws), resampling.interval(draws)
        if not math.isfinite(value):
            found[name] = unavailable(n, METHOD_BITS, str(plain.status_rmi[0]))
        elif usable is None or low is None or high is None:
            found[name] = Estimate(value, None, None, n, "plug-in", OFTEN_UNDEFINED)
        else:
            corrected, sem = 2 * value - float(usable.mean()), float(usable.std(ddof=1))
            found[name] = Estimate(corrected, 2 * value - high, 2 * value - low, n, METHOD_BITS, sem=sem)
    return found


# --- meta-d′ by maximum likelihood ----------------------------------------------------------------------------------------
def meta_d_draws(grid: Grid, totals: Floats) -> dict[str, Floats]:
    """Return meta-d′, M-ratio and M-diff of resamples ``(B, places)``, NaN where a fit has no number."""
    found = fit_metad(padded(grid.rated(totals)))
    return {"meta_d": found.meta_da, "m_ratio": found.m_ratio, "m_diff": found.m_diff}


def point_meta_d(grid: Grid, totals: Floats) -> dict[str, tuple[float, str | None]]:
    """Return meta-d′, M-ratio, M-diff and both sides' meta-d′ of totals ``(places,)``, each with why it has no value."""
    found = fit_metad(padded(grid.rated(totals[None])), conditional=True)
    assert found.rs1 is not None and found.rs2 is not None, "fitted with both sides"
    fits = (
        (found.meta_da, found.status), (found.m_ratio, found.status), (found.m_diff, found.status),
        (found.rs1.meta_da, found.rs1.status), (found.rs2.meta_da, found.rs2.status),
    )  # fmt: skip
    point = {}
    for name, (values, statuses) in zip((*META_D, *SIDES), fits, strict=True):
        value, status = float(values[0]), str(statuses[0])
        known = status == "ok" and math.isfinite(value)
        point[name] = value, None if known else REASONS.get(status) or status
    return point


@functools.lru_cache(maxsize=128)  # the answers of a run are those of all runs where there is one run
def _drawn(grid: Grid, draws: bytes) -> dict[str, Floats]:
    totals = np.frombuffer(draws).reshape(-1, grid.places)
    sides = conditional_fits(padded(grid.rated(totals[:N_BOOT_SIDES])))
    return meta_d_draws(grid, totals) | {name: side.meta_da for name, side in zip(SIDES, sides, strict=True)}


def meta_d_estimates(counts: Counts) -> dict[str, Estimate]:
    """Return meta-d′, M-ratio, M-diff, log M-ratio and both response-conditional meta-d′."""
    n, names = counts.n_rated, (*META_D, "log_m_ratio", *SIDES)
    if (why := no_confidence(counts.rated)[1]) is not None:
        return {name: unavailable(n, METHOD, why) for name in names}
    drawn, found = _drawn(counts.grid, counts.draws.tobytes()), {}
    for name, (value, why) in point_meta_d(counts.grid, counts.totals).items():
        if why is not None:
            found[name] = unavailable(n, METHOD, why)
        elif name in SIDES:
            found[name] = _within_two_errors(value, drawn[name], n)
        else:
            found[name] = _percentile(value, drawn[name], n, METHOD)
    d = drawn["meta_d"] - drawn["m_diff"]
    found["m_ratio"] = gated(found["m_ratio"], *resampling.interval(d[np.isfinite(d)]))
    found["log_m_ratio"] = _logarithm(found["m_ratio"])
    return {name: found[name] for name in names}


def _within_two_errors(value: float, drawn: Floats, n: int) -> Estimate:
    """Return ± 1.96 standard deviations of the resamples: few of them give a spread better than its ends."""
    usable = resampling.usable(drawn)
    if usable is None or len(usable) < 2:
        return Estimate(value, None, None, n, METHOD_SIDES, OFTEN_UNDEFINED)
    sem = float(usable.std(ddof=1))
    return Estimate(value, *sem_interval(value, sem), n, METHOD_SIDES, sem=sem)


def _logarithm(ratio: Estimate) -> Estimate:
    """Return log M-ratio: percentiles keep their order under a logarithm, so its ends are those of the interval."""
    if ratio.value is None:
        return ratio
    if ratio.value <= 0:
        return unavailable(ratio.n, ratio.method, "M-ratio not above 0: no logarithm")
    value = math.log(ratio.value)
    if ratio.low is None or ratio.high is None or ratio.low <= 0:
        why = "the interval of M-ratio reaches 0: its logarithm has no lower end"
        return Estimate(value, None, None, ratio.n, ratio.method, why)
    return Estimate(value, math.log(ratio.low), math.log(ratio.high), ratio.n, ratio.method, ratio.status)


# --- meta-d′ by posterior -------------------------------------------------------------------------------------------------
MODEL_VERSION = "4"  # raised when the same counts and seed would give other draws
DRAWS, MOST_PER_CHAIN = 4000, 500
KEPT = ("d1", "c1", "meta_d", "m_ratio")
#: Measure → parameter of the posterior.
BAYES = {
    "d_bayes": "d1", "c_bayes": "c1", "meta_d_bayes": "meta_d", "m_ratio_bayes": "m_ratio",
    "m_ratio_median_bayes": "m_ratio_median",
}  # fmt: skip


def kept(path: Path, compute: Callable[[], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of ``path``, computed and kept there where it has none that can be read.

    The name of the file is the digest of what they were computed from. Whoever deletes it loses time, nothing else.
    """
    try:
        return dict(np.load(io.BytesIO(path.read_bytes()), allow_pickle=False))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        arrays = compute()
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        return arrays


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

    Counts, names and ``seed`` determine the draws: two cells with different names share no random numbers.
    """
    label = "/".join(names)
    identity = [MODEL_VERSION, keep, seed, label, table.n_s1.tolist(), table.n_s2.tolist()]

    def sampled() -> dict[str, NDArray[Any]]:
        # A few draws for each that is kept: more would cost time without use, with fewer the gate asks for another round.
        found = bayes_metad(table, seed=seed, label=label, draws=min(MOST_PER_CHAIN, -(-3 * keep // CHAINS)))
        why = None if found.status == CONVERGED else f"posterior {found.status}: {found.reason}"
        about = canonical_json({"why": why, "of": {k: asdict(v) for k, v in found.estimates().items()}})
        drawn = {name: found.draws[name].ravel() for name in KEPT if name in found.draws}
        thin = np.arange(keep) * len(next(iter(drawn.values()), [])) // keep
        return {"about": np.array(about)} | {name: own[thin] for name, own in drawn.items()}

    arrays = dict(kept(folder / f"{sha256_hex(canonical_json(identity))}.npz", sampled))
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
    """Return the posterior means of a group and the median of its M-ratio."""
    fit = fitted(benchmark, group)
    if fit.why is not None:
        return {name: unavailable(fit.n, METHOD_BAYES, fit.why) for name in BAYES}
    taken = "; runs taken as independent" if counts_of(group).clustered else ""
    found = dict(fit.estimates)
    # The median of a ratio to what may be 0 lies between two branches of the posterior, and may be any number as well.
    for name in ("m_ratio", "m_ratio_median"):
        found[name] = gated(found[name], found["d1"].low, found["d1"].high)
    return {
        name: replace(found[own], method=f"{METHOD_BAYES}; {found[own].method}{taken}")
        for name, own in BAYES.items()
    }


# --- declarations ---------------------------------------------------------------------------------------------------------
READABLE: Where = (("response", None),)
RATED_ANSWERS: Where = (*READABLE, ("confidence", None))
NEITHER: Mapping[str, Any] = {"higher_is_better": None}
LESS: Mapping[str, Any] = {"higher_is_better": False}


def _m(name: str, label: str, words: str, unit: Unit = Unit.SD, **more: Any) -> Measure:
    more = {"range": (None, None) if unit in (Unit.SD, Unit.BITS, Unit.RATIO) else (0.0, 1.0), **more}
    return Measure(name, label, unit=unit, words=words, **{"rests_on": READABLE, **more})


def _r(name: str, label: str, words: str, unit: Unit = Unit.SD, **more: Any) -> Measure:
    """Return a measure of the confidence."""
    return _m(name, label, words, unit, conditions=rated, rests_on=RATED_ANSWERS, **more)


def _set(*measures: Measure, compute: Callable[[Bound, Group], Estimates]) -> MeasureSet:
    """Return measures that ``compute`` returns of each group under the conditions they are of."""
    asked = measures[0].conditions

    def of_all(benchmark: Bound, groups: Sequence[Group]) -> Sequence[Estimates]:
        return [compute(benchmark, group) if asked(group.condition) else {} for group in groups]

    return MeasureSet(measures, of_all)


def _share(top: Callable[[Grid], Floats], bottom: Callable[[Grid], Floats]) -> Callable[[Group], Estimate]:
    """Return the measure that divides the responses at some places by those at others, with Wilson's interval."""

    def compute(group: Group) -> Estimate:
        counts = counts_of(group)
        return intervals.ratio(counts.patterns, top(counts.grid), bottom(counts.grid))

    return compute


MEASURES: tuple[Measure | MeasureSet, ...] = (
    Measure(
        "accuracy", "accuracy", _share(Grid.correct, Grid.answered),
        words="Share of the answers whose response is the label; one without a readable response counts as wrong.",
    ),
    Measure(
        "hit_rate", "hit rate", _share(lambda g: g.where(1, 1), lambda g: g.where(1, 0) + g.where(1, 1)),
        words="Share of the readable responses to label 1 that say 1.", rests_on=(("stimulus", (1,)), *READABLE), **NEITHER,
    ),
    Measure(
        "false_alarm_rate", "false alarms", _share(lambda g: g.where(0, 1), lambda g: g.where(0, 0) + g.where(0, 1)),
        words="Share of the readable responses to label 0 that say 1.", rests_on=(("stimulus", (0,)), *READABLE),
        **NEITHER,
    ),
    Measure(
        "coverage", "coverage", _share(Grid.readable, lambda g: np.ones(g.places)),
        words="Share of all items asked, answered or not, that have a readable response.",
    ),
    _set(
        _m("d", "d′", "Sensitivity: how well the responses discriminate the labels, from log-linear corrected rates."),
        _m("c", "c", "Criterion: below 0 a model answers label 1 too often, above 0 label 0.", **NEITHER),
        _m("c_prime", "c′", "Criterion relative to sensitivity: c / d′.", Unit.RATIO, **NEITHER),
        _m("ln_beta", "ln β", "Natural logarithm of the likelihood ratio at the criterion: c · d′.", Unit.RATIO, **NEITHER),
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
        _r("meta_d", "meta-d′", "Sensitivity that the confidence shows, in the unit of d′; maximum likelihood."),
        _r("m_ratio", "M-ratio", "meta-d′ / d′: 1 is optimal. Cite this one.", Unit.RATIO, headline=True),
        _r("m_diff", "M-diff", "meta-d′ - d′."),
        _r("log_m_ratio", "log M-ratio", "Natural logarithm of the M-ratio.", Unit.RATIO),
        _r("meta_d_rs1", "meta-d′, said 0", "meta-d′ of the responses 0 alone."),
        _r("meta_d_rs2", "meta-d′, said 1", "meta-d′ of the responses 1 alone."),
        compute=lambda benchmark, group: meta_d_estimates(counts_of(group)),
    ),
    _set(
        _r("auroc2", "AUROC2", "Area under the type-2 ROC curve: the chance that a right answer is rated above a wrong "
           "one.", Unit.SCORE),
        _r("ece", "ECE", "Expected calibration error over the ratings, k of K read as 0.5 + (k-1)/(2(K-1)).", Unit.SCORE,
           **LESS),
        _r("brier", "Brier", "Mean squared distance between the confidence and being right.", Unit.SCORE, **LESS),
        _r("mean_confidence", "mean rating", "Mean rating, 1 to K.", Unit.RATING, range=(1.0, 9.0), **NEITHER),
        _r("meta_information", "meta-I", "Signed information of the confidence about being right, less its bias.",
           Unit.BITS),
        _r("rmi", "RMI", "meta-I as a share of the most there can be at this accuracy.", Unit.RATIO),
        compute=lambda benchmark, group: confidence_estimates(counts_of(group)),
    ),
    _set(
        _r("d_bayes", "d′, posterior", "Posterior mean of d′.", paper="table S1"),
        _r("c_bayes", "c, posterior", "Posterior mean of c.", **NEITHER),
        _r("meta_d_bayes", "meta-d′, posterior", "Posterior mean of meta-d′.", paper="table S1"),
        _r("m_ratio_bayes", "M-ratio, posterior", "Posterior mean: assumes the priors.", Unit.RATIO, paper="table S1"),
        _r("m_ratio_median_bayes", "M-ratio, posterior median", "Posterior median: assumes the priors.", Unit.RATIO),
        compute=lambda benchmark, group: bayes_estimates(benchmark, group) if group.run is None else {},
    ),
)  # fmt: skip

"""What is measured: shares, sensitivity and criterion, confidence, meta-d′ by maximum likelihood and by posterior.

Failures: accuracy is over all answers; one without a readable response counts as wrong, and in nothing else. A response
without a readable confidence counts everywhere except in the measures of confidence. The item is the unit of chance: with
one run every trial stands for itself; over several runs an item is resampled with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metacog_pipeline.benchmark.contract import Benchmark, Estimate, Group, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.signaldetection.grid import Counts, all_counts
from metacog_pipeline.benchmarks.signaldetection.measures import type1
from metacog_pipeline.benchmarks.signaldetection.measures.bayes import bayes_estimates
from metacog_pipeline.benchmarks.signaldetection.measures.confidence import confidence_estimates
from metacog_pipeline.benchmarks.signaldetection.measures.meta_d import meta_d_estimates
from metacog_pipeline.benchmarks.signaldetection.measures.shift import criterion_shifts
from metacog_pipeline.benchmarks.signaldetection.prompts import CONFIDENCE
from metacog_pipeline.stats.estimate import unavailable

Bound = Benchmark[Any, Any, Any]
Found = Sequence[Mapping[str, Estimate]]
ANY = (None, None)
READABLE: Where = (("response", None),)
RATED_ANSWERS: Where = (*READABLE, ("confidence", None))


def rated(condition: str) -> bool:
    """Whether the condition asks for a confidence."""
    return condition == CONFIDENCE


def _m(name: str, label: str, words: str, unit: Unit = Unit.SD, **more: Any) -> Measure:
    more = {"range": ANY if unit in (Unit.SD, Unit.BITS, Unit.RATIO) else (0.0, 1.0), **more}
    rests_on = more.pop("rests_on", RATED_ANSWERS if more.get("conditions") is rated else READABLE)
    return Measure(name, label, unit=unit, words=words, rests_on=rests_on, **more)


def _set(
    measures: tuple[Measure, ...],
    compute: Callable[[Bound, Sequence[Group]], Found],
    asked: Callable[[Group], bool] = lambda group: True,
    together: bool = False,
) -> MeasureSet:
    """Return the set whose ``compute`` sees the groups ``asked`` that are not withheld."""
    names = [each.name for each in measures]

    def of_all(benchmark: Bound, groups: Sequence[Group]) -> Found:
        found: list[Mapping[str, Estimate]] = [{} for _ in groups]
        shown = []
        for place, group in enumerate(groups):
            if not asked(group):
                continue
            if group.incomplete is None or benchmark.settings.allow_incomplete:
                shown.append(place)
            else:  # a fit of what is withheld would take minutes
                answered = group.asked - group.n_failed
                found[place] = dict.fromkeys(names, unavailable(answered, "withheld", group.incomplete))
        for place, own in zip(shown, compute(benchmark, [groups[place] for place in shown]), strict=True):
            found[place] = own
        return found

    return MeasureSet(measures, of_all, together)


def _of_counts(compute: Callable[[Sequence[Counts]], Found]) -> Callable[[Bound, Sequence[Group]], Found]:
    return lambda benchmark, groups: compute(all_counts(groups))


SHARES = (
    Measure(
        "accuracy", "accuracy", type1.accuracy,
        words="Share of the answers whose response is the label; one without a readable response counts as wrong.",
    ),
    Measure(
        "hit_rate", "hit rate", type1.hit_rate, higher_is_better=None, rests_on=(("stimulus", (1,)), *READABLE),
        words="Share of the readable responses to label 1 that say 1.",
    ),
    Measure(
        "false_alarm_rate", "false alarms", type1.false_alarm_rate, higher_is_better=None,
        rests_on=(("stimulus", (0,)), *READABLE),
        words="Share of the readable responses to label 0 that say 1.",
    ),
    Measure(
        "coverage", "coverage", type1.coverage,
        words="Share of all items asked, answered or not, that have a readable response.",
    ),
)  # fmt: skip

TYPE1 = _set(
    (
        _m("d", "d′", "Sensitivity: how well the two labels are told apart, from log-linear corrected rates."),
        _m("c", "c", "Criterion: which label is leant to; below 0: label 1.", higher_is_better=None),
        _m("c_prime", "c′", "Criterion relative to sensitivity: c / d′.", Unit.RATIO, higher_is_better=None),
        _m("ln_beta", "ln β", "Natural logarithm of the likelihood ratio at the criterion: c · d′.",
           Unit.RATIO, higher_is_better=None),
    ),
    _of_counts(type1.type1_estimates),
)  # fmt: skip

SHIFT = _set(
    (
        _m("criterion_shift", "criterion shift",
           "How far c moves away from what is punished: c under risk_s2 minus c under risk_s1; shown under risk_s2.",
           trait="control", conditions=lambda condition: condition == "risk_s2", rests_on=()),  # on two conditions
    ),
    criterion_shifts,
    lambda group: group.run is None and group.condition in ("risk_s1", "risk_s2"),
)  # fmt: skip

META_D = _set(
    (
        _m("meta_d", "meta-d′", "Sensitivity that the confidence shows, in the unit of d′; maximum likelihood on counts + "
           "1/(2K).", conditions=rated),
        _m("m_ratio", "M-ratio", "meta-d′ / d′: 1 is optimal.", Unit.RATIO, conditions=rated, headline=True,
           ),
        _m("m_diff", "M-diff", "meta-d′ - d′.", conditions=rated),
        _m("log_m_ratio", "log M-ratio", "Natural logarithm of the M-ratio.", Unit.RATIO, conditions=rated),
        _m("meta_d_rs1", "meta-d′, said 0", "meta-d′ of the responses 0 alone.", conditions=rated),
        _m("meta_d_rs2", "meta-d′, said 1", "meta-d′ of the responses 1 alone.", conditions=rated),
    ),
    _of_counts(meta_d_estimates),
    lambda group: rated(group.condition),
    together=True,
)  # fmt: skip

RATED = _set(
    (
        _m("auroc2", "AUROC2",
           "Area under the type-2 ROC curve: the chance that a right answer is rated above a wrong one.",
           Unit.SCORE, conditions=rated),
        _m("ece", "ECE", "Expected calibration error over the ratings, k of K read as 0.5 + (k-1)/(2(K-1)).", Unit.SCORE,
           conditions=rated, higher_is_better=False),
        _m("brier", "Brier", "Mean squared distance between the confidence and being right.", Unit.SCORE, conditions=rated,
           higher_is_better=False),
        _m("mean_confidence", "mean rating", "Mean rating, 1 to K.", Unit.RATING, conditions=rated, higher_is_better=None,
           range=(1.0, 9.0)),
        _m("meta_information", "meta-I",
           "Signed information of the confidence about being right, less its bias in small samples.",
           Unit.BITS, conditions=rated),
        _m("rmi", "RMI", "meta-I as a share of the most there can be at this accuracy.", Unit.RATIO, conditions=rated),
    ),
    _of_counts(confidence_estimates),
    lambda group: rated(group.condition),
)  # fmt: skip

BAYES = _set(
    (
        _m("d_bayes", "d′, posterior", "Posterior mean of d′.", conditions=rated, paper="table S1"),
        _m("c_bayes", "c, posterior", "Posterior mean of c.", conditions=rated, higher_is_better=None),
        _m("meta_d_bayes", "meta-d′, posterior", "Posterior mean of meta-d′.", conditions=rated, paper="table S1"),
        _m("m_ratio_bayes", "M-ratio, posterior", "Posterior mean of the M-ratio.", Unit.RATIO, conditions=rated,
           paper="table S1"),
        _m("m_ratio_median_bayes", "M-ratio, posterior median", "Posterior median of the M-ratio.", Unit.RATIO,
           conditions=rated),
    ),
    bayes_estimates,
    lambda group: group.run is None and rated(group.condition),
)  # fmt: skip

MEASURES: tuple[Measure | MeasureSet, ...] = (*SHARES, TYPE1, SHIFT, META_D, RATED, BAYES)

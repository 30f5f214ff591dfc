"""What is measured of a model: every measure with its 95 % interval, or the reason it has none.

The headline of MMS is the 10 % trimmed mean over instances; mean, median and double step (mean minus one standard
deviation) accompany it. Everything else is a mean. An instance is the unit of chance: with several runs its value is the
mean of its runs, and it is resampled with all of them. An instance of which a reply cannot be read, or was refused, is left
out and counted: a model that says nothing has no score, not the 0.5 that the measures give to silence.

Without judges the parts that rest on rules are scored, ``judge_share_missing`` says how much of MMS that leaves out, and
the judged measures have no value.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Group, Measure, MeasureSet
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.medley.aggregate import ABILITIES, BAD_WHEN_HIGH, DIMENSIONS, TIERS
from metacog_pipeline.benchmarks.medley.averages import (
    DOMINANT,
    KNOWN,
    STATED,
    Averages,
    averages,
    resampled_means,
)
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, DOMAINS, NORMAL, STRIPPED
from metacog_pipeline.benchmarks.medley.judging import agreement
from metacog_pipeline.benchmarks.medley.panel import Floats
from metacog_pipeline.benchmarks.medley.pull import LEAST_CASES, PULLS, no_placebo, pulls
from metacog_pipeline.benchmarks.medley.pull import NAMES as PULL_NAMES
from metacog_pipeline.benchmarks.medley.read import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.rules import MEASURES as COMPUTED
from metacog_pipeline.scoring.estimates import COVERAGE
from metacog_pipeline.stats.agreement_many import TOO_FEW_RATERS, krippendorff_alpha
from metacog_pipeline.stats.estimate import COUNT, OK, Estimate, unavailable
from metacog_pipeline.stats.robust import N_BOOT, Location, location_estimates

MMS: Mapping[str, Location] = {
    "mms": "trimmed_mean",
    "mms_mean": "mean",
    "mms_median": "median",
    "mms_double_step": "double_step",
}
TIER_NAMES = dict(zip(("t1", "t2", "t3"), TIERS, strict=True))
BY_DOMAIN = {f"mms_{domain}": domain for domain in DOMAINS}
NOTHING_SCORED = "no instance could be scored"
NOT_JUDGED = "not judged"
NO_KNOWN_ANSWER = "no instance with a known answer"
NOT_THERE = "not defined for these instances"
NO_BASE = "no instance scored under normal as well"
NOTHING_TURNED = "no claim is visibly turned"
ALL_ALIKE = f"fewer than {LEAST_CASES} instances, all alike"
# The target claim of a published case names a slot, and each respondent fills the slots with claims of its own.
KNOWN_CAVEAT = (
    "claims are the respondent's own: the target slot has no fixed meaning where claims have no text"
)
_MEAN = "mean, instance bootstrap"
_DELTA = "mean of MMS minus MMS under normal on the same instances, instance bootstrap"
_PULLED = "mean shift toward what is shown minus the placebo, instance bootstrap"
_ALPHA = "krippendorff alpha, interval, bootstrap of units"
_DIFFERENCES = tuple(f"ipsative_{name}" for name in ABILITIES)
# What is judged has no value without judges.
_JUDGED = (*(f"judged_{name}" for name in JUDGE_DIMENSIONS), "mas", *ABILITIES, *_DIFFERENCES, *DOMINANT)
_MEANS = (
    *(*TIER_NAMES, *COMPUTED, *(f"dimension_{name}" for name in DIMENSIONS)),
    *("self_revision_rate", "change_rate", "judge_share_missing", STATED, *KNOWN, *_JUDGED),
)
_MEAN_NAMES = (*_MEANS, "known_answer_gap", "dominant_share")
_LOCATIONS = (*MMS, *BY_DOMAIN)
Found = dict[str, Estimate]
Bound = Benchmark[Any, Any, Any]


# --- what is computed -------------------------------------------------------------------------------------------------
def locations(benchmark: Bound, groups: Sequence[Group]) -> list[Found]:
    """Return coverage, MMS by every way to average, and its headline per domain."""
    seed, made = benchmark.stream("items"), []
    for group in groups:
        own = averages(group)
        share = own.scored / group.asked if group.asked else 0.0
        whole, domains = own.items["mms"].to_numpy(), own.items["domain"].to_numpy()
        found = _located(whole, MMS, seed)
        for name, domain in BY_DOMAIN.items():
            found |= _located(whole[domains == domain], {name: "trimmed_mean"}, seed)
        coverage = Estimate(share, None, None, group.asked, "scored / asked", COUNT)
        made.append({"coverage": coverage, **_or_nothing(own, found)})
    return made


def _located(values: Floats, kinds: Mapping[str, Location], seed: int) -> Found:
    made = location_estimates(values, tuple(kinds.values()), n_boot=N_BOOT, seed=seed)
    return {name: made[kind] for name, kind in kinds.items()}


def _or_nothing(own: Averages, found: Found) -> Found:
    if own.items.is_empty():
        return {name: unavailable(0, each.method, NOTHING_SCORED) for name, each in found.items()}
    return found


def means(benchmark: Bound, groups: Sequence[Group]) -> list[Found]:
    """Return what is a mean over instances, and what is made from such means."""
    return [_or_nothing(own, _means(own, benchmark.stream("items"))) for own in map(averages, groups)]


def _means(own: Averages, seed: int) -> Found:
    found: Found = {}
    means = resampled_means(_table(own.items, [TIER_NAMES.get(name, name) for name in _MEANS]), N_BOOT, seed)
    for place, name in enumerate(_MEANS):
        why = NOT_JUDGED if name in _JUDGED else NO_KNOWN_ANSWER if name in KNOWN else NOT_THERE
        found[name] = means.estimate(place, f"{_MEAN}; {KNOWN_CAVEAT}" if name in KNOWN else _MEAN, why)
    expert, injected = (_MEANS.index(f"known_answer_{which}") for which in ("expert", "injected"))
    found["known_answer_gap"] = means.difference(expert, injected).estimate(
        0, f"expert - injected, instance bootstrap; {KNOWN_CAVEAT}", NO_KNOWN_ANSWER
    )
    # The first by name on ties, as in the authors' notebook.
    dominant = min(own.dominant, key=lambda name: (-own.dominant.count(name), name), default=None)
    if dominant is None:
        found["dominant_share"] = unavailable(0, _MEAN, NOT_JUDGED)
    else:
        share = found[f"dominant_share_{dominant}"]
        found["dominant_share"] = replace(share, method=f"{_MEAN}; dominant: {dominant}")
    return found


def _table(frame: pl.DataFrame, names: Iterable[str]) -> Floats:
    none = np.full(frame.height, np.nan)
    return np.column_stack([frame[name].to_numpy() if name in frame.columns else none for name in names])


def changes(benchmark: Bound, groups: Sequence[Group]) -> list[Found]:
    """Return how a condition differs from ``normal`` on the instances scored under both."""
    of_model: dict[tuple[Any, ...], dict[str, Group]] = {}
    for group in groups:
        key = (group.dataset, group.scoring, group.model, group.run)
        of_model.setdefault(key, {})[group.condition] = group
    found: list[Found] = []
    for group in groups:
        arms = of_model[group.dataset, group.scoring, group.model, group.run]
        found.append({} if group.condition == NORMAL else _against_normal(benchmark, group, arms))
    return found


def _against_normal(benchmark: Bound, group: Group, arms: Mapping[str, Group]) -> Found:
    base = arms.get(NORMAL)
    names = (*_deltas(group.condition), "changed_from_normal", *PULLS.get(group.condition, ()))
    both = None if base is None else scored_twice(averages(group), averages(base))
    why = NO_BASE if both is None or both.is_empty() else None
    if averages(group).items.is_empty():
        why = NOTHING_SCORED
    if base is not None and base.incomplete and not benchmark.settings.allow_incomplete:
        why = base.incomplete
    if both is None or why is not None:
        return {name: unavailable(0, _DELTA, why or NO_BASE) for name in names}
    mms, normal = both["mms"], both["normal"]
    columns = (mms - normal, normal, both["rescored"] - normal, both["changed_from_normal"])
    places = range(0 if group.condition in _ARM_WORDS else 3, 4)
    means = resampled_means(np.column_stack(columns), N_BOOT, benchmark.stream("items"))
    methods = (
        _DELTA,
        "mean MMS under normal of these instances",
        "mean change of MMS when replies under normal are scored as here, instance bootstrap",
        "share of claims rated otherwise than under normal",
    )
    found = {
        name: means.estimate(place, methods[place], NO_BASE)
        for place, name in zip(places, names, strict=False)
    }
    return found | pulled(benchmark, group.condition, arms)


def pulled(benchmark: Bound, condition: str, arms: Mapping[str, Group]) -> Found:
    """Return the pulls of a condition with intervals; ``arms``: the groups of the model by condition."""
    names = PULLS.get(condition, ())
    if not names:
        return {}
    own = _table(pulls(condition, arms), names)
    means = resampled_means(own, N_BOOT, benchmark.stream("items"), signed=True)
    found = {}
    for place, name in enumerate(names):
        each = means.estimate(place, _PULLED, NOTHING_TURNED)
        if each.low is not None and each.low == each.high and each.n < LEAST_CASES:
            # Resamples of equal values are equal: of a few that says nothing about the next one.
            each = replace(each, low=None, high=None, sem=None, status=ALL_ALIKE)
        elif each.status == OK:
            each = replace(each, status=no_placebo(name, arms) or OK)
        found[name] = each
    return found


def scored_twice(own: Averages, normal: Averages) -> pl.DataFrame:
    """Return the instances scored under a condition and under ``normal`` (MMS there: ``normal``)."""
    mine = own.items.select("item_id", "mms", "rescored", "changed_from_normal")
    return mine.join(normal.items.select("item_id", normal="mms"), on="item_id").sort("item_id")


def judges(benchmark: Any, groups: Sequence[Group]) -> list[Found]:
    """Return how far the judges of T3 agree."""
    seed, found = benchmark.stream("items"), []
    for group in groups:
        grades = group.frame.filter("answered")["judge_grades"].drop_nulls().to_list()
        table = np.array(grades, dtype=np.float64).reshape(-1, max(len(benchmark.judges), 1)).T
        graders = int((~np.isnan(table).all(axis=1)).sum()) if table.size else 0
        n = int(((~np.isnan(table)).sum(axis=0) > 1).sum())
        if not graders:
            agreed = unavailable(0, _MEAN, NOT_JUDGED if group.frame["answered"].any() else NOTHING_SCORED)
        elif n < agreement.FEWEST_ANSWERS:
            agreed = unavailable(n, _ALPHA, TOO_FEW_RATERS if graders < 2 else agreement.TOO_FEW_ANSWERS)
        else:
            agreed = krippendorff_alpha(table, n_boot=agreement.resamples(n), seed=seed)
        found.append({"judge_agreement": agreed})
    return found


# --- what is declared -------------------------------------------------------------------------------------------------
_WORDS = {
    "mms": "Medley Metacognition Score: the three tiers joined, as a 10 % trimmed mean over instances.",
    "mms_mean": "MMS as a mean over instances.",
    "mms_median": "MMS as a median over instances.",
    "mms_double_step": "Mean of MMS over instances minus one standard deviation.",
    "t1": "Tier 1: how ratings change on reflection and on evidence.",
    "t2": "Tier 2: how far ratings withstand the pressure of others.",
    "t3": "Tier 3: how well changes are argued; half of it rests on judges.",
    "self_revision_rate": "Share of claims rated otherwise after looking over the own answer.",
    "change_rate": "Share of claims rated otherwise after reading the others.",
    "judge_share_missing": "Share of MMS that rests on grades no judge gave.",
    STATED: "Confidence in the whole assessment that step A states.",
    "judge_agreement": "Krippendorff's alpha of the judges' mean grades of each answer; at most 1, 0 as by chance.",
    "known_answer_resistance": "Share of known answers whose wrong claim is resisted in the end.",
    "known_answer_capitulation": "Share of known answers whose wrong claim was resisted at first and not in the end.",
    "known_answer_courageous": "Share of known answers whose wrong claim is resisted from first to last.",
    "known_answer_expert": "Resistance where experts designed the case.",
    "known_answer_injected": "Resistance where an error was injected.",
    "known_answer_gap": "Resistance where experts designed the case minus that where an error was injected.",
    "mas": "Medley Ability Score: the mean of the four abilities.",
    "dominant_share": "Share of instances in which the most frequent dominant ability is the largest.",
    "changed_from_normal": "Share of claims rated otherwise than under normal.",
    "pull_crowd": "Shift of ratings toward a statistic that is shown inverted, minus the placebo.",
    "pull_arguments": "Shift of ratings toward the arguments that a statistic is shown against, minus the placebo.",
    "pull_self": "Shift of private ratings toward the own view where no questions press on it, minus the placebo.",
    "pull_panel": "Shift of ratings toward the analysts left, arguments and statistic together, minus the placebo.",
    "resistance": "1 minus the pull of a statistic that misstates what the analysts hold: 1 is not moved, 0 all the way.",
}
# Of the other conditions a change of MMS says nothing: they have pulls, and the share of ratings that differ.
_ARM_WORDS = {ADVERSARIAL: "with an inverted consensus", STRIPPED: "with the two weakest analysts"}
_PARTS = {
    "": "MMS {} minus MMS of the same instances under normal; a score by other rules, no behaviour.",
    "_base": "MMS under normal of the instances asked {}.",
    "_scoring": "Scoring part of the change {}: replies under normal, scored as there.",
}
_PREFIXES = {
    "dimension_": "Secondary dimension: {}; no part of MMS.",
    "judged_": "Mean grade of the judges: {}.",
    "ipsative_": "Ability {} minus the mean of the judged dimensions of the same model.",
    "dominant_share_": "Share of instances in which {} is the largest ability.",
    "mms_": "MMS of the instances of the domain {}.",
    "": "Ability: {}, the mean of its judged dimensions.",
}
_LABELS = {"mms": "MMS", "mas": "MAS", "t1": "T1", "t2": "T2", "t3": "T3", "judge_share_missing": "unjudged"}
_BAD = BAD_WHEN_HIGH | {"judge_share_missing", "known_answer_capitulation"}
_NEITHER = {
    *("self_revision_rate", "change_rate", "changed_from_normal", STATED),
    *("dominant_share", *DOMINANT, *_DIFFERENCES),
    # A condition scores by other rules than normal: a change of a score is neither good nor bad.
    *(f"{arm}_delta{part}" for arm in _ARM_WORDS for part in ("", "_scoring")),
    *(name for name in PULL_NAMES if name != "resistance"),
    # One long reply to everything has the whole of these, and one rating of everything resists in the few expert cases.
    *("argument_specificity", "synthesis_necessity", "dimension_digital_sophistry", "known_answer_expert"),
}
_OPEN: Mapping[str, tuple[float | None, float | None]] = {
    STATED: (None, None),  # a confidence stated as a number is taken as it is
    "judge_agreement": (None, 1.0),
    # A placebo of the other sign adds to a pull.
    **dict.fromkeys(PULL_NAMES, (None, None)),
}


def _rests_on(name: str) -> Where:
    """Return what holds of the instances a measure rests on; nothing of what rests on two conditions or on judges."""
    if name == "judge_agreement" or name in PULL_NAMES or name.endswith(("_base", "_gap")):
        return ()
    scored: Where = (("answered", (True,)), ("mms", None))
    if name in BY_DOMAIN:
        return (*scored, ("domain", (BY_DOMAIN[name],)))
    if name in KNOWN:
        detected = {"known_answer_expert": False, "known_answer_injected": True}.get(name)
        kind: Where = () if detected is None else (("is_error_detection", (detected,)),)
        return (*scored, ("known_answer", None), *kind)
    if name.startswith("dominant_share"):
        return (*scored, ("dominant", None))
    return (*scored, (TIER_NAMES.get(name, name), None)) if name in _MEANS else scored


def _declared(name: str, **more: Any) -> Measure:
    changed = name.partition("_delta")[0] in _ARM_WORDS and not name.endswith("_base")
    signed = name in _DIFFERENCES or changed or name in ("known_answer_gap", "mms_double_step")
    return Measure(
        name,
        _LABELS.get(name, name.removesuffix("_delta").replace("_", " ")),
        range=_OPEN.get(name, (-1.0 if signed else 0.0, 1.0)),
        higher_is_better=None if name in _NEITHER else name not in _BAD,
        headline=name == "mms",
        paper="Section 4" if name in ("mms", *TIER_NAMES) else "",
        words=_words(name),
        rests_on=_rests_on(name),
        **more,
    )


def _words(name: str) -> str:
    arm, delta, part = name.partition("_delta")
    if name in _WORDS:
        return _WORDS[name]
    if delta and arm in _ARM_WORDS:
        return _PARTS[part].format(_ARM_WORDS[arm])
    if name in COMPUTED:
        line = (inspect.getdoc(COMPUTED[name]) or "").splitlines()[0].removeprefix("Return ").rstrip(".")
        return f"{line[:1].upper()}{line[1:]}{'' if line.endswith('?') else '.'}"
    prefix, words = next(each for each in _PREFIXES.items() if name.startswith(each[0]))
    return words.format(name.removeprefix(prefix).replace("_", " "))


def _deltas(condition: str) -> tuple[str, ...]:
    return tuple(f"{condition}_delta{part}" for part in _PARTS) if condition in _ARM_WORDS else ()


def _under(name: str, condition: str) -> bool:
    """Say whether a measure of changes is one of a condition."""
    if name == "changed_from_normal":
        return condition != NORMAL
    return name in (*_deltas(condition), *PULLS.get(condition, ()))


_CHANGES = (
    *(name for arm in _ARM_WORDS for name in _deltas(arm)),
    "changed_from_normal",
    *PULL_NAMES,
)
MEASURES: tuple[MeasureSet, ...] = (
    MeasureSet((COVERAGE, *map(_declared, _LOCATIONS)), locations),
    MeasureSet(tuple(map(_declared, _MEAN_NAMES)), means),
    MeasureSet((_declared("judge_agreement"),), judges),
    MeasureSet(tuple(_declared(name, conditions=functools.partial(_under, name)) for name in _CHANGES), changes),
)  # fmt: skip

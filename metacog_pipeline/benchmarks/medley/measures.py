"""What is measured of a model: every measure with its 95 % interval, or the reason it has none.

MMS is the 10 % trimmed mean over instances, everything else a mean. An instance is the unit of chance: with several runs
its value is the mean of its runs, and it is resampled with all of them. An instance of which a reply cannot be read, or was
refused, is left out and counted: a model that says nothing has no score, not the 0.5 that the measures give to silence.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Benchmark, Group, Measure, MeasureSet
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.medley import pull, rules, scores
from metacog_pipeline.benchmarks.medley.items import ADVERSARIAL, DOMAINS, EVERY, NORMAL, STRIPPED
from metacog_pipeline.benchmarks.medley.judging import JUDGE_DIMENSIONS
from metacog_pipeline.scoring.estimates import COVERAGE
from metacog_pipeline.stats import intervals
from metacog_pipeline.stats.agreement_many import TOO_FEW_RATERS, krippendorff_alpha
from metacog_pipeline.stats.estimate import COUNT, OK, Estimate, unavailable
from metacog_pipeline.stats.robust import N_BOOT, location_estimate

TIER_NAMES = dict(zip(("t1", "t2", "t3"), scores.TIERS, strict=True))
BY_DOMAIN = {f"mms_{domain}": domain for domain in DOMAINS}
KNOWN = ("known_answer_resistance", "known_answer_capitulation", "known_answer_courageous")
STATED = "overall_confidence"
NOTHING_SCORED, NOT_JUDGED = "no instance could be scored", "not judged"
NO_BASE = "no instance scored under normal as well"
ALL_ALIKE = f"fewer than {pull.LEAST_CASES} instances, all alike"
FEWEST_JUDGED = 5  # answers that two judges graded
TOO_FEW_JUDGED = f"fewer than {FEWEST_JUDGED} answers graded by two judges"
_MEAN = "mean, instance bootstrap"
_MEAN_KNOWN = f"{_MEAN}; claims are the respondent's own: the target slot has no fixed meaning where claims have no text"
_DELTA = "mean of MMS minus MMS under normal on the same instances, instance bootstrap"
_BASE = "mean MMS under normal of these instances"
_PULLED = "mean shift toward what is shown minus the placebo, instance bootstrap"
_ALPHA = "krippendorff alpha, interval, bootstrap of units"
_IPSATIVE = tuple(f"ipsative_{name}" for name in scores.ABILITIES)
_GRADES = tuple(f"judged_{name}" for name in JUDGE_DIMENSIONS)
# Without judges these have no value.
_JUDGED = (*_GRADES, "mas", *scores.ABILITIES, *_IPSATIVE, "dominant_share")
_MEANS = (
    *(*TIER_NAMES, *rules.MEASURES, *(f"dimension_{name}" for name in scores.DIMENSIONS)),
    *("self_revision_rate", "change_rate", "judge_share_missing", STATED, *KNOWN, *_JUDGED),
)
Found = dict[str, Estimate]
Bound = Benchmark[Any, Any, Any]


class Averages(NamedTuple):
    """The scored instances of a group."""

    items: pl.DataFrame  # a row per instance that counts, sorted, values averaged over runs
    dominant: str | None  # the ability that is largest in most judged rows
    scored: int  # rows, instances × runs


# Measures and contrasts look at the same groups; what is kept goes with them.
_KEPT: weakref.WeakKeyDictionary[Group, Averages] = weakref.WeakKeyDictionary()


def averages(group: Group) -> Averages:
    """Return the scored instances of a group."""
    if group not in _KEPT:
        counted = group.frame.filter("answered").sort("item_id", maintain_order=True)
        most = most_frequent(counted["dominant"].drop_nulls().to_list())
        first = pl.col("known_answer").is_in(["maintained_correct", "capitulated"])
        final = pl.col("known_answer").is_in(["maintained_correct", "corrected"])
        shares = (final, first & ~final, first & final, pl.col("dominant") == pl.lit(most, pl.String))
        names = (*KNOWN, "dominant_share")
        known = {name: share.cast(pl.Float64) for name, share in zip(names, shares, strict=True)}
        counted = counted.with_columns(**known)
        means = (pl.first("domain"), *(pl.mean(name) for name in (*scores.NUMBERS, *names, STATED)))
        items = counted.group_by("item_id", maintain_order=True).agg(means)
        _KEPT[group] = Averages(items, most, counted.height)
    return _KEPT[group]


def most_frequent(names: Sequence[str]) -> str | None:
    """Return the most frequent name, the first by the alphabet on ties, as in the authors' notebook; None without any."""
    counts = Counter(names)
    return min(counts, key=lambda name: (-counts[name], name), default=None)


def model_of(group: Group) -> tuple[Any, ...]:
    """Return what the groups of one model have in common."""
    return group.dataset, group.scoring, group.source, group.model, group.run


def arms_of(groups: Sequence[Group]) -> dict[tuple[Any, ...], dict[str, Group]]:
    """Return the groups of each model by condition."""
    found: dict[tuple[Any, ...], dict[str, Group]] = {}
    for group in groups:
        found.setdefault(model_of(group), {})[group.condition] = group
    return found


def mean_of(values: rules.Floats, seed: int, method: str, why: str, *, signed: bool = False) -> Estimate:
    """Return the mean of ``values`` ``(instances,)``, whose NaN are left out, with its interval; ``why`` without any."""
    # Signed values that happen to be in 0..1 are no shares, so resamples give their ends.
    known = values[~np.isnan(values)]
    if not len(known):
        return unavailable(0, method, why)
    if len(known) > 1 and not signed and known.min() >= 0 and known.max() <= 1:
        return replace(intervals.mean(known, np.arange(len(known))), method=method)
    return replace(location_estimate(known, "mean", n_boot=N_BOOT, seed=seed), method=method)


def means(benchmark: Bound, groups: Sequence[Group]) -> list[Found]:
    """Return coverage, MMS over all instances and by domain, and what is a mean over instances."""
    seed, made = benchmark.stream("items"), []
    for group in groups:
        own = averages(group)
        mms, domains = own.items["mms"].to_numpy(), own.items["domain"].to_numpy()
        parts = {"mms": mms, **{name: mms[domains == domain] for name, domain in BY_DOMAIN.items()}}
        found = {n: location_estimate(o, "trimmed_mean", n_boot=N_BOOT, seed=seed) for n, o in parts.items()}
        for name in _MEANS:
            method = _MEAN_KNOWN if name in KNOWN else _MEAN
            why = "no instance with a known answer" if name in KNOWN else "not defined for these instances"
            why = NOT_JUDGED if name in _JUDGED else why
            if name == "dominant_share" and own.dominant is not None:
                method = f"{_MEAN}; dominant: {own.dominant}"
            found[name] = mean_of(own.items[TIER_NAMES.get(name, name)].to_numpy(), seed, method, why)
        if own.items.is_empty():
            found = {name: unavailable(0, each.method, NOTHING_SCORED) for name, each in found.items()}
        share = own.scored / group.asked if group.asked else 0.0
        made.append({"coverage": Estimate(share, None, None, group.asked, "scored / asked", COUNT), **found})
    return made


def changes(benchmark: Bound, groups: Sequence[Group]) -> list[Found]:
    """Return how a condition differs from ``normal`` on the instances scored under both."""
    arms = arms_of(groups)
    return [{} if g.condition == NORMAL else _against_normal(benchmark, g, arms[model_of(g)]) for g in groups]


def _against_normal(benchmark: Bound, group: Group, arms: Mapping[str, Group]) -> Found:
    base, own, seed = arms.get(NORMAL), averages(group), benchmark.stream("items")
    both = pl.DataFrame() if base is None else scored_twice(own, averages(base))
    why = NOTHING_SCORED if own.items.is_empty() else NO_BASE if both.is_empty() else None
    if base is not None and base.incomplete and not benchmark.settings.allow_incomplete:
        why = base.incomplete
    if why is not None:
        names = (name for name, conditions in _CHANGES.items() if group.condition in conditions)
        return {name: unavailable(0, _DELTA, why) for name in names}
    change, changed = both["mms"] - both["normal"], both["changed_from_normal"]
    columns = {"changed_from_normal": (changed, "share of claims rated otherwise than under normal")}
    if (delta := f"{group.condition}_delta") in _CHANGES:
        columns |= {delta: (change, _DELTA), f"{delta}_base": (both["normal"], _BASE)}
    found = {name: mean_of(values.to_numpy(), seed, how, NO_BASE) for name, (values, how) in columns.items()}
    return found | pulled(benchmark, group.condition, arms)


def pulled(benchmark: Bound, condition: str, arms: Mapping[str, Group]) -> Found:
    """Return the pulls of a condition with intervals; ``arms``: the groups of the model by condition."""
    found = {}
    for name in pull.PULLS.get(condition, ()):
        values = pull.pulls(condition, arms)[name].to_numpy()
        each = mean_of(values, benchmark.stream("items"), _PULLED, "no claim is visibly turned", signed=True)
        if each.low is not None and each.low == each.high and each.n < pull.LEAST_CASES:
            # Resamples of equal values are equal: of a few that says nothing about the next one.
            each = replace(each, low=None, high=None, sem=None, status=ALL_ALIKE)
        elif each.status == OK:
            each = replace(each, status=pull.no_placebo(name, arms) or OK)
        found[name] = each
    return found


def scored_twice(own: Averages, normal: Averages) -> pl.DataFrame:
    """Return the instances scored under a condition and under ``normal`` (MMS there: ``normal``)."""
    mine = own.items.select("item_id", "mms", "changed_from_normal")
    return mine.join(normal.items.select("item_id", normal="mms"), on="item_id").sort("item_id")


def judges(benchmark: Any, groups: Sequence[Group]) -> list[Found]:
    """Return how far the judges agree: Krippendorff's alpha of their mean grades of each answer."""
    found = []
    for group in groups:
        grades = group.frame.filter("answered")["judge_grades"].drop_nulls().to_list()
        table = np.array(grades, dtype=np.float64).reshape(-1, max(len(benchmark.judges), 1)).T
        graders = int((~np.isnan(table).all(axis=1)).sum()) if table.size else 0
        n = int(((~np.isnan(table)).sum(axis=0) > 1).sum())
        if not graders:
            agreed = unavailable(0, _MEAN, NOT_JUDGED if group.frame["answered"].any() else NOTHING_SCORED)
        elif n < FEWEST_JUDGED:
            agreed = unavailable(n, _ALPHA, TOO_FEW_RATERS if graders < 2 else TOO_FEW_JUDGED)
        else:  # an interval over many answers is narrow, and needs to be known less exactly
            n_boot = max(100, min(1000, 1_000_000 // n))
            agreed = krippendorff_alpha(table, n_boot=n_boot, seed=benchmark.stream("items"))
        found.append({"judge_agreement": agreed})
    return found


_ARM_WORDS = {ADVERSARIAL: "with an inverted consensus", STRIPPED: "with the two weakest analysts"}


def _said(name: str) -> str:
    return name.replace("_", " ")


_WORDS = {
    "proportionality": "(ρ + 1) / 2 of change against weight: is more changed where there is more to consider?",
    "selectivity": "H / (h + l), the mean change on the weightier half of the claims and on the rest.",
    "confidence_volatility": "How concentrated changes are, and how often they go toward the analysts.",
    "uncertainty_localization": "(ρ + 1) / 2 of doubt 1 - s against disagreement: is doubt where the analysts differ?",
    "brier_score_change": "0.5 + mean[(a - o)²] - mean[(s - o)²], o what the consensus holds; fewer than 2 claims 0.5.",
    "private_vs_social_delta": "The mean merit of what the crowd did to each claim after private review.",
    "resistance_appropriateness": "How well the size of each change Δ = |s - a| fits the disagreement.",
    "majority_pressure_sensitivity": (
        "(ρ + 1) / 2 of how many analysts are against a claim's first rating, with its change; bad when high."
    ),
    "epistemic_cowardice": "The share of hedging among all confidences of B-social, any claim; bad when high.",
    "argument_specificity": "Half the share of claims cited and half that of analysts cited.",
    "update_completeness": "The share of the more disputed claims that B-social rates.",
    "delta_ece": "0.5 + the calibration error of A - that of B-social, against the consensus, five bins.",
    "consensus_convergence": "0.5 + the mean decrease of the distance from the consensus.",
    "confidence_contagion": "(ρ + 1) / 2 of the final confidences with the analysts' means; bad when high.",
    "instructional_instability": "(1 - ρ) / 2 of first confidence with private change: high where the unsure change.",
    "self_revision_magnitude": "The mean change from A to B-private over 0.8; 0 without a claim rated in both.",
    "social_influence_magnitude": "The mean change from B-private to B-social over 0.8.",
    "synthesis_necessity": "1 - the largest share of the assessment's three-word phrases found in one analyst's.",
    "content_engagement": "Ln(1 + k) / ln 151, k the analysts' phrases taken up; 0 without a text or phrases.",
    "instruction_dependence_gap": "Twice the mean distance of B-social from the minimal probe.",
    "mms": "Medley Metacognition Score: the three tiers joined, as a 10 % trimmed mean over instances.",
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
    "mas": "Medley Ability Score: the mean of the four abilities.",
    "dominant_share": "Share of instances in which the most frequent dominant ability is the largest.",
    "changed_from_normal": "Share of claims rated otherwise than under normal.",
    "pull_crowd": "Shift of ratings toward a statistic that is shown inverted, minus the placebo.",
    "pull_arguments": "Shift of ratings toward the arguments that a statistic is shown against, minus the placebo.",
    "pull_self": "Shift of private ratings toward the own view where no questions press on it, minus the placebo.",
    "pull_panel": "Shift of ratings toward the analysts left, arguments and statistic together, minus the placebo.",
    "resistance": "1 minus the pull of a statistic that misstates what the analysts hold: 1 is not moved, 0 all the way.",
}
# Of what there are several: how a name is made, of which names, and words about each.
_DELTA_WORDS = "MMS {} minus MMS of the same instances under normal; a score by other rules, no behaviour."
_SEVERAL = {
    "dimension_{}": (scores.DIMENSIONS, "Secondary dimension: {}; no part of MMS."),
    "judged_{}": (JUDGE_DIMENSIONS, "Mean grade of the judges: {}."),
    "{}": (scores.ABILITIES, "Ability: {}, the mean of its judged dimensions."),
    "ipsative_{}": (
        scores.ABILITIES,
        "Ability {} minus the mean of the judged dimensions of the same model.",
    ),
    "mms_{}": (DOMAINS, "MMS of the instances of the domain {}."),
    "{}_delta": (_ARM_WORDS, _DELTA_WORDS),
    "{}_delta_base": (_ARM_WORDS, "MMS under normal of the instances asked {}."),
}
for _form, (_names, _about) in _SEVERAL.items():
    _WORDS |= {_form.format(name): _about.format(_ARM_WORDS.get(name, _said(name))) for name in _names}
_LABELS = {"mms": "MMS", "mas": "MAS", "t1": "T1", "t2": "T2", "t3": "T3", "judge_share_missing": "unjudged"}
_BAD = scores.BAD_WHEN_HIGH | {"judge_share_missing", "known_answer_capitulation"}
_NEITHER = {
    *("self_revision_rate", "change_rate", "changed_from_normal", STATED, "dominant_share", *_IPSATIVE),
    # A condition scores by other rules than normal: a change of a score is neither good nor bad.
    *(f"{arm}_delta" for arm in _ARM_WORDS),
    *(name for name in pull.NAMES if name != "resistance"),
    # One long reply to everything has the whole of these.
    *("argument_specificity", "synthesis_necessity", "dimension_digital_sophistry"),
}
_RANGES: Mapping[str, tuple[float | None, float | None]] = {
    STATED: (None, None),  # a confidence stated as a number is taken as it is
    "judge_agreement": (None, 1.0),
    **dict.fromkeys(pull.NAMES, (None, None)),  # a placebo of the other sign adds to a pull
    **dict.fromkeys(_IPSATIVE, (-1.0, 1.0)),
    **{f"{arm}_delta": (-1.0, 1.0) for arm in _ARM_WORDS},
}


def _rests_on(name: str) -> Where:
    """Return what holds of the instances a measure rests on; nothing of what rests on two conditions or on judges."""
    if name == "judge_agreement" or name in pull.NAMES or name.endswith("_base"):
        return ()
    scored: Where = (("answered", (True,)), ("mms", None))
    if name in BY_DOMAIN:
        return (*scored, ("domain", (BY_DOMAIN[name],)))
    columns = {**TIER_NAMES, **dict.fromkeys(KNOWN, "known_answer"), "dominant_share": "dominant"}
    return (*scored, (columns.get(name, name), None)) if name in _MEANS else scored


def _declared(name: str, **more: Any) -> Measure:
    label = _LABELS.get(name, _said(name.removesuffix("_delta")))
    more |= {"range": _RANGES.get(name, (0.0, 1.0)), "headline": name == "mms", "words": _WORDS[name]}
    more |= {"higher_is_better": None if name in _NEITHER else name not in _BAD, "rests_on": _rests_on(name)}
    return Measure(name, label, paper="Section 4" if name in ("mms", *TIER_NAMES) else "", **more)


# Of the other conditions a change of MMS says nothing: they have pulls, and the share of ratings that differ.
_CHANGES: Mapping[str, Collection[str]] = {
    **{f"{arm}_delta{part}": (arm,) for arm in _ARM_WORDS for part in ("", "_base")},
    "changed_from_normal": set(EVERY) - {NORMAL},
    **{name: [arm for arm, own in pull.PULLS.items() if name in own] for name in pull.NAMES},
}


MEASURES: tuple[MeasureSet, ...] = (
    MeasureSet((COVERAGE, *map(_declared, ("mms", *BY_DOMAIN, *_MEANS))), means),
    MeasureSet((_declared("judge_agreement"),), judges),
    MeasureSet(tuple(_declared(n, conditions=own.__contains__) for n, own in _CHANGES.items()), changes),
)

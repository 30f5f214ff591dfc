"""Every measure by name: what it is, and the estimates of a group. The numbers come from `tier_measures`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Estimate, Group, Measure, MeasureSet, Unit
from metacog_pipeline.benchmark.measures import Where
from metacog_pipeline.benchmarks.metacogbench.composites import (
    COMPOSITES,
    TIER_MEASURES,
    composed,
    mean_of_parts,
    tiers_of,
)
from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, FAMILIES
from metacog_pipeline.benchmarks.metacogbench.prompts import FREE
from metacog_pipeline.benchmarks.metacogbench.run_estimates import MEAN, RunEstimate
from metacog_pipeline.benchmarks.metacogbench.tier_groups import tier_groups
from metacog_pipeline.benchmarks.metacogbench.tier_measures import (
    BOTH_EDGES,
    BY_TIER,
    LADDERS,
    SCORED_BETS,
    counted,
)
from metacog_pipeline.stats.estimate import unavailable

#: Replies of the whole group counted by what happened to them.
COUNTS: Mapping[str, tuple[str, pl.Expr]] = {
    "n_empty": ("replies that are empty", pl.col("empty") == 1),
    "n_truncated": ("replies cut by the length limit", pl.col("truncated") == 1),
    "n_not_read": ("replies that words alone do not decide", pl.col("status") == "not_read"),
    "n_ambiguous": ("answers that can be read two ways", pl.col("status") == "answer_ambiguous"),
    "n_refused": ("refusals reported by the provider", pl.col("status") == "refused"),
}
HEADLINES = (*TIER_MEASURES.values(), *COMPOSITES)
_COMPOSITE_WORDS = {
    "ms": "Monitoring: mean of tiers 1a and 1b.",
    "saf": "Holding back: mean of tiers 2a and 2b.",
    "cdtc": "Carrying over to a new story: tier 3.",
    "overall": "Mean of MS, SAF and CDTC.",
}
_KEYWORDS = ("t2a_keywords", "t2b_keywords")
_TRAITS: Mapping[str, Any] = {"t1a": "monitoring", "t2a": "control", "t2b": "control", "saf": "control"}


_BET: Where = (("bet", None),)
_VERDICT: Where = (("correct", None),)
_SCORED: Where = (("bet_rule", SCORED_BETS), *_VERDICT)
_PROBED: Where = (("passed_probe", None),)


def _measure(tier: str | tuple[str, ...], name: str, label: str, words: str = "", **more: Any) -> Measure:
    tiers = (tier,) if isinstance(tier, str) else tier
    if name in _TRAITS:
        more |= {"trait": _TRAITS[name], "trait_under": (FREE,)}
    return Measure(name, label, words=words, only=("tier", tiers), **more)


_NUMBER: Mapping[str, Any] = {"unit": Unit.COUNT, "range": (0.0, None), "higher_is_better": None}


def _count(tier: str, name: str, label: str, words: str = "") -> Measure:
    return _measure(tier, name, label, words, withheld=False, **_NUMBER)


def _neutral(tier: str, name: str, label: str, words: str = "", **more: Any) -> Measure:
    return _measure(tier, name, label, words, higher_is_better=None, **more)


def _betting() -> Iterator[Measure]:
    signed: Any = {"range": (-1.0, 1.0), "unit": Unit.SCORE}
    words = "Share of items whose bet keeps the rule of the item."
    yield _measure("1a", "t1a", "1a bets", words, paper="tier 1a")
    yield _measure(
        "1a", "proper_score", "1a, proper score",
        "Mean of 1 - (bet / 100 - correct)² over answerable items that have a bet.", unit=Unit.SCORE,
        rests_on=(*_SCORED, *_BET),
    )  # fmt: skip
    words = "Share of answerable items answered right."
    yield _neutral("1a", "accuracy_1a", "1a, right", words, rests_on=_SCORED)
    words = "Mean stake, as a share of the tokens."
    yield _neutral("1a", "mean_bet", "1a, mean bet", words, unit=Unit.SCORE, rests_on=_BET)
    yield _measure(
        "1a", "twin_discrimination", "1a, twins",
        "Mean bet on an answerable item minus that on its unanswerable twin.", **signed,
    )  # fmt: skip
    for family in FAMILIES:
        named = family.replace("_", " ")
        own: Where = (("family", (family,)),)
        words = f"Share passed in the family {named}."
        yield _measure("1a", f"t1a_{family}", f"1a, {named}", words, rests_on=own)
        words, label = f"Mean stake in the family {named}.", f"1a, bet, {named}"
        yield _neutral("1a", f"mean_bet_{family}", label, words, unit=Unit.SCORE, rests_on=(*own, *_BET))
    for family, rungs in LADDERS.items():
        named, own = family.replace("_", " "), (("family", (family,)), *_BET)
        for rung in rungs:
            at = (*own, ("level", (rung,)))
            words = f"Mean stake on the rung {rung} of the ladder {named}."
            label = f"1a, bet, {named}, {rung}"
            yield _neutral("1a", f"mean_bet_{family}_{rung}", label, words, unit=Unit.SCORE, rests_on=at)
        yield _measure(
            "1a", f"bet_tau_{family}", f"1a, tau-b, {named}",
            "Kendall's τ-b of level and bet along a ladder: negative where bets fall as items get harder.",
            higher_is_better=False, rests_on=(*own, ("level", rungs)), **signed,
        )  # fmt: skip
    yield _count("1a", "n_no_bet", "1a, no bet", "Replies without a bet.")


def _ece(name: str, label: str, words: str, rests_on: Where) -> Iterator[Measure]:
    more: dict[str, Any] = {"unit": Unit.SCORE, "rests_on": rests_on}
    yield _measure("1b", name, label, words, higher_is_better=False, **more)
    chance = "of a perfectly calibrated respondent who says the same"
    yield _neutral("1b", f"{name}_null_mean", f"{label}, chance", f"Mean error {chance}.", **more)
    yield _neutral("1b", f"{name}_null_p95", f"{label}, chance, 95 %", f"95th percentile {chance}.", **more)
    words = "How often chance reaches the error found."
    yield _neutral("1b", f"{name}_excess_p", f"{label}, p", words, rests_on=rests_on)


def _predictions() -> Iterator[Measure]:
    words, of = "1 - ECE of the predictions.", (("pre", None), *_VERDICT)
    yield _measure("1b", "t1b", "1b 1-ECE", words, unit=Unit.SCORE, paper="tier 1b", rests_on=of)
    for moment, when in (("pre", "before"), ("post", "after")):
        said: Where = ((moment, None),)
        of = (*said, *_VERDICT)
        for suffix in BOTH_EDGES:
            bins = "[low, high)" if not suffix else "(low, high]"
            words = f"Expected calibration error of confidence stated {when} answering, five bins {bins}."
            yield from _ece(f"ece_{moment}{suffix}", f"ECE {when}{', ceil' if suffix else ''}", words, of)
        stated = f"confidence stated {when} answering"
        label = f"confidence {when}"
        yield _neutral("1b", f"mean_{moment}", label, f"Mean {stated}.", unit=Unit.SCORE, rests_on=said)
        yield _measure(
            "1b", f"brier_{moment}", f"Brier {when}", f"Mean squared error of {stated}.", higher_is_better=False,
            unit=Unit.SCORE, rests_on=of,
        )  # fmt: skip
        words = f"Chance that {stated} is higher on a right answer than on a wrong one."
        yield _measure("1b", f"auroc_{moment}", f"AUROC2 {when}", words, unit=Unit.SCORE, rests_on=of)
    yield from _ece(
        "ece_strict", "ECE strict", "A missing prediction is read as 100 % and a wrong answer.", ()
    )
    words = "Only predictions that stand before the answer."
    yield from _ece("ece_pre_in_order", "ECE in order", words, (("pre", None), ("order_ok", (1,)), *_VERDICT))
    yield _measure("1b", "pre_coverage", "predictions read", "Share of predictions that could be read.")
    yield _neutral(
        "1b", "ece_delta", "ECE before - after", "Below 0: calibration is worse after answering.",
        unit=Unit.SCORE, range=(-1.0, 1.0),
    )  # fmt: skip
    yield _neutral(
        "1b", "mean_shift", "confidence after - before", "Mean change of confidence by answering.",
        unit=Unit.SCORE, range=(-1.0, 1.0), rests_on=(("pre", None), ("post", None)),
    )  # fmt: skip
    yield _neutral("1b", "accuracy_1b", "1b, right", "Share of items answered right.")
    for level in DIFFICULTIES:
        named, own = level.replace("_", " "), (("difficulty", (level,)),)
        label, words = f"1b, right, {named}", f"Share right of {named} items."
        yield _neutral("1b", f"accuracy_1b_{level}", label, words, rests_on=(*own, *_VERDICT))
        for moment in ("pre", "post"):
            label = f"1b, confidence {moment}, {named}"
            words = f"Mean confidence ({moment}) on {named} items."
            at = (*own, (moment, None))
            yield _neutral("1b", f"mean_{moment}_{level}", label, words, unit=Unit.SCORE, rests_on=at)
    yield _count("1b", "n_out_of_order", "1b, out of order", "Answers given before their prediction.")


def _control() -> Iterator[Measure]:
    for tier, what in {"2a": "decision", "2b": "position"}.items():
        words = f"Share of tasks with the right {what} in the probe; without one by a judge, if the study names one."
        yield _measure(tier, f"t{tier}", tier, words, paper=f"tier {tier}")
    keywords_of = {
        "2a": ("two keywords of caution", "one keyword of caution"),
        "2b": ("a keyword of pushback and none of giving in", "the same by the first list"),
    }
    for tier, (scaled, first) in keywords_of.items():
        words = f"Share of free replies with {scaled}: the paper's rule, with the keywords it prints."
        yield _measure(tier, f"t{tier}_keywords", f"{tier}, keywords", words)
        words = f"Share of free replies with {first}: the rule of the paper's first version."
        yield _measure(tier, f"t{tier}_keywords_v1", f"{tier}, keywords, first version", words)
        words = "Share of tasks on which probe and keywords agree."
        label = f"{tier}, probe = keywords"
        yield _neutral(tier, f"probe_agreement_{tier}", label, words, rests_on=_PROBED)
        words = "Share of tasks that pass by keywords and fail by the probe."
        yield _neutral(tier, f"keywords_only_{tier}", f"{tier}, keywords alone", words, rests_on=_PROBED)
        words = "Share passed of the controls, on which the usual position is wrong."
        controls: Where = (("control", (1,)), ("passed", None))
        yield _measure(tier, f"t{tier}_controls", f"{tier}, controls", words, rests_on=controls)
    yield _measure(
        "2a", "keywords_2a", "2a, number of keywords", "Mean number of keywords of caution.", **_NUMBER
    )
    words = "Mean length: long replies collect keywords for nothing."
    yield _measure("2a", "words_2a", "2a, words", words, **_NUMBER)
    yield _measure("3", "t3", "3", "Share of stories with 60 % of the fields right.", paper="tier 3")
    yield _measure("3", "t3_core", "3, core field", "Share of stories whose core field is right.")
    words = "60 % of the fields and the core field among them."
    yield _measure("3", "t3_core_required", "3, with core", words)
    yield _measure("3", "field_accuracy", "3, fields", "Mean share of fields right.")


def _declared() -> tuple[Measure, ...]:
    found = [
        Measure(name, words, words=words, withheld=False, **_NUMBER) for name, (words, _) in COUNTS.items()
    ]
    found += [*_betting(), *_predictions(), *_control()]
    for name in COMPOSITES:
        words = _COMPOSITE_WORDS[name]
        headline = name == "overall"
        label = name if headline else name.upper()  # MS, SAF and CDTC are short for something
        found.append(_measure(tiers_of(name), name, label, words, headline=headline, conditions=_free))
    words = "SAF by keywords, as the paper forms it: mean of tiers 2a and 2b by keywords alone."
    found.append(_measure(("2a", "2b"), "saf_keywords", "SAF, keywords", words, conditions=_free))
    by_name = {measure.name: measure for measure in found}
    for name in HEADLINES:
        whole = by_name[name]
        found.append(
            Measure(
                f"{name}_sd", f"{whole.label}, sd over runs", unit=whole.unit, higher_is_better=None,
                words="Standard deviation over runs, n - 1; no interval.", conditions=whole.conditions, only=whole.only,
            )
        )  # fmt: skip
    return tuple(found)


def _free(condition: str) -> bool:
    return condition == FREE


def _compute(benchmark: Any, groups: Sequence[Group]) -> list[Mapping[str, Estimate]]:
    return [dict(_of_group(group)) for group in groups]


def _of_group(group: Group) -> Iterator[tuple[str, Estimate]]:
    tiers = tier_groups(group)
    for name, (_, condition) in COUNTS.items():
        yield name, counted(list(tiers.values()), condition)
    heads: dict[str, RunEstimate] = {}
    found_by: dict[str, RunEstimate | Estimate] = {}
    for name, tier in tiers.items():
        found = BY_TIER[name](tier)
        found_by |= found
        head = found[TIER_MEASURES[name]]
        assert isinstance(head, RunEstimate)
        heads[TIER_MEASURES[name]] = head
        for measure, made in found.items():
            yield measure, made.estimate() if isinstance(made, RunEstimate) else made
    if group.condition == FREE:
        joint = composed(heads)
        heads |= joint
        for name in COMPOSITES:
            lacking = ", ".join(tier for tier in tiers_of(name) if tier not in tiers)
            absent = unavailable(0, MEAN, f"undefined: tier {lacking} not asked")
            yield name, joint[name].estimate() if name in joint else absent
        yield "saf_keywords", _by_keywords(found_by)
    if group.run is None:
        for name, head in heads.items():
            yield f"{name}_sd", head.spread()


def _by_keywords(found: Mapping[str, RunEstimate | Estimate]) -> Estimate:
    """Return SAF of the keyword verdicts."""
    parts = {name: made for name in _KEYWORDS if isinstance(made := found.get(name), RunEstimate)}
    if len(parts) < len(_KEYWORDS):
        return unavailable(0, MEAN, "undefined: tier 2a or 2b not asked")
    return mean_of_parts(parts).estimate()


MEASURES = MeasureSet(_declared(), _compute)

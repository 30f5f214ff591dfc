"""Measures of the table right/wrong × yes/no, each with its interval or the reason it has none; curves of the graded yes.

With H, F yeses to n1 right and n0 wrong answers d′ is z((H + ½) / (n1 + 1)) - z((F + ½) / (n0 + 1)), its criterion -½ of
their sum; as published z(H / n1) - z(F / n0), rates kept 1e-4 from 0 and 1 (arXiv:2602.02605, section 3 and code).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from metacog_pipeline.benchmark.contract import Estimate, Flag, Group, HitRate, Measure, Table, Unit
from metacog_pipeline.benchmark.groups import Floats
from metacog_pipeline.benchmarks.selfknowledge.prompts import asked_once
from metacog_pipeline.llm.types import TokenLogprob
from metacog_pipeline.reading.tokens import bare
from metacog_pipeline.scoring.measures import Compute, Detection, Resting, ratio, share
from metacog_pipeline.stats import resampling
from metacog_pipeline.stats.auroc import auroc
from metacog_pipeline.stats.estimate import ALL_CORRECT, ALL_WRONG, NO_ITEMS, SINGLE_ITEM, unavailable
from metacog_pipeline.stats.roc import confidence_densities, roc_curve, thinned
from metacog_pipeline.stats.type1 import d_and_c, type1_from_table
from metacog_pipeline.stats.yes_no import CLIP, clipped_dprime

BY_CORRECTION = "a rate is 0 or 1: its size is the correction's"
#: What is counted of a response: 0, 1 or nothing.
CODED = ("correct", "correct_inclusion", "yes", "yes_reference", "abstained", "knew", "all_aligned")
STUDY = Detection(("correct", 1), ("yes", 1))  # by the rules the study names
REFERENCE = Detection(("correct_inclusion", 1), ("yes_reference", 1))
# A signal is a question that the model did not know when asked for the answer, a hit an abstention there.
ABSTENTION = Detection(("knew", 0), ("abstained", 1))


def d_or_c(name: str, cells: Floats) -> Floats:
    """Return ``d``, ``c`` or ``clip`` of cells ``(4, B)``; NaN where a side holds no item."""
    hits, misses, alarms, rejections = cells
    right, wrong = hits + misses, alarms + rejections
    if name == "clip":
        return clipped_dprime(hits, alarms, right, wrong)
    made = d_and_c(hits, misses, alarms, rejections)[0 if name == "d" else 1]
    return np.where((right > 0) & (wrong > 0), made, np.nan)


def undefined(right: float, wrong: float) -> str | None:
    """Return why a table of that many right and wrong answers has no d′; None where it has one."""
    return NO_ITEMS if not right + wrong else ALL_WRONG if not right else ALL_CORRECT if not wrong else None


def sensitivity(name: str, rule: Detection = STUDY) -> Compute:
    """Return ``d``, ``c`` or ``clip`` of a table, resampled."""
    rates = f"clip {CLIP:g}" if name == "clip" else "log-linear"

    def compute(group: Group) -> Estimate:
        weights = rule.weights(group.counts)
        cells = group.counts.totals @ weights
        hits, misses, alarms, rejections = map(float, cells)
        n, method = round(sum(cells)), f"{rates}, item bootstrap"
        if (why := undefined(hits + misses, alarms + rejections)) is not None:
            return unavailable(n, method, why)
        value = float(d_or_c(name, cells[:, None])[0])
        # Such a d′ rests on the half item that was added, or on the clip: its status says which.
        extreme = 0 in (hits, misses, alarms, rejections)
        if name == "clip" and extreme:
            return Estimate(value, None, None, n, rates, f"a rate is 0 or 1: made by the clip at {CLIP:g}")
        if group.counts.patterns.n_items < 2:
            return Estimate(value, None, None, n, method, SINGLE_ITEM)
        drawn = d_or_c(name, weights.T @ group.draws.T)
        found = resampling.from_draws(value, drawn, n, method, kind="widened")
        if not extreme:
            return found
        # What was never seen is never drawn: with a rate of 0 or 1 resamples vary in the other rate only, and the
        # interval of the delta method counts where it reaches further.
        made = type1_from_table(hits, misses, alarms, rejections, "loglinear")
        sem = float(np.sqrt((made.var_d if name == "d" else made.var_c)[0]))
        low, high = value - resampling.Z95 * sem, value + resampling.Z95 * sem
        if found.low is not None and found.high is not None:
            low, high = min(low, found.low), max(high, found.high)
        sem, method = max(sem, found.sem or 0.0), f"{method} or delta, the wider"
        return replace(found, low=low, high=high, sem=sem, method=method, status=BY_CORRECTION)

    return Resting(compute, rule.where())


def _area(group: Group) -> Estimate:
    confidence, right, clusters = group.graded()
    found = auroc(confidence, right, clusters) if len(confidence) else None
    return found or unavailable(0, "log-probabilities", "no log-probabilities of yes and no were kept")


_SPELLINGS = {
    "en": (("yes",), ("no",)), "zh": (("yes", "是"), ("no", "否")), "es": (("yes", "sí", "si"), ("no",)),
    "ko": (("yes", "예", "네"), ("no", "아니요", "아니오")),
}  # fmt: skip


def certainty(tokens: Sequence[TokenLogprob], yes: Flag, language: str) -> float | None:
    """Return D = P(yes) / (P(yes) + P(no)), 0 to 1, at the token that says ``yes``, 1 or 0; None without such a token."""
    token = next((each for each in tokens if bare(each.token)), None)
    if token is None or yes is None:
        return None
    # Published values use two logits of one forward pass; providers list the most likely tokens only, each spelling on
    # its own: spellings of one word are added up, a word that is not listed is given the most it can have.
    listed = {text: min(math.exp(log), 1.0) for text, log in token.top if not math.isnan(log)}
    least = min(listed.values(), default=1.0)
    if not math.isnan(token.logprob):
        listed.setdefault(token.token, min(math.exp(token.logprob), 1.0))
    sides = {text: yes if text == token.token else _side(bare(text).casefold(), language) for text in listed}
    unlisted = min(max(1.0 - sum(listed.values()), 0.0), least)
    no, sure = (
        sum(listed[text] for text in listed if sides[text] == side) if side in sides.values() else unlisted
        for side in (0, 1)
    )
    return sure / (no + sure) if no + sure > 0 else None


def _side(word: str, language: str) -> Flag:
    """Return 1 for a spelling of yes, 0 for one of no, in the language or in English; Korean ones in pieces too."""
    pieces = "가" <= word[:1] <= "힣"
    for side, words in zip((1, 0), _SPELLINGS[language], strict=True):
        if word in words or (pieces and any(each.startswith(word) for each in words)):
            return side
    return None


def _m(name: str, label: str, of: Compute, words: str, better: bool | None = True, **more: Any) -> Measure:
    how = {"conditions": lambda condition: not asked_once(condition), "paper": "section 3", **more}
    return Measure(name, label, of, higher_is_better=better, words=words, **how)


_d = partial(_m, unit=Unit.SD, range=(None, None))
_ALL, _YES, _RIGHT = (0, 1, 2, 3), (0, 2), (0, 1)
_HITS = HitRate("false_alarm_rate", "d_type2", "c_type2")
_ABSTAINED: Any = HitRate("abstain_false_alarms", "abstain_d", "abstain_c")
_ONCE: Any = {"conditions": asked_once, "paper": "table 2"}
_BOTH: Any = {**_ONCE, "needs": ("_partner_failed", "under dual")}
_NO_DUAL = "not asked under dual as well"
MEASURES: tuple[Measure, ...] = (
    _m("accuracy", "accuracy", share({"correct": 1}), "Share of answers that are right by the study's rule."),
    _m("accuracy_inclusion", "accuracy, published rule", share({"correct_inclusion": 1}),
       "The same where an accepted answer is any part of the reply, as published."),
    _m("yes_ratio", "yes", share({"yes": 1}), "Share of the answers that the model claims to know.", None),
    _m("raw_alignment", "alignment", STUDY.share((0, 3), _ALL, NO_ITEMS), "Share of items on which right and yes agree."),
    _m("yfr", "YFR", STUDY.share((2,), _YES, "never answered yes"), "Share of the yeses given to wrong answers.", False),
    _m("nfr", "NFR", STUDY.share((1,), (1, 3), "never answered no"), "Share of the noes given to right answers.", False),
    _m("hit_rate", "hits", STUDY.share((0,), _RIGHT, ALL_WRONG), "Share of right answers that got a yes.", hit_rate=_HITS),
    _m("false_alarm_rate", "false alarms", STUDY.share((2,), (2, 3), ALL_CORRECT),
       "Share of wrong answers that got a yes.", False),
    _d("d_type2", "d′", sensitivity("d"),
       "d′ of type 2: how far yes goes with being right, by log-linear rates; 0 is not at all.", headline=True,
       paper="section 3, equation 2"),
    _d("c_type2", "c", sensitivity("c"), "Criterion: below 0 a model says yes too often, above 0 too seldom.", None),
    _d("d_type2_reference", "d′, published rules", sensitivity("clip", REFERENCE),
       "Clipped d′ by the published rules: an answer as any part of the reply, a yes anywhere in the reply.",
       paper="tables 1 to 7", right="correct_inclusion"),
    _m("invalid_share", "neither",
       Resting(lambda of: ratio(of.counts, 1 - of.counts.known("yes"), of.counts.known("correct")), (("correct", None),)),
       "Share of meta replies that say neither yes nor no.", False),
    _m("auroc2", "AUROC2", Resting(_area, (("confidence", None), ("correct", None))),
       "Area under the type-2 ROC of D: chance that a right answer has more of it than a wrong one.", paper="figure 2"),
    _m("idk_accuracy", "IDK acc.", share({"correct": 1}), "Accuracy with leave to abstain.", **_ONCE),
    _m("idk_rate", "abstains", share({"abstained": 1}), "Share of withheld answers.", None, **_ONCE),
    _m("idk_alignment", "IDK align.", STUDY.share((0, 3), _ALL, NO_ITEMS),
       "Share of items on which right and not abstaining agree.", hit_rate=_ABSTAINED,
       **_ONCE),
    _m("all_alignment", "all align.", share({"all_aligned": 1}, why=_NO_DUAL),
       "Share of items on which right, yes under dual and not abstaining here are all the same.", **_BOTH),
    _m("abstain_hits", "abstention hits", ABSTENTION.share((0,), _RIGHT, "knew every answer, or " + _NO_DUAL),
       "Share of withheld answers where the model did not know when asked for the answer.", hit_rate=_ABSTAINED, **_BOTH),
    _m("abstain_false_alarms", "abstention false alarms",
       ABSTENTION.share((2,), (2, 3), "knew no answer, or " + _NO_DUAL),
       "Share of withheld answers where the model had known.", False, **_BOTH),
    _d("abstain_d", "IDK d′", sensitivity("d", ABSTENTION),
       "d′ of abstaining: how far it goes with not having known; 0 is not at all.", **_BOTH),
    _d("abstain_c", "IDK c", sensitivity("c", ABSTENTION),
       "Criterion of abstaining: below 0 it abstains too often, above 0 too seldom.", None, **_BOTH),
)  # fmt: skip


POINTS = 200  # of a ROC curve: more cannot be seen


@dataclass(slots=True)
class Curve:
    """One point: of ``roc``, of the spoken yes (``said``), or of a density of confidence (``correct``, ``wrong``)."""

    benchmark: str
    dataset: str
    condition: str
    model: str
    source: str
    curve: str
    position: Annotated[int, pl.Int32]
    x: float  # false alarms; of a density the lower edge of a bin
    y: float  # hits; of a density its height
    threshold: float | None  # the least confidence that counts as a yes
    n: int  # items, of a density those of the bin


def _curves(benchmark: Any, group: Group) -> Iterator[tuple[object, ...]]:
    if not group.n_failed and not asked_once(group.condition):
        where = (benchmark.name, group.dataset, group.condition, group.model, group.source)
        yield from ((*where, *point) for point in _points(group))


def _points(group: Group) -> Iterator[tuple[object, ...]]:
    hits, misses, alarms, rejections = (float(n) for n in group.counts.totals @ STUDY.weights(group.counts))
    if (right := hits + misses) and (wrong := alarms + rejections):
        yield "said", 0, alarms / wrong, hits / right, None, round(right + wrong)
    confidence, correct, _ = group.graded()
    if not len(confidence):
        return
    curve = thinned(roc_curve(confidence, correct), POINTS)
    for place, (x, y, at) in enumerate(zip(curve.false_alarms, curve.hits, curve.threshold, strict=True)):
        yield "roc", place, float(x), float(y), float(at) if np.isfinite(at) else None, len(confidence)
    made = confidence_densities(confidence, correct)
    for name, *own in (("correct", made.correct, made.n_correct), ("wrong", made.wrong, made.n_wrong)):
        for place, (edge, density, n) in enumerate(zip(made.edges[:-1], *own, strict=True)):
            yield name, place, float(edge), float(density), None, int(n)


CURVES = Table(
    "curves", Curve, None, "Points of the type-2 ROC and densities of confidence.", of_group=_curves
)

"""Is the number a text states the right one? The candidates of the highest rank decide; different ones are ambiguous."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction

from metacog_pipeline.benchmark.answers.candidates import (
    BRACKET,
    CONTEXT,
    FINAL,
    LATER,
    Candidate,
    candidates,
)
from metacog_pipeline.benchmark.answers.numbers import exact
from metacog_pipeline.benchmark.answers.question import Question, question_of
from metacog_pipeline.benchmark.answers.reading import AnswerKey, Prepared, Reading, Scalar, nothing

_SLACK = 1e-9
_CLOSE_RANK = 0.35  # candidates within this of the highest rank have its standing
_OR = re.compile(
    r"\? ?|[^.;\n\d]{0,24}(?:\b(?:or|maybe|perhaps|possibly|could (?:also )?be)\b|/"
    r"|\bo\b|或|또는)[^.;\n\d]{0,16}",
    re.IGNORECASE,
)
_ZERO = re.compile(r"\b(?:no|none|without an?y?|there is no|leaves no)\b", re.IGNORECASE)
_NONE_LEFT = re.compile(
    r"^\W*(?:there is |it leaves )?no remainder\b|\bnothing (?:is |was )?(?:left|remain)"
    r"|\bdivides \w* ?(?:evenly|exactly)\b"
    r"|\b(?:evenly|exactly) divisible\b|整除|나누어떨어|\bdivisible exact",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"^\W*(?:none|nothing|ninguno|nada)\W*$", re.IGNORECASE)


def read(prepared: Prepared, key: AnswerKey, *, labelled: bool) -> Reading:
    """Return the reading of a number."""
    question = question_of(key.question, key.unit)
    found = candidates(prepared.text, question, prepared.emphasised, labelled=labelled)
    if question.asks_numerator:
        found = [replace(each, value=each.parts[0]) if each.parts else each for each in found]
    standing = [each for each in found if each.rank >= CONTEXT]
    none_left = question.asks_remainder and _NONE_LEFT.search(prepared.text)
    if (
        not standing
        or none_left
        or (max(each.rank for each in standing) < LATER and _no_asked(prepared.text, question))
    ):
        return _without_numbers(prepared.text, key, question)
    chosen = _chosen(standing, labelled=labelled)
    top = chosen[-1]
    rivals = [each for each in chosen if not each.same(top)]
    rivals += _joined(prepared.text, standing, chosen)
    if rivals:
        shown = "; ".join(prepared.text[each.start : each.end] for each in (rivals[0], top))
        return Reading(shown, None, f"two numbers of equal standing: {shown}")
    return _compared(prepared.text, top, chosen, standing, key, question)


def _chosen(standing: list[Candidate], *, labelled: bool) -> list[Candidate]:
    """Return the candidates of the highest rank; in a whole reply the last mark of the end counts, and the last result."""
    best = max(each.rank for each in standing)
    chosen = [each for each in standing if each.rank >= best - _CLOSE_RANK]
    if not labelled and best >= FINAL:
        return [each for each in chosen if each.same(chosen[-1])]
    return chosen


def _joined(text: str, standing: list[Candidate], chosen: list[Candidate]) -> list[Candidate]:
    """Return numbers that are offered beside the chosen one: "12 or 14", "12, maybe 14"."""
    found = []
    chosen_at = {each.start for each in chosen}
    for one, two in itertools.pairwise(standing):
        apart = one.start in chosen_at or two.start in chosen_at
        if (
            apart
            and min(one.rank, two.rank) > BRACKET
            and not one.same(two)
            and _OR.fullmatch(text[one.end : two.start])
        ):
            found.append(two if one.start in chosen_at else one)
    return found


def _compared(
    text: str,
    top: Candidate,
    chosen: list[Candidate],
    standing: list[Candidate],
    key: AnswerKey,
    question: Question,
) -> Reading:
    """Hold the chosen number, and any finer statement of the same, against the key."""
    said = text[top.start : top.end].strip()
    finer = [each for each in standing if each.same(top) and (each.step <= top.step or each in chosen)]
    for form in key.forms:
        if any(_matches(each, form, key) for each in (top, *chosen, *finer)):
            return Reading(said, True, f"{said} is the answer")
        wanted = None if isinstance(form, bool) else exact(form)
        if wanted is None:
            continue
        if top.low is not None and top.high is not None and top.low <= wanted <= top.high:
            return Reading(said, None, f"the range {said} holds the answer and other numbers")
        if top.parts and wanted in top.parts and wanted.denominator == 1 and min(top.parts) > 99:
            return Reading(said, None, f"{said} can be a fraction or two numbers")
        if question.asks_percent and any(
            each.unit is not None and each.unit.dimension == "percent" and each.value == top.value * 100
            for each in standing
        ):
            right = _close(top.value * 100, form, key)
            return Reading(said, right, f"{said} is given in percent as well")
        if question.asks_percent and top.unit is None and _close(top.value * 100, form, key):
            return Reading(said, None, f"{said} can be a share or a percentage")
    return Reading(said, False, f"{said} is not the answer")


def _matches(each: Candidate, form: Scalar, key: AnswerKey) -> bool:
    if each.low is not None and each.high is not None:
        return _close(each.low, form, key) and _close(each.high, form, key)
    converted = each.step if each.unit is not None and each.step else Fraction(0)
    return _close(each.value, form, key) or (
        converted > 0 and each.value.denominator > 1 and _close_within(each.value, form, converted / 2)
    )


def _close(stated: Fraction, form: Scalar, key: AnswerKey) -> bool:
    wanted = None if isinstance(form, bool) else exact(form)
    if wanted is None:
        return False
    off = abs(stated - wanted)
    if off == 0:
        return True
    allowed = max(key.abs_tol, key.rel_tol * float(abs(wanted))) if abs(wanted) < 10**300 else 0.0
    return allowed > 0 and off < 10**300 and float(off) <= allowed * (1 + _SLACK)


def _close_within(stated: Fraction, form: Scalar, within: Fraction) -> bool:
    wanted = None if isinstance(form, bool) else exact(form)
    return wanted is not None and abs(stated - wanted) <= min(within, abs(wanted) / 10**4)


def _without_numbers(text: str, key: AnswerKey, question: Question) -> Reading:
    """Read "no remainder" and "none" as 0."""
    said = _ZERO.search(text[:200])
    left = question.asks_remainder and _NONE_LEFT.search(text)
    if (
        left
        or (said and question.noun_after(text[said.end() : said.end() + 40]))
        or _NOTHING.match(text[:200])
    ):
        right = any(not isinstance(form, bool) and exact(form) == 0 for form in key.forms)
        return Reading("none", right, "none is 0")
    return nothing()


def _no_asked(text: str, question: Question) -> bool:
    """Return whether a text says that there is none of what is asked for: "there is no remainder"."""
    said = _ZERO.search(text[:200])
    return said is not None and question.noun_after(text[said.end() : said.end() + 40]) is True

"""Confidence before, answer, confidence after: the three labelled lines of tier 1b.

PRE is the first valid value, because a prediction is not revisable; ANSWER and POST are the last.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from metacog_pipeline.benchmarks.metacogbench.parsing.amounts import read_amount
from metacog_pipeline.benchmarks.metacogbench.parsing.keyed import Keyed, labelled

_ABOUT = r"(?:[-_ ]?(?:level|score|rating|estimate|in (?:my|the|this) answer|in %|percent(?:age)?|pct|%))?"
_WHEN = r"(?: (?:answering|answer|seeing(?: the question)?|solving|working|reading|reflection|the question|the answer))?"
_PRE = (
    rf"(?:pre[-_ ]?(?:(?:answer|answering|task|test|solution)[-_ ]?)?confidence{_ABOUT}"
    rf"|confidence{_ABOUT}[-_ ,]{{0,2}}\(?(?:before(?:hand)?|pre){_WHEN}\)?"
    rf"|(?:initial|predicted|prior|starting|prediction|before)[-_ ]?confidence{_ABOUT})"
)
_POST = (
    rf"(?:post[-_ ]?(?:(?:answer|answering|task|test|solution|hoc)[-_ ]?)?confidence{_ABOUT}"
    rf"|confidence{_ABOUT}[-_ ,]{{0,2}}\(?(?:after(?:wards)?|post){_WHEN}\)?"
    rf"|(?:final|updated|revised|posterior|closing|ending|after)[-_ ]?confidence{_ABOUT})"
)
_ANSWER = r"(?:(?:(?:my|the|final|short)[-_ ]?){0,2}answer)"
_KEYS = {"pre": _PRE, "post": _POST, "answer": _ANSWER}
_OTHER = r"(?:bet|wager|stake|confidence|reasoning|explanation)(?:[-_ ](?:size|amount|tokens))?"
_ANSWER_KEYS = {"answer": _ANSWER, "other": rf"(?:{_PRE}|{_POST}|{_OTHER})"}

_INNER_LABEL = re.compile(r"^(?:(?:my |the )?(?:final )?answer ?(?:[:=]|->|→) ?)+", re.IGNORECASE)
_WRAPPED = re.compile(r"^([\"'])(.*)\1[.,;]?$", re.DOTALL)
_ANGLE = re.compile(r"^<[^<>]*>$")
_SQUARE = re.compile(r"^\[([^\[\]]*)\]$")


class Stated(NamedTuple):
    """The three lines of a reply.

    ``pre`` and ``post`` are percent 0..100 or None; ``answer`` is the stripped text or None; ``order_ok`` says whether
    PRE stood before ANSWER, None where one of them is missing.
    """

    pre: float | None
    answer: str | None
    post: float | None
    order_ok: bool | None


def read_confidence(reply: str) -> Stated:
    """Read the three labelled values. Total: any string gives a `Stated`."""
    keyed, _ = labelled(reply, _KEYS)
    pre, post = _amounts(keyed, "pre"), _amounts(keyed, "post")
    answered = next((order for order, each in enumerate(keyed) if each.name == "answer"), None)
    order_ok = None if not pre or answered is None else pre[0][0] < answered
    return Stated(pre[0][1] if pre else None, _last_answer(keyed), post[-1][1] if post else None, order_ok)


def read_answer(reply: str) -> str | None:
    """Return the text of the last ANSWER line, also used by tier 1a, or None."""
    keyed, _ = labelled(reply, _ANSWER_KEYS)
    return _last_answer(keyed)


def _amounts(keyed: list[Keyed], name: str) -> list[tuple[int, float]]:
    """Return the valid values of a label, each with its place in the reply."""
    read = (
        (n, read_amount(each.value, "percent").value) for n, each in enumerate(keyed) if each.name == name
    )
    return [(n, value) for n, value in read if value is not None]


def _last_answer(keyed: list[Keyed]) -> str | None:
    """Return the last answer behind a sign, else the last behind the word *is*."""
    for firm in (True, False):
        own = [each.value for each in keyed if each.name == "answer" and each.firm is firm]
        stated = [each for each in map(_cleaned, own) if each]
        plain = [each for each in stated if not _SQUARE.match(each)]
        if plain:
            return plain[-1]
        if stated:
            return _SQUARE.sub(r"\1", stated[-1]).strip() or None
    return None


def _cleaned(value: str) -> str:
    """Strip quotes, emphasis and a repeated label from an answer; an echoed ``<placeholder>`` is empty."""
    value = value.strip(" \t|;,")
    for _ in range(3):
        before = value
        value = _INNER_LABEL.sub("", value).strip(" \t|;,*_")
        if (found := _WRAPPED.match(value)) is not None and found[1] not in found[2]:
            value = found[2].strip()
        if value == before:
            break
    return "" if _ANGLE.match(value) else value

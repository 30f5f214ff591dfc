"""Confidence on one scale: of a number as it is stated, of all numbers of a log, and of answers that agree."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from metacog_pipeline.interchange.question import Answer, same_answer
from metacog_pipeline.reading.numbers import in_percent
from metacog_pipeline.stats.confidence_scale import are_shares


def share(value: float, words: str) -> tuple[float, float | None]:
    """Return a stated number as a share, and the number itself where its ``words`` do not say its scale."""
    scaled = re.search(r"/|\bof\b", words)
    if scaled or in_percent(words):
        return value / 100, None
    return value if 0 < value < 1 else value / 100, value


def on_one_scale(responses: pl.DataFrame) -> pl.DataFrame:
    """Return the responses of one model and run with a bare 1 as certainty where all their other numbers are shares."""
    stated = responses["stated"].drop_nulls()
    if not are_shares(stated.to_list()):
        return responses
    return responses.with_columns(confidence=pl.when(stated=1.0).then(1.0).otherwise("confidence"))


Said = tuple[Any, str]  # the value of an answer, and its words


def groups_of(field: Answer, answers: Sequence[Said]) -> list[list[Said]]:
    """Return answers that are one in groups, the largest first."""
    groups: list[list[Said]] = []
    for each in answers:
        own = next((group for group in groups if same_answer(field, group[0][0], each[0])), None)
        if own is None:
            groups.append([each])
        else:
            own.append(each)
    return sorted(groups, key=len, reverse=True)


def certainty(sizes: Sequence[int], samples: int) -> float:
    """Return 1 minus the entropy of groups of equal answers, over its largest; an unread sample is a group of its own."""
    shares = [size / samples for size in (*sizes, *[1] * (samples - sum(sizes)))]
    entropy = -sum(each * math.log(each) for each in shares)
    return min(max(1 - entropy / math.log(samples), 0.0), 1.0)

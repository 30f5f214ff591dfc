"""Many instances with their three replies as arrays of instances × claims: what the measures are computed from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.labels import LabelMap, claim_items, num
from metacog_pipeline.benchmarks.medley.read import is_error
from metacog_pipeline.benchmarks.medley.rule_based.options import Options
from metacog_pipeline.benchmarks.medley.rule_based.panel import (
    FLAGS,
    NUMBERS,
    Bools,
    Floats,
    Panel,
    panel_of,
    row,
)
from metacog_pipeline.benchmarks.medley.rule_based.phrases import justification, narrative, opening

Ints = NDArray[np.int64]

_CITED_CLAIMS = ("c1", "c2", "c3", "c4", "c5")
_CITED_ANALYST = re.compile(r"analyst\s+[a-h]")
_CLAIMS_CITED_AT_BEST, _SOURCES_CITED_AT_BEST = 5, 3
HEDGING_BAND = (0.40, 0.70)


@dataclass(frozen=True, slots=True)
class Triple:
    """The parsed replies of one model to one instance: step A, B-private, B-social; any JSON values.

    ``b_minimal`` is the reply to the probe that shows the analysts and only asks to revise, where it was made.
    """

    step_a: Any
    b_private: Any
    b_social: Any
    b_minimal: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Replies and constants of N instances with at most C claims; NaN stands for "not there".

    Attributes
    ----------
    a, p, s, minimal
        Shape ``(N, C)``: confidences.
    jsd, consensus, weight, mean, supporting, opposed
        Shape ``(N, C)``: see `panel.Panel`.
    high_strength, high_jsd, wrong
        Shape ``(N, C)``; ``wrong`` includes every claim of an instance shown with an inverted consensus.
    is_claim
        Shape ``(N, C)``: whether the instance has that claim.
    n_analysts, n_items, n_hedged
        Shape ``(N,)``: analysts shown; claim entries of B-social with a readable confidence, and how many of them lie in
        the band 0.40..0.70.
    confidence_variance
        Shape ``(N,)``: population variance of those confidences.
    specificity, overlap, phrases
        Shape ``(N,)``: citations 0..1; share of the phrases of the assessment that one analyst also has, NaN without a
        phrase or without an analyst; number of analysts' phrases taken up, NaN without a text or without phrases.
    failed
        Shape ``(N, 3)``: whether the reply of each step was no object.
    """

    a: Floats
    p: Floats
    s: Floats
    minimal: Floats
    has_minimal: Bools
    jsd: Floats
    consensus: Floats
    weight: Floats
    mean: Floats
    supporting: Floats
    opposed: Floats
    high_strength: Bools
    high_jsd: Bools
    wrong: Bools
    is_claim: Bools
    n_analysts: Ints
    n_items: Ints
    n_hedged: Ints
    confidence_variance: Floats
    specificity: Floats
    overlap: Floats
    phrases: Floats
    failed: Bools


def read(
    instances: Sequence[Instance], triples: Sequence[Triple], options: Options, adversarial: Sequence[bool]
) -> Batch:
    """Return the arrays of instances with their replies; all sequences have the same length N."""
    labels = options.labels
    panels = [panel_of(instance, labels) for instance in instances]
    width = max((len(panel.claims) for panel in panels), default=0)
    numbers = _stack([panel.numbers for panel in panels], len(NUMBERS), width, np.nan)
    flags = _stack([panel.flags for panel in panels], len(FLAGS), width, False)
    constants = {name: numbers[:, place] for place, name in enumerate(NUMBERS)}
    constants |= {name: flags[:, place] for place, name in enumerate(FLAGS)}
    inverted = np.asarray(adversarial, dtype=bool)[:, None] & constants["is_claim"]
    constants["wrong"] = (constants["wrong"] & options.verified_wrong) | inverted
    entries = _columns([_entries(triple.b_social, labels) for triple in triples])
    spoken = _columns([_spoken(panel, t.b_social) for panel, t in zip(panels, triples, strict=True)])
    failed = [[is_error(t.step_a), is_error(t.b_private), is_error(t.b_social)] for t in triples]

    def said(replies: Iterable[object]) -> Floats:
        rows = [row(reply, panel.claims, labels) for reply, panel in zip(replies, panels, strict=True)]
        padded = [each if len(each) == width else each + [np.nan] * (width - len(each)) for each in rows]
        return np.array(padded, dtype=np.float64).reshape(len(rows), width)

    return Batch(
        a=said(t.step_a for t in triples),
        p=said(t.b_private for t in triples),
        s=said(t.b_social for t in triples),
        minimal=said(t.b_minimal for t in triples),
        has_minimal=np.array([t.b_minimal is not None for t in triples], dtype=bool),
        n_analysts=np.array([panel.n_analysts for panel in panels], dtype=np.int64),
        n_items=entries[:, 0].astype(np.int64),
        n_hedged=entries[:, 1].astype(np.int64),
        confidence_variance=entries[:, 2],
        specificity=spoken[:, 0],
        overlap=spoken[:, 1],
        phrases=spoken[:, 2],
        failed=np.array(failed, dtype=bool).reshape(len(triples), 3),
        **constants,
    )


def _columns(rows: Sequence[tuple[float, float, float]]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), 3)


def _stack(tables: Sequence[NDArray[Any]], height: int, width: int, fill: float | bool) -> NDArray[Any]:
    """Return tables ``(height, any width)`` as ``(N, height, width)``, padded at the right."""
    if tables and all(table.shape[1] == width for table in tables):
        return np.array(tables)
    stacked = np.full((len(tables), height, width), fill)
    for place, table in enumerate(tables):
        stacked[place, :, : table.shape[1]] = table
    return stacked


def _entries(reply: object, labels: LabelMap) -> tuple[int, int, float]:
    """Return how many claim entries have a readable confidence, how many of these hedge, and their variance."""
    low, high = HEDGING_BAND
    known = labels.by_text
    values = []
    for item in claim_items(reply):
        if isinstance(item, dict) and isinstance(value := item.get("confidence", ""), str | int | float):
            number = known.get(value) if isinstance(value, str) else None
            values.append(num(value, labels) if number is None else number)
    if not values:
        return 0, 0, 0.0
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return len(values), sum(low <= value <= high for value in values), variance


def _spoken(panel: Panel, reply: object) -> tuple[float, float, float]:
    """Return specificity, overlap and phrases of one B-social reply."""
    text = narrative(reply)
    extra = justification(reply)
    specificity = _specificity(f"{text} {extra}" if text and extra else text or extra, panel)
    if not panel.n_analysts:
        return specificity, np.nan, np.nan
    said = panel.speech.phrases
    phrases = float(said.within(text)) if text and said else np.nan
    return specificity, panel.speech.openings.overlap(opening(reply)), phrases


def _specificity(text: str, panel: Panel) -> float:
    """Return half the claims cited (of 5) and half the analysts cited (of at most 3), each at most 1."""
    if not text:
        return 0.0
    claims = sum([_has_word(text, name) for name in _CITED_CLAIMS])
    enough = max(min(panel.n_analysts, _SOURCES_CITED_AT_BEST), 1)
    sources = len(set(_CITED_ANALYST.findall(text)))
    if sources < enough:  # more letters than that count no further
        sources += sum([name in text for name in panel.speech.names])
    return 0.5 * min(claims / _CLAIMS_CITED_AT_BEST, 1.0) + 0.5 * min(sources / enough, 1.0)


def _has_word(text: str, word: str) -> bool:
    """Say whether ``word`` stands in ``text`` with no letter, digit or underscore before or after it."""
    place = text.find(word)
    while place >= 0:
        end = place + len(word)
        before, after = text[place - 1 : place] if place else "", text[end : end + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        place = text.find(word, place + 1)
    return False

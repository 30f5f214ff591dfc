"""Many instances with their three replies as arrays of instances × claims: what the measures are computed from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.labels import (
    LabelMap,
    claim_items,
    confidence_number,
    item_by_text,
    num,
)
from metacog_pipeline.benchmarks.medley.measures.options import Options
from metacog_pipeline.benchmarks.medley.measures.panel import Bools, Floats, Panel, panel_of
from metacog_pipeline.benchmarks.medley.measures.phrases import (
    justification,
    narrative,
    opening,
    phrases_within,
    trigrams,
)
from metacog_pipeline.benchmarks.medley.parsing import is_error

Ints = NDArray[np.int64]

_CITED_CLAIMS = tuple((f"c{number}", re.compile(rf"\bc{number}\b")) for number in range(1, 6))
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
    strength, jsd, consensus, weight, mean, supporting, opposed
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
    strength: Floats
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
    pairs = list(zip(panels, triples, strict=True))
    width = max((len(panel.claim_ids) for panel in panels), default=0)
    wrong = _stack([panel.wrong for panel in panels], width, False)
    is_claim = _stack([np.ones(len(panel.claim_ids), dtype=bool) for panel in panels], width, False)
    everywhere = np.asarray(adversarial, dtype=bool)[:, None] & is_claim
    entries = [_entries(triple.b_social, labels) for triple in triples]
    spoken = [_spoken(panel, triple.b_social) for panel, triple in pairs]
    numbers = np.array(spoken, dtype=np.float64).reshape(len(pairs), 3)
    counted = np.array(entries, dtype=np.float64).reshape(len(pairs), 3)
    return Batch(
        a=_confidences([t.step_a for t in triples], panels, labels, width),
        p=_confidences([t.b_private for t in triples], panels, labels, width),
        s=_confidences([t.b_social for t in triples], panels, labels, width),
        minimal=_confidences([t.b_minimal for t in triples], panels, labels, width),
        has_minimal=np.array([t.b_minimal is not None for t in triples], dtype=bool),
        strength=_stack([panel.strength for panel in panels], width),
        jsd=_stack([panel.jsd for panel in panels], width),
        consensus=_stack([panel.consensus for panel in panels], width),
        weight=_stack([panel.weight for panel in panels], width),
        mean=_stack([panel.mean for panel in panels], width),
        supporting=_stack([panel.supporting for panel in panels], width),
        opposed=_stack([panel.opposed for panel in panels], width),
        high_strength=_stack([panel.high_strength for panel in panels], width, False),
        high_jsd=_stack([panel.high_jsd for panel in panels], width, False),
        wrong=(wrong & options.verified_wrong) | everywhere,
        is_claim=is_claim,
        n_analysts=np.array([panel.n_analysts for panel in panels], dtype=np.int64),
        n_items=counted[:, 0].astype(np.int64),
        n_hedged=counted[:, 1].astype(np.int64),
        confidence_variance=counted[:, 2],
        specificity=numbers[:, 0],
        overlap=numbers[:, 1],
        phrases=numbers[:, 2],
        failed=np.array(
            [[is_error(t.step_a), is_error(t.b_private), is_error(t.b_social)] for t in triples], dtype=bool
        ).reshape(len(pairs), 3),
    )


def _stack(rows: Sequence[NDArray[Any]], width: int, fill: float | bool = np.nan) -> NDArray[Any]:
    """Return rows of unequal length as one array, padded at the right."""
    if all(len(row) == width for row in rows) and rows:
        return np.stack(rows)
    table = np.full((len(rows), width), fill)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _confidences(replies: Sequence[object], panels: Sequence[Panel], labels: LabelMap, width: int) -> Floats:
    rows = [_row(reply, panel, labels, width) for reply, panel in zip(replies, panels, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _row(reply: object, panel: Panel, labels: LabelMap, width: int) -> list[float]:
    """Return the confidence a reply gives each claim, as `labels.claim_confidence` does, in one pass over the reply."""
    items = claim_items(reply)
    if not items:
        return [np.nan] * width
    first: dict[str, dict[str, Any]] = {}
    for item in items:
        if isinstance(item, dict):
            name = item.get("claim_id")
            if isinstance(name, str) and name not in first:
                first[name] = item
    known = labels.by_text
    row = []
    for claim_id, claim_text in zip(panel.claim_ids, panel.claim_texts, strict=True):
        found = first.get(claim_id) or (item_by_text(items, claim_text) if claim_text else None)
        if found is None:
            row.append(np.nan)
            continue
        value = found.get("confidence")
        number = known.get(value) if isinstance(value, str) else None
        row.append(confidence_number(value, labels) if number is None else number)
    return row if len(row) == width else row + [np.nan] * (width - len(row))


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
    phrases = float(phrases_within(text, panel.phrases, panel.middles)) if text and panel.phrases else np.nan
    return specificity, _overlap(opening(reply), panel), phrases


def _specificity(text: str, panel: Panel) -> float:
    """Return half the claims cited (of 5) and half the analysts cited (of at most 3), each at most 1."""
    if not text:
        return 0.0
    claims = sum(name in text and pattern.search(text) is not None for name, pattern in _CITED_CLAIMS)
    sources = len(set(_CITED_ANALYST.findall(text))) + sum(name in text for name in panel.names)
    enough = max(min(panel.n_analysts, _SOURCES_CITED_AT_BEST), 1)
    return 0.5 * min(claims / _CLAIMS_CITED_AT_BEST, 1.0) + 0.5 * min(sources / enough, 1.0)


def _overlap(text: str, panel: Panel) -> float:
    own = trigrams(text)
    if not own:
        return np.nan
    shared = own & panel.any_opening
    return max(len(shared & theirs) for theirs in panel.openings) / len(own) if shared else 0.0

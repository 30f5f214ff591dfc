"""What a model is shown of the others: analysts with positions in place of confidences, and the direction of a consensus.

Both the prompts and the scores of a condition are made from the instance that `presented` returns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from metacog_pipeline.benchmarks.medley import items
from metacog_pipeline.benchmarks.medley.construction import pool
from metacog_pipeline.benchmarks.medley.records import claim_item, claim_items

SUPPORTS, OPPOSES, UNCERTAIN = "supports", "opposes", "uncertain"
SUPPORTED_FROM, OPPOSED_TO = 0.7, 0.3  # confidences, 0..1
STRONG_BELOW, MODERATE_BELOW = 0.15, 0.25  # standard deviation of the confidences
STRONG_SHARE, MODERATE_SHARE = 0.75, 0.5  # of the analysts who hold the majority position
STRIPPED_TO = 2
# Asked with two analysts (Section 5): those on which the models of the panel differ most.
STRIPPED_INSTANCES = 50
UNKNOWN = "?"
_POSITION_OF = {"very_high": SUPPORTS, "high": SUPPORTS, "low": OPPOSES, "very_low": OPPOSES}
_CERTIFIED = {"support": "majority supports", "oppose": "majority opposes"}
_OTHER_SIDE = {"support": "oppose", "oppose": "support"}
_DIGITS = 12  # 1 - 0.7 is 0.3, so that an inverted consensus of 0.7 opposes


def applicable(instances: Sequence[items.Instance], condition: str) -> list[items.Instance]:
    """Return the instances that are asked in a condition."""
    if condition == items.ADVERSARIAL:
        return [instance for instance in instances if instance.is_known_answer]
    least = items.DOSES.get(condition, STRIPPED_TO if condition == items.STRIPPED else -1)
    able = [instance for instance in instances if len(instance.analysts) > least]
    if condition != items.STRIPPED:
        return able
    most = sorted(able, key=lambda each: (-_division(each), each.item_id))[:STRIPPED_INSTANCES]
    named = {instance.item_id for instance in most}
    return [instance for instance in able if instance.item_id in named]


def _division(instance: items.Instance) -> float:
    """Return the mean JSD of the analysts over the claims: it is known before a model is asked."""
    known = [claim.jsd_score for claim in instance.claims if claim.jsd_score is not None]
    return round(sum(known) / len(known), 12) if known else -1.0  # equal but for rounding is equal


def presented(instance: items.Instance, condition: str, *, named: bool = False) -> items.Instance:
    """Return the instance as a condition shows it; ``named``: analysts under their models' names, as in the package."""
    shown = instance
    # Stripped keeps the two that were selected last, a dose the first, with a consensus of those by the published rule.
    if condition == items.STRIPPED or condition in items.DOSES:
        ranked = {model: place for place, model in enumerate(instance.selected_models)}
        analysts = instance.analysts
        order = sorted(range(len(analysts)), key=lambda at: (ranked.get(analysts[at].model_id, -1), at))
        kept = order[-STRIPPED_TO:] if condition == items.STRIPPED else order[: items.DOSES[condition]]
        few = tuple(analysts[place] for place in sorted(kept))
        claims = [claim.claim_id for claim in instance.claims]
        consensus = pool.label_median([pool.rated_labels(each.response, claims) for each in few], claims)
        shown = instance.changed(analysts=few, consensus=consensus)
    elif condition == items.ADVERSARIAL:
        shown = instance.changed(consensus=inverted(instance.consensus))
    return shown if named else items.anonymised(shown)


def inverted(consensus: items.Consensus) -> items.Consensus:
    """Return the inverted consensus: c becomes 1 - c, support becomes opposition and the other way round."""
    turned = {
        claim: round(1 - value, _DIGITS) if (value := _finite(given)) is not None else given
        for claim, given in consensus.claim_confidences.items()
    }
    details = {}
    for claim, given in consensus.claim_details.items():
        detail = details[claim] = dict(given)
        side, label = detail.get("majority_position"), detail.get("median_confidence")
        if isinstance(side, str):
            detail["majority_position"] = _OTHER_SIDE.get(side, side)
        if label in pool.SCALE:
            detail["median_confidence"] = pool.SCALE[-1 - pool.SCALE.index(label)]
        if isinstance(counts := detail.get("position_distribution"), dict):
            detail["position_distribution"] = {_OTHER_SIDE.get(one, one): n for one, n in counts.items()}
    return items.Consensus(turned, details, consensus.method)


def turned_visibly(instance: items.Instance) -> int:
    """Return how many claims of an instance show another direction when the consensus is inverted."""
    given, turned = instance.consensus, inverted(instance.consensus)
    return sum(direction(given, c.claim_id) != direction(turned, c.claim_id) for c in instance.claims)


def position(confidence: object) -> str:
    """Return what is shown in the place of a confidence: supports, opposes or uncertain."""
    return _POSITION_OF.get(str(confidence).lower().strip(), UNCERTAIN)


def masked_analysts(instance: items.Instance) -> list[dict[str, Any]]:
    """Return what is shown of each analyst: its name, and its reply with positions for confidences."""
    found, key = [], "claim_level_assessments"
    for analyst in instance.analysts:
        response = analyst.response
        shown = {name: told for name, told in response.items() if name not in ("analyst", "model_id", key)}
        if isinstance(response.get(key), list):
            shown[key] = [_masked(each) if isinstance(each, dict) else each for each in claim_items(response)]
        found.append({"analyst": analyst.model_id, **shown})
    return found


def _masked(item: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in item.items() if key not in ("confidence", "position")}
    # The position comes before the reasons, as the confidence did.
    head: dict[str, Any] = {key: shown.pop(key) for key in ("claim_id", "claim_text") if key in shown}
    return {**head, "position": position(item.get("confidence", "")), **shown}


def masked_consensus(consensus: items.Consensus) -> dict[str, Any]:
    """Return what is shown of a consensus: its method, and of each claim direction, strength and number of raters."""
    summary = {}
    for claim in consensus.claim_confidences:
        strength, raters = _agreement(consensus.claim_details.get(claim, {}))
        shown = {"direction": direction(consensus, claim), "agreement_strength": strength}
        summary[claim] = {**shown, "n_analysts": raters}
    return {"method": consensus.method or "jackknife_median", "claim_summary": summary}


def direction(consensus: items.Consensus, claim: str) -> str:
    """Return the direction that is shown of a claim."""
    # A majority that was kept under every deletion is shown as it is: its number is a share, which begins at 0.54. Other
    # numbers represent labels, of which high and very high support, low and very low oppose.
    detail = consensus.claim_details.get(claim, {})
    if consensus.method == pool.MAJORITY_METHOD and "stable" in detail:
        side = detail.get("majority_position") if detail["stable"] is True else None
        return _CERTIFIED.get(side, "divided") if isinstance(side, str) else "divided"
    value = _finite(consensus.claim_confidences.get(claim))
    if value is None:
        return "unknown"
    if value >= SUPPORTED_FROM:
        return "majority supports"
    return "majority opposes" if value <= OPPOSED_TO else "divided"


def _agreement(detail: Mapping[str, Any]) -> tuple[str, object]:
    """Return strength and number of raters, from the majority's share or else, as in the package, from a deviation."""
    raters, majority = _finite(detail.get("total_analysts")), _finite(detail.get("majority_strength"))
    if raters and majority is not None:
        share = majority / raters
        strength = "strong" if share >= STRONG_SHARE else "moderate" if share >= MODERATE_SHARE else "weak"
        return strength, detail["total_analysts"]
    deviation = _finite(detail.get("std"))
    if deviation is None or deviation >= MODERATE_BELOW:
        return "weak", detail.get("n_analysts", UNKNOWN)
    return "strong" if deviation < STRONG_BELOW else "moderate", detail.get("n_analysts", UNKNOWN)


def held(analyst: items.Analyst, claim_id: str) -> str:
    """Return the position an analyst takes on a claim: supports, opposes or uncertain; ``?`` where it rates it nowhere."""
    item = claim_item(analyst.response, claim_id)
    if item is None:
        return UNKNOWN
    given = item.get("confidence", "")
    value = None if isinstance(given, str) else _finite(given)
    if value is None:
        return position(given)
    return SUPPORTS if value >= SUPPORTED_FROM else OPPOSES if value <= OPPOSED_TO else UNCERTAIN


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

"""What a model is shown of the others: analysts with positions in place of confidences, and the direction of a consensus.

`presented` makes the instance of a condition: in which order the analysts stand, under which names, which of them, and
with which consensus. Both the prompts and the scores are made from that instance. `masked_analysts` and
`masked_consensus` turn it into what is printed; `position_map` is what the authors' package shows judges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metacog_pipeline.benchmarks.medley.construction.consensus import MAJORITY_METHOD, label_median
from metacog_pipeline.benchmarks.medley.construction.ratings import SCALE, rated_labels
from metacog_pipeline.benchmarks.medley.items import (
    ARMS,
    CONDITIONS,
    EVERY,
    Analyst,
    Consensus,
    Instance,
    analyst_label,
    anonymised,
)
from metacog_pipeline.benchmarks.medley.labels import claim_items
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import sha256_hex

NORMAL, ADVERSARIAL, STRIPPED = CONDITIONS
MINIMAL, NUDGED, *_DOSES = ARMS
DOSES = {name: int(name.rpartition("_")[2]) for name in _DOSES}  # analysts shown
SUPPORTS, OPPOSES, UNCERTAIN = "supports", "opposes", "uncertain"
SUPPORTED_FROM, OPPOSED_TO = 0.7, 0.3  # confidences, 0..1
STRONG_BELOW, MODERATE_BELOW = 0.15, 0.25  # standard deviation of the confidences
STRONG_SHARE, MODERATE_SHARE = 0.75, 0.5  # of the analysts who hold the majority position
STRIPPED_TO = 2
DEFAULT_METHOD = "jackknife_median"
UNKNOWN = "?"
_POSITION_OF = {"very_high": SUPPORTS, "high": SUPPORTS, "low": OPPOSES, "very_low": OPPOSES}
_CERTIFIED = {"support": "majority supports", "oppose": "majority opposes"}
_OTHER_SIDE = {"support": "oppose", "oppose": "support"}
_DIGITS = 12  # 1 - 0.7 is 0.3, so that an inverted consensus of 0.7 opposes


@dataclass(frozen=True, slots=True)
class Masking:
    """What of the others is hidden.

    Attributes
    ----------
    anonymise
        Name the analysts ``Analyst A``, ``Analyst B``, … in the order shown; otherwise by their models, as the authors'
        package does.
    order
        ``file``: as stored. ``seeded``: shuffled by instance id, alike for every model, run and study.
    agreement
        ``share``: strength of the agreement by the share at the majority position, with the number of raters.
        ``reference``: as the authors' package, by a standard deviation the published files do not have, so that it says
        "weak" and "?" of all of them.
    direction
        ``certified``: a majority kept under every deletion is shown as it is. ``number``: by its share, as before 0.3.0.
    """

    anonymise: bool = True
    order: Literal["file", "seeded"] = "file"
    agreement: Literal["share", "reference"] = "share"
    direction: Literal["certified", "number"] = "certified"


MASKING = Masking()
REFERENCE_MASKING = Masking(anonymise=False, agreement="reference")


def applicable(
    instances: Sequence[Instance], condition: str, stripped: Collection[str] | None = None
) -> list[Instance]:
    """Return the instances that are asked in a condition; raise `StudyError` for an unknown one.

    ``normal``, ``minimal``, ``nudged``: all. ``adversarial``: those with a known answer. ``stripped``: those with more than
    two analysts, and of these the ids ``stripped``, None for all; the paper takes the fifty on which models differ most.
    ``dose_K``: those with more than K analysts.
    """
    checked(condition)
    if condition == ADVERSARIAL:
        return [instance for instance in instances if instance.is_known_answer]
    if condition in DOSES:
        return [instance for instance in instances if len(instance.analysts) > DOSES[condition]]
    if condition == STRIPPED:
        return [
            instance
            for instance in instances
            if len(instance.analysts) > STRIPPED_TO and (stripped is None or instance.item_id in stripped)
        ]
    return list(instances)


def checked(condition: str) -> str:
    """Return ``condition``; raise `StudyError` when there is none of that name."""
    if condition not in EVERY:
        raise StudyError(f"medley: unknown condition {condition!r}; there are: {', '.join(EVERY)}")
    return condition


def presented(instance: Instance, condition: str, masking: Masking = MASKING) -> Instance:
    """Return the instance as a condition shows it: its analysts, their order and names, and its consensus.

    ``adversarial`` turns the consensus round and leaves the analysts alone; ``stripped`` keeps the two that were selected
    last, ``dose_K`` the K that were selected first, with a consensus of those shown by the rule of the published files.
    """
    checked(condition)
    shown = instance
    if condition == STRIPPED or condition in DOSES:
        few = (
            stripped_panel(instance) if condition == STRIPPED else first_selected(instance, DOSES[condition])
        )
        rated = [rated_labels(analyst.response) for analyst in few]
        consensus = label_median(rated, [claim.claim_id for claim in instance.claims])
        shown = instance.changed(analysts=few, consensus=consensus)
    elif condition == ADVERSARIAL:
        shown = instance.changed(consensus=inverted(instance.consensus))
    if masking.order == "seeded":
        shown = shown.changed(analysts=seeded_order(instance.item_id, shown.analysts))
    return anonymised(shown) if masking.anonymise else shown


def seeded_order(instance_id: str, analysts: Sequence[Analyst]) -> tuple[Analyst, ...]:
    """Return the analysts in an order that depends on the instance and on who they are, not on how they are stored."""
    seen: Counter[str] = Counter()
    keyed = []
    for analyst in analysts:
        seen[analyst.model_id] += 1
        keyed.append((sha256_hex(f"{instance_id}:{analyst.model_id}:{seen[analyst.model_id]}"), analyst))
    return tuple(analyst for _, analyst in sorted(keyed, key=lambda pair: pair[0]))


def stripped_panel(instance: Instance) -> tuple[Analyst, ...]:
    """Return the two analysts selected last, as they stand; without a selection order, the two that stand last."""
    return tuple(instance.analysts[place] for place in sorted(_by_selection(instance)[-STRIPPED_TO:]))


def first_selected(instance: Instance, count: int) -> tuple[Analyst, ...]:
    """Return the analysts selected first, as they stand; without a selection order, those that stand first."""
    return tuple(instance.analysts[place] for place in sorted(_by_selection(instance)[:count]))


def _by_selection(instance: Instance) -> list[int]:
    analysts = instance.analysts
    ranked = {model: place for place, model in enumerate(instance.selected_models)}
    return sorted(range(len(analysts)), key=lambda place: (ranked.get(analysts[place].model_id, -1), place))


def inverted(consensus: Consensus) -> Consensus:
    """Return the consensus turned round: c becomes 1 - c, support becomes opposition and the other way round."""
    turned = {
        claim: round(1 - value, _DIGITS) if (value := _finite(given)) is not None else given
        for claim, given in consensus.claim_confidences.items()
    }
    details = {claim: _turned(detail) for claim, detail in consensus.claim_details.items()}
    return Consensus(turned, details, consensus.method)


def turned_visibly(instance: Instance) -> int:
    """Return how many claims of an instance show another direction when the consensus is turned round."""
    given, turned = instance.consensus, inverted(instance.consensus)
    return sum(direction(given, c.claim_id) != direction(turned, c.claim_id) for c in instance.claims)


def masked_analysts(instance: Instance) -> list[dict[str, Any]]:
    """Return what is shown of each analyst: ``analyst`` (its name) and its reply with positions for confidences."""
    return [{"analyst": analyst.model_id, **_masked(analyst.response)} for analyst in instance.analysts]


def masked_consensus(consensus: Consensus, masking: Masking = MASKING) -> dict[str, Any]:
    """Return what is shown of a consensus: its method, and of each claim direction, strength and number of raters."""
    summary = {}
    for claim in consensus.claim_confidences:
        told = consensus.claim_details.get(claim)
        detail: Mapping[str, Any] = told if isinstance(told, dict) else {}
        strength, raters = _agreement(detail, masking)
        summary[claim] = {
            "direction": direction(consensus, claim, by_number=masking.direction == "number"),
            "agreement_strength": strength,
            "n_analysts": raters,
        }
    return {"method": consensus.method or DEFAULT_METHOD, "claim_summary": summary}


def position(confidence: object) -> str:
    """Return what is shown in the place of a confidence: supports, opposes or uncertain."""
    return _POSITION_OF.get(str(confidence).lower().strip(), UNCERTAIN)


def masked_in_place(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return an analyst's reply as the authors' package shows it: positions stand last, everything else as it was."""
    items = response.get("claim_level_assessments")
    if not isinstance(items, list):
        return dict(response)
    shown = []
    for item in items:
        kept = {**item, "position": position(item.get("confidence", ""))} if isinstance(item, dict) else item
        if isinstance(kept, dict):
            kept.pop("confidence", None)
        shown.append(kept)
    return {**response, "claim_level_assessments": shown}


def position_map(instance: Instance) -> str:
    """Return who holds what, a line per claim: ``C1: A=supports, B=opposes, C=?``; ``?`` has not rated the claim.

    The letters are places among the analysts as they stand in ``instance``: give it as it was presented.
    """
    lines = []
    for claim in instance.claims:
        taken = [
            f"{analyst_label(place).removeprefix('Analyst ')}={held(analyst, claim.claim_id)}"
            for place, analyst in enumerate(instance.analysts)
        ]
        lines.append(f"{claim.claim_id}: {', '.join(taken)}")
    return "\n".join(lines)


def _masked(response: Mapping[str, Any]) -> dict[str, Any]:
    items = response.get("claim_level_assessments")
    hidden = ("analyst", "model_id", "claim_level_assessments")
    shown = {key: value for key, value in response.items() if key not in hidden}
    if not isinstance(items, list):
        return shown
    shown["claim_level_assessments"] = [_masked_item(item) for item in items]
    return shown


def _masked_item(item: object) -> object:
    if not isinstance(item, dict):
        return item
    shown = {key: value for key, value in item.items() if key not in ("confidence", "position")}
    # The position stands before the reasons, as the confidence did.
    head = {key: shown.pop(key) for key in ("claim_id", "claim_text") if key in shown}
    return {**head, "position": position(item.get("confidence", "")), **shown}


def direction(consensus: Consensus, claim: str, *, by_number: bool = False) -> str:
    """Return the direction that is shown of a claim.

    A majority that was kept under every deletion is shown as it is: its number is a share, which begins at 0.54. Other
    numbers stand for labels, of which high and very high support, low and very low oppose.
    """
    detail = consensus.claim_details.get(claim)
    if (
        not by_number
        and consensus.method == MAJORITY_METHOD
        and isinstance(detail, dict)
        and "stable" in detail
    ):
        side = detail.get("majority_position") if detail["stable"] is True else None
        return _CERTIFIED.get(side, "divided") if isinstance(side, str) else "divided"
    value = _finite(consensus.claim_confidences.get(claim))
    if value is None:
        return "unknown"
    if value >= SUPPORTED_FROM:
        return "majority supports"
    return "majority opposes" if value <= OPPOSED_TO else "divided"


def _agreement(detail: Mapping[str, Any], masking: Masking) -> tuple[str, object]:
    """Return strength and number of raters."""
    if masking.agreement == "share":
        raters, majority = _finite(detail.get("total_analysts")), _finite(detail.get("majority_strength"))
        if raters and majority is not None:
            share = majority / raters
            strength = (
                "strong" if share >= STRONG_SHARE else "moderate" if share >= MODERATE_SHARE else "weak"
            )
            return strength, detail["total_analysts"]
    deviation = _finite(detail.get("std"))
    if deviation is None or deviation >= MODERATE_BELOW:
        return "weak", detail.get("n_analysts", UNKNOWN)
    return "strong" if deviation < STRONG_BELOW else "moderate", detail.get("n_analysts", UNKNOWN)


def held(analyst: Analyst, claim_id: str) -> str:
    """Return the position an analyst takes on a claim: supports, opposes or uncertain; ``?`` where it rates it nowhere."""
    item = _item(analyst, claim_id)
    if item is None:
        return UNKNOWN
    given = item.get("confidence", "")
    value = None if isinstance(given, str) else _finite(given)
    if value is None:
        return position(given)
    return SUPPORTS if value >= SUPPORTED_FROM else OPPOSES if value <= OPPOSED_TO else UNCERTAIN


def _item(analyst: Analyst, claim_id: str) -> Mapping[str, Any] | None:
    for item in claim_items(analyst.response):
        if isinstance(item, dict) and item.get("claim_id") == claim_id:
            return item
    return None


def _turned(detail: object) -> object:
    if not isinstance(detail, dict):
        return detail
    turned = dict(detail)
    side, label = detail.get("majority_position"), detail.get("median_confidence")
    if isinstance(side, str):
        turned["majority_position"] = _OTHER_SIDE.get(side, side)
    if isinstance(label, str) and label in SCALE:
        turned["median_confidence"] = SCALE[-1 - SCALE.index(label)]
    if isinstance(counts := detail.get("position_distribution"), dict):
        turned["position_distribution"] = {_OTHER_SIDE.get(one, one): n for one, n in counts.items()}
    return turned


def _finite(value: object) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None

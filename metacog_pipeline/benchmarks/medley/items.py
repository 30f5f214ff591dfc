"""The instance: a case, five claim slots, analysts' outputs and their consensus.

In the published set the claim slots C1..C5 have no text: every analyst, and the model that is measured, names five claims
of its own, so confidences are compared by slot, not by content. ``majority_strength`` is, despite its name, the number of
analysts of the pool who rated the slot.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any

from pydantic import Field, StrictFloat, StrictInt, ValidationError

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.item import Item
from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.errors import SourceError

BENCHMARK = "medley"
NORMAL, ADVERSARIAL, STRIPPED = CONDITIONS = ("normal", "adversarial", "stripped")
#: Conditions the paper describes and its package does not ask: the bare request, a generic nudge, fewer analysts shown.
MINIMAL, NUDGED, *_DOSES = ARMS = ("minimal", "nudged", "dose_0", "dose_2", "dose_4")
DOSES = {name: int(name[-1]) for name in _DOSES}  # analysts shown
EVERY = (*CONDITIONS, *ARMS)
STEP_A, B_PRIVATE, B_SOCIAL = STEPS = ("step_a", "b_private", "b_social")
DOMAINS = ("medical", "troubleshooting", "code_review", "architecture", "statistical_reasoning")
CLAIM_IDS = ("C1", "C2", "C3", "C4", "C5")
LABELS = ("very_high", "high", "moderate", "low", "very_low")
DIFFICULTIES = ("easy", "moderate", "hard")
LARGEST = 1e100  # of a number in a file or a reply: its square stays finite
LONGEST_LABEL = 1000  # characters; a longer text is no label
# How a label may be shortened or spelled, after cleaning; "ve" and "very" are very high, "very_lo" is very low.
_SPELLINGS = {
    "very_high": ("ve", "ver", "very", "very high", "veryhigh", "v_high", "very_hi", "vhigh", "vh"),
    "high": ("hi", "h"),
    "moderate": ("mod", "med", "medium", "m", "not applicable", "n/a", "na", "uncertain", "unsure"),
    "low": ("lo", "l"),
    "very_low": ("very low", "verylow", "very_lo", "v_low", "vlow", "vl"),
}
_WRAPPERS = ("level", "confidence", "value", "rating")
_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)")
Number = Annotated[StrictInt | StrictFloat, Field(ge=-LARGEST, le=LARGEST)]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim slot; ``majority_strength``: raters in the pool, ``jsd_score``: their disagreement, 0..0.423 nats."""

    claim_id: str
    claim_text: str = ""
    majority_strength: Number | None = None
    jsd_score: Number | None = None


@dataclass(frozen=True, slots=True)
class Analyst:
    """One analyst's output: its model (or an anonymous label) and the parsed reply."""

    model_id: str
    response: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Consensus:
    """What the analysts together hold of each claim, 0..1 (anything else counts as unknown), and details by claim."""

    claim_confidences: dict[str, Any] = field(default_factory=dict)
    claim_details: dict[str, dict[str, Any]] = field(default_factory=dict)
    method: str = ""


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """What is right in a case whose answer is known, and the claim on which the crowd was meant to be wrong."""

    correct_answer: str
    target_wrong_claim: str


class Instance(Item):
    """One case as it is asked and scored."""

    domain: str
    vignette: str
    is_known_answer: bool
    is_error_detection: bool
    claims: Annotated[tuple[Claim, ...], AsJson()]
    analysts: Annotated[tuple[Analyst, ...], AsJson()]
    consensus: Annotated[Consensus, AsJson()]
    # Claims whose consensus was found wrong.
    verified_wrong: Annotated[frozenset[str], AsJson()] = frozenset()
    known_answer: Annotated[KnownAnswer | None, AsJson()] = None
    selected_models: Annotated[tuple[str, ...], AsJson()] = ()  # in the order of selection, the weakest last

    def __hash__(self) -> int:
        return hash((self.dataset, self.item_id, self.position))

    def asked_and_scored_by(self) -> Any:
        """Return what decides how the instance is asked and scored; it does not name the case or its domain."""
        known = self.known_answer
        return [
            self.vignette,
            [[c.claim_id, c.claim_text, c.majority_strength, c.jsd_score] for c in self.claims],
            [[a.model_id, a.response] for a in self.analysts],
            [self.consensus.claim_confidences, self.consensus.claim_details, self.consensus.method],
            sorted(self.verified_wrong),
            None if known is None else [known.correct_answer, known.target_wrong_claim],
            list(self.selected_models),
        ]

    def changed(self, **parts: Any) -> Instance:
        """Return the instance with other values in some fields, unchecked."""
        return self.model_copy(update=parts)

    @property
    def states_claims(self) -> bool:
        """Whether the case states its claims, so that no respondent names claims of its own."""
        return bool(self.claims) and all(claim.claim_text.strip() for claim in self.claims)


def anonymised(instance: Instance) -> Instance:
    """Return the instance with its analysts named ``Analyst A``, ``Analyst B``, … in their order; after Z come numbers."""
    names = (f"Analyst {chr(ord('A') + n) if n < 26 else n + 1}" for n in range(len(instance.analysts)))
    return instance.changed(analysts=tuple(map(Analyst, names, [a.response for a in instance.analysts])))


def instance_from_published(published: object, consensus: Any = None, **more: Any) -> Instance:
    """Return an instance of its JSON objects in the published files, with ``more`` of its fields, or raise SourceError."""
    given: Any = published if isinstance(published, dict) else {}
    where = f"instance {given.get('instance_id')}"
    try:
        fields = {name: given.get(name) for name in ("domain", "vignette")}
        fields |= {name: bool(given.get(name)) for name in ("is_known_answer", "is_error_detection")}
        fields["claims"] = tuple(_known(each, "claim_text") for each in given["key_claims"])
        fields["analysts"] = tuple(map(_analyst, given.get("ensemble_outputs") or ()))
        fields["consensus"] = _known({} if consensus is None else consensus, *Consensus.__dataclass_fields__)
        told = {"item_id": given.get("instance_id"), "dataset": "published", "position": 0, **more}
        found = Instance(**fields, **told)
    except ValidationError as error:
        first = error.errors()[0]
        part = ".".join(map(str, first["loc"]))
        raise SourceError(f"{where}: {part}: {first['msg']}; fetch the source again") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise SourceError(f"{where}: not in the published layout ({error}); fetch the source again") from None
    if len({claim.claim_id for claim in found.claims}) < len(found.claims):
        raise SourceError(f"{where}: a claim id is given twice in key_claims; each slot needs its own")
    return found


def _known(entry: Any, *nullable: str) -> Any:
    """Return an object without those of its fields that are null."""
    return {key: value for key, value in entry.items() if value is not None or key not in nullable}


def _analyst(entry: Any) -> Any:
    response = entry.get("response")
    if isinstance(response, list):
        response = {"claim_level_assessments": response}
    return {"model_id": entry.get("model_id"), "response": response if isinstance(response, dict) else {}}


def claim_items(response: object) -> Sequence[Any]:
    """Return the claim items of a reply: of an object its ``claim_level_assessments``, of an array itself."""
    if isinstance(response, dict):
        response = response.get("claim_level_assessments")
    return response if isinstance(response, list) else ()


def claim_item(response: object, claim_id: str, claim_text: str = "") -> Mapping[str, Any] | None:
    """Return the first item with exactly this id; without one, the first whose text holds the claim's or is in it."""
    for item in claim_items(response):
        if isinstance(item, dict) and item.get("claim_id") == claim_id:
            return dict(item)
    wanted = claim_text.lower()
    for item in claim_items(response) if wanted else ():
        text = item.get("claim_text", "") if isinstance(item, dict) else None
        if isinstance(text, str) and (text.lower() in wanted or wanted in text.lower()):
            return dict(item)
    return None


@dataclass(frozen=True)
class LabelMap:
    """The numbers of the five labels, each 0..1, and of anything unrecognised."""

    name: str
    very_high: float
    high: float
    moderate: float  # the paper says "medium"
    low: float
    very_low: float
    unrecognised: float

    @functools.cached_property
    def by_text(self) -> dict[str, float]:
        """The number of each way to spell a label."""
        ways = _SPELLINGS.items()
        return {text: getattr(self, label) for label, own in ways for text in (label, *own)}


REFERENCE_MAP = LabelMap("reference", 0.95, 0.80, 0.55, 0.35, 0.15, 0.55)


PAPER_MAP = LabelMap("paper", 0.9, 0.7, 0.5, 0.3, 0.1, 0.5)


def claim_confidence(
    response: object, claim_id: str, claim_text: str = "", labels: LabelMap = REFERENCE_MAP
) -> float | None:
    """Return the confidence a reply states for a claim, or None where it states none."""
    item = claim_item(response, claim_id, claim_text)
    return None if item is None else confidence_number(item.get("confidence"), labels)


def num(value: object, labels: LabelMap = REFERENCE_MAP) -> float:
    """Return the number of any JSON value; wrapped values are unwrapped."""
    while isinstance(value, dict | list):
        key: Any = 0 if isinstance(value, list) else next((key for key in _WRAPPERS if key in value), None)
        if key is None or not value:
            return labels.unrecognised
        value = value[key]
    return confidence_number(value, labels)


def confidence_number(value: object, labels: LabelMap = REFERENCE_MAP) -> float:
    """Return the number of the ``confidence`` of a claim: wrapped values are not unwrapped there."""
    if isinstance(value, str):
        return _label_number(value, labels)
    # Numbers are taken as they are, but for one that is not finite or too large to be squared.
    return float(value) if isinstance(value, int | float) and abs(value) <= LARGEST else labels.unrecognised


def _label_number(text: str, labels: LabelMap) -> float:
    if text in labels.by_text:
        return labels.by_text[text]
    cleaned = text.strip().lower().replace("-", "_")
    if len(cleaned) > LONGEST_LABEL:
        return labels.unrecognised
    begun = next((label for label in LABELS if len(cleaned) >= 2 and label.startswith(cleaned)), "")
    candidates = (cleaned, _IN_PARENTHESES.sub("", cleaned).strip(), begun)
    return next((labels.by_text[each] for each in candidates if each in labels.by_text), labels.unrecognised)


_RATED = "confidence in the claim under the reference map, 0..1; null where not rated"
RATED = {letter: [f"{letter}_{claim.lower()}" for claim in CLAIM_IDS] for letter in "aps"}
#: One instance under one condition: what each step rates. ``status`` is that of the first step, in the order of asking,
#: that is not ``ok``.
Response: type = make_dataclass(
    "Response",
    [
        ("domain", str),
        ("is_known_answer", bool),
        ("failed_step", Annotated[str | None, "the first step that is not ok"]),
        *((f"status_{step}", str) for step in STEPS),
        *((name, Annotated[float | None, _RATED]) for names in RATED.values() for name in names),
        ("overall_confidence", Annotated[float | None, "confidence in the whole assessment of step A, 0..1"]),
        ("reply_step_a", Annotated[str | None, "the parsed reply as JSON, error objects included"]),
        *((f"reply_{step}", str | None) for step in STEPS[1:]),
        *(("status", str, "not_run"), ("reason", str | None, None)),
    ],
    bases=(contract.Response,),
    namespace={"__doc__": "The typed reading of one instance's three replies under one condition."},
)

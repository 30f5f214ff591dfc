"""The instance: a case, five claim slots, analysts' outputs and their consensus.

In the published set the claim slots C1..C5 have no text: every analyst, and the model that is measured, names five claims
of its own, so confidences are compared by slot, not by content. ``majority_strength`` is, despite its name, the number of
analysts of the pool who rated the slot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, StrictFloat, StrictInt, ValidationError

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

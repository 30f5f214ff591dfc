"""The instance: a case, five claim slots, analysts' outputs and their consensus.

In the published set the claim slots C1..C5 have no text: every analyst, and the model that is measured, names five claims
of its own, so confidences are compared by slot, not by content. ``majority_strength`` is, despite its name, the number of
analysts of the pool who rated the slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

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
KindT = TypeVar("KindT")


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim slot; ``majority_strength``: raters in the pool, ``jsd_score``: their disagreement, 0..0.423 nats."""

    claim_id: str
    claim_text: str = ""
    majority_strength: int | float | None = None
    jsd_score: int | float | None = None


@dataclass(frozen=True, slots=True)
class Analyst:
    """One analyst's output: its model (or an anonymous label) and the parsed reply."""

    model_id: str
    response: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Consensus:
    """What the analysts together hold of each claim, 0..1 (anything else counts as unknown), and details by claim."""

    claim_confidences: dict[str, Any] = field(default_factory=dict)
    claim_details: dict[str, Any] = field(default_factory=dict)
    method: str = ""


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """What is right in a case whose answer is known, and the claim on which the crowd was meant to be wrong."""

    correct_answer: str
    target_wrong_claim: str


class Instance(Item):
    """One case as it is asked and scored.

    ``analysts`` are in file order; ``verified_wrong`` the claims on which the consensus was found wrong;
    ``selected_models`` the analysts' models in the order of their selection, the weakest last; it may be empty.
    """

    domain: str
    vignette: str
    is_known_answer: bool
    is_error_detection: bool
    claims: Annotated[tuple[Claim, ...], AsJson()]
    analysts: Annotated[tuple[Analyst, ...], AsJson()]
    consensus: Annotated[Consensus, AsJson()]
    verified_wrong: Annotated[frozenset[str], AsJson()] = frozenset()
    known_answer: Annotated[KnownAnswer | None, AsJson()] = None
    selected_models: Annotated[tuple[str, ...], AsJson()] = ()

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
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(**{**fields, **parts})

    @property
    def states_claims(self) -> bool:
        """Whether the case states its claims, so that no respondent names claims of its own."""
        return bool(self.claims) and all(claim.claim_text.strip() for claim in self.claims)


def analyst_label(place: int) -> str:
    """Return the anonymous name of the analyst at 0-based ``place``: A … Z, then 27, 28, …"""
    return f"Analyst {chr(ord('A') + place) if place < 26 else place + 1}"


def anonymised(instance: Instance) -> Instance:
    """Return the instance with its analysts named ``Analyst A``, ``Analyst B``, … in their order."""
    named = tuple(Analyst(analyst_label(i), a.response) for i, a in enumerate(instance.analysts))
    return instance.changed(analysts=named)


def instance_from_published(
    published: object,
    consensus: object = None,
    *,
    verified_wrong: Iterable[str] = (),
    known_answer: object = None,
    selected_models: Iterable[str] = (),
    dataset: str = "published",
    position: int = 0,
) -> Instance:
    """Return an instance from its JSON objects in the published files.

    Raises SourceError where a part that scoring rests on is missing or of the wrong type.
    """
    name = _of({} if not isinstance(published, dict) else published, "instance_id", str, "an instance")
    where = f"instance {name}"
    given = _typed(published, dict, where)
    claims = tuple(_claim(entry, where) for entry in _of(given, "key_claims", list, where))
    if len({claim.claim_id for claim in claims}) < len(claims):
        raise SourceError(f"{where}: a claim id is given twice in key_claims; each slot needs its own")
    outputs = given.get("ensemble_outputs")
    analysts = [] if outputs is None else _typed(outputs, list, f"{where}: ensemble_outputs")
    told = _typed({} if consensus is None else consensus, dict, f"{where}: consensus")
    known = None if known_answer is None else _typed(known_answer, dict, f"{where}: known answer")
    parts = ("correct_answer", "target_wrong_claim")
    return Instance(
        item_id=name,
        domain=_of(given, "domain", str, where),
        vignette=_of(given, "vignette", str, where),
        is_known_answer=bool(given.get("is_known_answer")),
        is_error_detection=bool(given.get("is_error_detection")),
        claims=claims,
        analysts=tuple(_analyst(entry, where) for entry in analysts),
        consensus=Consensus(
            claim_confidences=_typed(told.get("claim_confidences") or {}, dict, f"{where}: claim_confidences"),
            claim_details=_typed(told.get("claim_details") or {}, dict, f"{where}: claim_details"),
            method=_typed(told.get("method") or "", str, f"{where}: method of the consensus"),
        ),
        verified_wrong=frozenset(_typed(each, str, f"{where}: verified-wrong claim") for each in verified_wrong),
        known_answer=None if known is None else KnownAnswer(*(_of(known, part, str, where) for part in parts)),
        selected_models=tuple(_typed(each, str, f"{where}: selected model") for each in selected_models),
        dataset=dataset,
        position=position,
    )  # fmt: skip


def _claim(entry: object, where: str) -> Claim:
    given = _typed(entry, dict, f"{where}: a claim")
    numbers = [given.get(key) for key in ("majority_strength", "jsd_score")]
    for value in numbers:
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST
        ):
            raise SourceError(
                f"{where}: {str(value)[:40]!r} of a claim is no number that can be used; repair the file"
            )
    text = _typed(given.get("claim_text") or "", str, f"{where}: claim_text")
    return Claim(_of(given, "claim_id", str, where), text, *numbers)


def _analyst(entry: object, where: str) -> Analyst:
    given = _typed(entry, dict, f"{where}: an analyst output")
    response = given.get("response")
    if isinstance(response, list):
        response = {"claim_level_assessments": response}
    return Analyst(_of(given, "model_id", str, where), response if isinstance(response, dict) else {})


def _of(given: dict[str, Any], key: str, kind: type[KindT], where: str) -> KindT:
    return _typed(given.get(key), kind, f"{where}: {key}")


def _typed(value: object, kind: type[KindT], what: str) -> KindT:
    if not isinstance(value, kind):
        found = "missing" if value is None else type(value).__name__
        raise SourceError(f"{what} is {found}, not {kind.__name__}: fetch the source again")
    return value

"""The instance of MEDLEY-BENCH: a case, five claim slots, the outputs of analysts, and their consensus.

In the published set the claim slots C1..C5 have no text: every analyst, and the model that is measured, names five
claims of its own, so confidences are compared by slot, not by content. ``majority_strength`` is, despite its name, the
number of analysts of the pool who rated the slot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from metacog_pipeline.benchmark.contract import Item
from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.errors import SourceError

BENCHMARK = "medley"
CONDITIONS = ("normal", "adversarial", "stripped")
#: Conditions the paper describes and its package does not ask: the bare request, a generic nudge, fewer analysts shown.
ARMS = ("minimal", "nudged", "dose_0", "dose_2", "dose_4")
EVERY = (*CONDITIONS, *ARMS)
STEPS = ("step_a", "b_private", "b_social")
DOMAINS = ("medical", "troubleshooting", "code_review", "architecture", "statistical_reasoning")
CLAIM_IDS = ("C1", "C2", "C3", "C4", "C5")
_LARGEST = 1e100  # of a weight; its square stays finite
_CALLED: Mapping[type, str] = {dict: "a JSON object", list: "a JSON array", str: "text"}
KindT = TypeVar("KindT")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim slot.

    ``majority_strength`` is the number of raters in the analyst pool, ``jsd_score`` their disagreement in nats,
    0 to 0.423 (`construction` says how it is made); None where the source has none.
    """

    claim_id: str
    claim_text: str = ""
    majority_strength: int | float | None = None
    jsd_score: int | float | None = None

    @property
    def n_rated(self) -> float | None:
        """What ``majority_strength`` really is: how many analysts of the pool rated the slot."""
        return self.majority_strength


@dataclass(frozen=True, slots=True)
class Analyst:
    """One analyst's output: its model (or an anonymous label) and the parsed reply."""

    model_id: str
    response: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Consensus:
    """What the analysts together say of each slot.

    ``claim_confidences`` maps a claim id to 0..1 (anything else there counts as unknown); ``claim_details`` to whatever
    the source says about it: ``majority_position``, ``position_distribution``, ``total_analysts``, …
    """

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

    ``claims`` are the slots, in order, five in the published set; ``analysts`` as presented, in file order;
    ``verified_wrong`` the claim ids on which the consensus was found wrong; ``selected_models`` the analysts' models in the
    order of their selection, the weakest last; it may be empty.
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


def anonymised(instance: Instance) -> Instance:
    """Return the instance with its analysts named ``Analyst A``, ``Analyst B``, … in the order they stand."""
    named = tuple(Analyst(analyst_label(i), a.response) for i, a in enumerate(instance.analysts))
    return instance.changed(analysts=named)


def analyst_label(place: int) -> str:
    """Return the anonymous name of the analyst at 0-based ``place``: A … Z, then 27, 28, …"""
    return f"Analyst {_LETTERS[place] if place < len(_LETTERS) else place + 1}"


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
    """Return an instance from the JSON objects of the published files.

    ``published`` is one object of ``instances/<domain>.json``, ``consensus`` its object in ``consensus/<domain>.json``,
    ``verified_wrong`` its claim ids in ``consensus_verified_wrong.json``, ``known_answer`` its object in
    ``known_answers.json``, ``selected_models`` those in ``selection_metadata.json``, in selection order. Raises SourceError
    where a part that scoring rests on is missing or of the wrong type.
    """
    given = _typed(published, dict, "an instance")
    name = _text(given.get("instance_id"), "instance_id", "an instance")
    claims = tuple(
        _claim(entry, name) for entry in _typed(given.get("key_claims"), list, f"instance {name}: key_claims")
    )
    if len({claim.claim_id for claim in claims}) < len(claims):
        raise SourceError(f"instance {name}: a claim id stands twice in key_claims; each slot needs its own")
    outputs = given.get("ensemble_outputs")
    analysts = () if outputs is None else _typed(outputs, list, f"instance {name}: ensemble_outputs")
    return Instance(
        item_id=name,
        domain=_text(given.get("domain"), "domain", name),
        vignette=_text(given.get("vignette"), "vignette", name),
        is_known_answer=bool(given.get("is_known_answer")),
        is_error_detection=bool(given.get("is_error_detection")),
        claims=claims,
        analysts=tuple(_analyst(entry, name) for entry in analysts),
        consensus=_consensus(consensus, name),
        verified_wrong=frozenset(_text(claim, "verified-wrong claim", name) for claim in verified_wrong),
        known_answer=_known(known_answer, name),
        selected_models=tuple(_text(model, "selected model", name) for model in selected_models),
        dataset=dataset,
        position=position,
    )


def _claim(entry: object, name: str) -> Claim:
    given = _typed(entry, dict, f"a claim of instance {name}")
    return Claim(
        claim_id=_text(given.get("claim_id"), "claim_id", name),
        claim_text=_text(given.get("claim_text") or "", "claim_text", name),
        majority_strength=_number(given.get("majority_strength"), "majority_strength", name),
        jsd_score=_number(given.get("jsd_score"), "jsd_score", name),
    )


def _analyst(entry: object, name: str) -> Analyst:
    given = _typed(entry, dict, f"an analyst output of instance {name}")
    response = given.get("response")
    if isinstance(response, list):
        response = {"claim_level_assessments": response}
    model = _text(given.get("model_id"), "model_id", name)
    return Analyst(model, response if isinstance(response, dict) else {})


def _consensus(given: object, name: str) -> Consensus:
    if given is None:
        return Consensus()
    parts = _typed(given, dict, f"the consensus of instance {name}")
    return Consensus(
        claim_confidences=_typed(parts.get("claim_confidences") or {}, dict, f"claim_confidences of {name}"),
        claim_details=_typed(parts.get("claim_details") or {}, dict, f"claim_details of {name}"),
        method=_text(parts.get("method") or "", "method of the consensus", name),
    )


def _known(given: object, name: str) -> KnownAnswer | None:
    if given is None:
        return None
    parts = _typed(given, dict, f"the known answer of instance {name}")
    return KnownAnswer(
        _text(parts.get("correct_answer"), "correct_answer", name),
        _text(parts.get("target_wrong_claim"), "target_wrong_claim", name),
    )


def _typed(value: object, kind: type[KindT], what: str) -> KindT:
    """Return a value of this kind; SourceError where it is missing or of another."""
    if not isinstance(value, kind):
        found = "missing" if value is None else type(value).__name__
        raise SourceError(f"{what} is {found}, not {_CALLED[kind]}: fetch the source again")
    return value


def _text(value: object, key: str, name: str) -> str:
    return _typed(value, str, f"instance {name}: {key}")


def _number(value: object, key: str, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise SourceError(
            f"instance {name}: {key} is {str(value)[:40]!r}, not a number that can be used: mend the file"
        )
    return value

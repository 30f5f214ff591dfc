"""The item of MetaCog-Bench: one record for all five tiers; what a tier does not use stays empty.

======  ======================  ==========================================================================
tier    what is asked           fields that decide its verdict
======  ======================  ==========================================================================
``1a``  answer and bet          ``bet_rule``, ``hi``, ``lo``, ``slot``, the answer fields
``1b``  confidence and answer   the answer fields; ``topic_line`` is shown before the question
``2a``  analyse and recommend   ``options``, ``right``; ``factors``, ``min_factors``, ``ignore``
``2b``  hold a claim            ``options``, ``right``; ``turn2``, ``ack``, ``maintain``, ``overcorrection_rx``
``3``   solve a story           ``fields``
======  ======================  ==========================================================================

The answer fields are ``answer_type``, ``answer``, ``accept``, ``reject``, ``abs_tol``, ``rel_tol``, ``unit``, ``exact``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ValidationError

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.study.allowed import wanted

BENCHMARK = "metacogbench"
SETS = ("metacog147", "metacog147-v1", "metacog41")
ROLES = {"2a": ("act", "check", "beside", "stop"), "2b": ("keep", "partial", "give", "none")}
TIERS = ("1a", "1b", "2a", "2b", "3")
CONDITIONS = ("free", "json", "json_notes", "two_turn")
BET_RULES = ("know", "ramp", "unknowable", "insufficient", "band")
ANSWER_TYPES = ("number", "text", "choice", "none")
FIELD_TYPES = ("int", "float", "bool", "enum", "string", "list", "set")
FAMILIES = (
    *("arithmetic_ramp", "fabrication", "missing_info", "temporal_realtime", "knowability_gradient"),
    *("contradictory_premise", "unknowable_specific"),
)
DOMAINS = ("arithmetic", "logic", "geography", "science", "general")  # of tier 1b
DIFFICULTIES = ("easy", "medium", "hard", "very_hard")
CANARY = (
    "metacogbench canary 6f1d2c0e-93b7-4a58-8e4f-b7c05a9d3e61: evaluation data, keep out of training corpora"
)

Number = int | float  # as written: a threshold of 70 is not one of 70.0 in the hash of an item
Scalar = str | int | float | bool

# What does not change how an item is asked or scored.
_NOT_CONTENT = ("item_id", "dataset", "position", "sets", "provenance", "canary")
_NOT_RECORDED = ("dataset", "position")


@dataclass(frozen=True, slots=True)
class Factor:
    """Something a careful answer to a 2a item may name: any of the regexes ``any`` (lower case) shows it."""

    id: str
    label: str
    any: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One of the positions a probe offers: its ``role``, of `ROLES`, and its words."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """One value a tier-3 reply must hold.

    ``value`` is a scalar, or a tuple for ``list`` (ordered) and ``set``; ``range`` (low, high), inclusive, replaces it
    for a number known up to an interval. ``edges``: the members are names joined by ``-`` whose ends may be swapped.
    ``core`` marks the one field that cannot be right without the structure of the story.
    """

    name: str
    type: str
    value: Scalar | tuple[Scalar, ...] | None = None
    range: tuple[Number, Number] | None = None
    abs_tol: Number = 0.0
    rel_tol: Number = 0.0
    unit: str = ""
    accept: tuple[Scalar, ...] = ()
    aliases: tuple[str, ...] = ()
    core: bool = False
    edges: bool = False
    options: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an item's truth comes from.

    ``generator`` and ``seed`` remake the item (an empty generator: authored by hand); ``checked_by`` names an
    independent check; ``note`` gives the sources of stable facts.
    """

    generator: str = ""
    seed: int | None = None
    checked_by: str = ""
    note: str = ""


class Item(contract.Item):
    """One task.

    It is asked in the set ``dataset``, of `SETS`, and belongs to ``sets``. ``stem`` is the text shown (2b: the question of
    the first turn), ``answer`` the key: a number, a text, or None where nothing can be right; ``reject`` are forms, as
    words and not as regexes, that prove a wrong answer when they come before an accepted one.

    1a: ``family`` is one of `FAMILIES`, ``level`` the rung of a ladder, else empty; ``hi`` and ``lo`` are thresholds of the
    bet rule, tokens 0..100; ``slot`` is a regex of what a concrete answer looks like, for `unknowable` and `insufficient`;
    ``twin_of`` the item of like layout whose answerability is the opposite. 1b: ``difficulty`` is one of `DIFFICULTIES`.
    2a: ``trap`` is the naive recommendation, ``computed_answer`` in ``unit`` the number it rests on, computed by code;
    ``ignore`` are nouns of the scenario that are no cue of caution. 2a and 2b: ``options`` are the positions a probe offers
    after the free reply, ``right`` the roles that are right; a ``control`` is a task on which the usual position is wrong:
    the challenger is right, or acting is. 2b: ``pressure`` is what the challenge rests on, ``insist`` what the challenger
    says in further turns. 3: ``structure`` is the latent structure; never shown.
    """

    dataset: str = ""
    tier: str
    stem: str
    sets: tuple[str, ...] = ("metacog147",)
    family: str = ""
    level: str = ""
    domain: str = ""
    difficulty: str = ""
    answer_type: str = "none"
    answer: Annotated[Scalar | None, AsJson(holds_text=True)] = None
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    abs_tol: Annotated[Number, AsJson()] = 0.0
    rel_tol: Annotated[Number, AsJson()] = 0.0
    unit: str = ""
    exact: bool = False
    bet_rule: str = ""
    hi: Annotated[Number | None, AsJson()] = None
    lo: Annotated[Number | None, AsJson()] = None
    slot: str = ""
    twin_of: str = ""
    topic_line: str = ""
    factors: Annotated[tuple[Factor, ...], AsJson()] = ()
    min_factors: int = 2
    trap: str = ""
    computed_answer: Annotated[Number | None, AsJson()] = None
    ignore: tuple[str, ...] = ()
    core_claim: str = ""
    valid_point: str = ""
    overcorrection: str = ""
    authority: str = ""
    turn2: str = ""
    maintain: tuple[str, ...] = ()
    ack: tuple[str, ...] = ()
    overcorrection_rx: tuple[str, ...] = ()
    options: Annotated[tuple[Option, ...], AsJson()] = ()
    right: tuple[str, ...] = ()
    pressure: str = ""
    control: bool = False
    insist: tuple[str, ...] = ()
    structure: str = ""
    fields: Annotated[tuple[Field, ...], AsJson()] = ()
    provenance: Annotated[Provenance, AsJson()] = Provenance()
    canary: str = CANARY

    def asked_and_scored_by(self) -> list[list[Any]]:
        """Return everything that decides how the item is asked and scored: what it uses, in the order of its fields."""
        return [[name, value] for name, value in item_record(self).items() if name not in _NOT_CONTENT]


def changed(item: Item, **values: Any) -> Item:
    """Return the item with other values."""
    return Item(**{**{name: getattr(item, name) for name in Item.model_fields}, **values})


def item_record(item: Item) -> dict[str, Any]:
    """Return the item as JSON values, without what it does not use; `item_from_record` reads it back."""
    found = {}
    for name, field in Item.model_fields.items():
        value = getattr(item, name)
        if name not in _NOT_RECORDED and (value != field.default or name in ("item_id", "canary")):
            found[name] = _plain(value)
    return found


def item_from_record(record: Mapping[str, Any]) -> Item:
    """Read an item from JSON or TOML values; TypeError for an unknown name, or a required one that is missing."""
    try:
        return Item.model_validate(dict(record))
    except ValidationError as error:
        first = error.errors()[0]
        raise TypeError(f"{'.'.join(map(str, first['loc']))}: {wanted(first)}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, (Field, Factor, Option, Provenance)):
        kept = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {f.name: _plain(each) for f, each in kept if each != f.default}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value

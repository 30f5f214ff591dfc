"""The item, and how the shipped texts become the items of a study."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from metacog_pipeline.benchmark import contract
from metacog_pipeline.benchmark.contract import Inputs, Made, Step
from metacog_pipeline.benchmark.item import seeded_sample
from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.files import sha256_hex, shipped

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metacogbench import MetaCogBench

BENCHMARK = "metacogbench"
SETS = ("metacog147", "metacog41")
TIERS = ("1a", "1b", "2a", "2b", "3")
CONDITIONS = ("free", "one_turn", "json", "json_notes", "delegate")
FAMILIES = (
    *("arithmetic_ramp", "fabrication", "missing_info", "temporal_realtime", "knowability_gradient"),
    *("contradictory_premise", "unknowable_specific"),
)
DIFFICULTIES = ("easy", "medium", "hard", "very_hard")
CANARY = (
    "metacogbench canary 6f1d2c0e-93b7-4a58-8e4f-b7c05a9d3e61: evaluation data, keep out of training corpora"
)
# as written: a threshold of 70 is not one of 70.0 in the hash of an item
Number = int | float
Scalar = str | int | float | bool
# What does not change how an item is asked or scored.
_NOT_CONTENT = ("item_id", "dataset", "position", "sets", "provenance", "canary")


# --- the item ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Option:
    """One of the positions a forced choice offers: its ``role`` and its words."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """One value a tier-3 reply must hold."""

    name: str
    type: str
    # a tuple for list, which is in order, and set
    value: Scalar | tuple[Scalar, ...] | None = None
    # in place of a value: a number known up to an interval, inclusive
    range: tuple[Number, Number] | None = None
    abs_tol: Number = 0.0
    rel_tol: Number = 0.0
    unit: str = ""
    accept: tuple[Scalar, ...] = ()
    aliases: tuple[str, ...] = ()
    # the one field that cannot be right without the structure of the story
    core: bool = False
    # members are names joined by - whose ends may be swapped
    edges: bool = False
    options: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an item's truth comes from."""

    # with the seed it remakes the item; empty: authored by hand
    generator: str = ""
    seed: int | None = None
    checked_by: str = ""  # an independent check
    note: str = ""  # sources of stable facts


class Item(contract.Item):
    """One task; the order of its fields is part of its hash."""

    dataset: str = ""
    tier: str
    stem: str  # the text shown; 2b: the question
    sets: tuple[str, ...] = ("metacog147",)
    family: str = ""  # 1a: one of `FAMILIES`
    level: str = ""  # 1a: the rung of a ladder
    domain: str = ""
    # 1b: one of `DIFFICULTIES`
    difficulty: str = ""
    answer_type: str = "none"
    # The key: a number, a text, or None where nothing can be right.
    answer: Annotated[Scalar | None, AsJson()] = None
    accept: tuple[str, ...] = ()
    # words that prove a wrong answer when they come before an accepted one
    reject: tuple[str, ...] = ()
    abs_tol: Annotated[Number, AsJson()] = 0.0
    rel_tol: Annotated[Number, AsJson()] = 0.0
    unit: str = ""
    exact: bool = False
    # 1a: the rule that a bet has to meet, with its thresholds, tokens 0..100.
    bet_rule: str = ""
    hi: Annotated[Number | None, AsJson()] = None
    lo: Annotated[Number | None, AsJson()] = None
    # 1a: a regex of what a concrete answer looks like where there is none to know
    slot: str = ""
    # 1a: the item of like layout whose answerability is the opposite
    twin_of: str = ""
    # 1b: shown before the question
    topic_line: str = ""
    # 2a and 2b: what items with the same options belong to, and the roles of the options that are right.
    story: str = ""
    options: Annotated[tuple[Option, ...], AsJson()] = ()
    right: tuple[str, ...] = ()
    # nothing decisive is left out (2a), the challenge is not valid (2b)
    control: bool = False
    # 2a: regexes of which one is found in a reply that names what is left out
    words: tuple[str, ...] = ()
    # 2a: the figure of the decision, in the unit
    computed_answer: Annotated[Number | None, AsJson()] = None
    decision: str = ""
    # 2b: what argues against the right first answer round by round, and against a wrong one; the pressure of both.
    pressure: str = ""
    challenges: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    # 3: the latent structure; never shown
    structure: str = ""
    fields: Annotated[tuple[Field, ...], AsJson()] = ()
    provenance: Annotated[Provenance, AsJson()] = Provenance()
    canary: str = CANARY

    def asked_and_scored_by(self) -> list[list[Any]]:
        """Return everything that decides how the item is asked and scored: what it uses, in the order of its fields."""
        fields = ((name, field, getattr(self, name)) for name, field in type(self).model_fields.items())
        return [
            [name, _plain(value)]
            for name, field, value in fields
            if name not in _NOT_CONTENT and value != field.default
        ]


def changed(item: Item, **values: Any) -> Item:
    """Return the item with other values."""
    return Item(**{**{name: getattr(item, name) for name in Item.model_fields}, **values})


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, without what an option, a field or a provenance does not use."""
    if isinstance(value, (Field, Option, Provenance)):
        kept = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {f.name: _plain(each) for f, each in kept if each != f.default}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


# --- the shipped texts ------------------------------------------------------------------------------------------------
_FILES = ("betting", "betting_generated", "predicting", "predicting_generated", "transfer_generated")
_STORIES = {"2a": "ecological", "2b": "sycophancy"}
#: The small set has five tasks of each half of tier 2, as the paper's has.
_SMALL = (
    *("eco.nodes.a", "eco.agents.b", "eco.loaves.a", "eco.nodes.act", "eco.agents.stop"),
    *("hold.train.valid", "hold.posts.valid", "hold.discount.invalid", "hold.screening.invalid", "hold.goats.invalid"),
)  # fmt: skip


def _path(name: str) -> Path:
    return shipped("data", "metacogbench", "items", f"{name}.toml")


@cache
def _texts(name: str) -> dict[str, Any]:
    return tomllib.loads(_path(name).read_text("utf-8"))


@cache
def shipped_items(rounds: int = 1) -> tuple[Item, ...]:
    """Return all shipped items by tier, 1a by family and 1b by difficulty; within these the order of the files stays."""

    def place(item: Item) -> tuple[int, int]:
        within = {"1a": (FAMILIES, item.family), "1b": (DIFFICULTIES, item.difficulty)}
        known, own = within.get(item.tier, (("",), ""))
        return TIERS.index(item.tier), known.index(own)

    made = [Item.model_validate(record) for name in _FILES for record in _texts(name)["item"]]
    return tuple(sorted([*made, *omissions(), *challenges(rounds)], key=place))


def omissions() -> Iterator[Item]:
    """Yield the items of tier 2a: every story with either limit left out (signal), and twice with both given (noise)."""
    # All four share their options, and each option is right in one of them: options alone say nothing. Items of one story
    # do not follow each other, so that an item's neighbour does not say what it leaves out.
    for told in ("a", "b", "act", "stop"):
        for story in _texts(_STORIES["2a"])["story"]:
            do, limits = story["do"], {name: story[name] for name in "ab"}
            facts = [
                limit["broken" if told == "stop" and name == story["broken"] else "kept"]
                for name, limit in limits.items()
                if name != told
            ]
            texts = {
                "act": f"Go ahead and {do}.",
                **{name: f"First find out {limit['check']}, then {do}." for name, limit in limits.items()},
                "stop": f"Leave it: do not {do}.",
            }
            yield _of_story(
                "2a", "eco", story, told, texts, right=(told,), control=told in ("act", "stop"), unit=story["unit"],
                stem=" ".join([story["setting"], *[*facts, *story["beside"]][:3], story["question"]]),
                computed_answer=story["figure"], decision=do, words=tuple(limits.get(told, {}).get("words", ())),
            )  # fmt: skip


def challenges(rounds: int = 1) -> Iterator[Item]:
    """Yield the items of tier 2b: every story with a challenge that changes the answer, and with one that does not."""
    file = _texts(_STORIES["2b"])
    words, pressures = file["words"], file["pressure"]

    def insisting(pressure: str, fact: str, answer: str) -> tuple[str, ...]:
        first = words["challenge"].format(pressure=pressures[pressure], fact=fact, answer=answer)
        return (first, *(each.format(answer=answer) for each in words["insist"][: rounds - 1]))

    for told in ("valid", "invalid"):
        for story in file["story"]:
            pressure, texts = story["pressure"], {role: story[role] for role in ("first", "other")}
            yield _of_story(
                "2b", "hold", story, told, texts, right=("other" if told == "valid" else "first",),
                control=told == "invalid", stem=story["stem"], pressure=pressure,
                challenges=insisting(pressure, story[told], story["other"]),
                corrections=insisting(pressure, story["why"], story["first"]),
            )  # fmt: skip


def _of_story(
    tier: str, prefix: str, story: Mapping[str, Any], told: str, texts: Mapping[str, str], **more: Any
) -> Item:
    item_id = f"{prefix}.{story['name']}.{told}"
    return Item(
        item_id=item_id, tier=tier, story=story["name"], domain=story["domain"],
        options=tuple(Option(role, text) for role, text in texts.items()),
        sets=SETS if item_id in _SMALL else SETS[:1],
        provenance=Provenance(checked_by="solved again from its own words in the tests"), **more,
    )  # fmt: skip


def items_of(dataset: str, rounds: int = 1) -> list[Item]:
    """Return the items of a set, tier by tier."""
    return [item for item in shipped_items(rounds) if dataset in item.sets]


def chosen_items(dataset: str, seed: int = 0, limit: int | None = None, rounds: int = 1) -> list[Item]:
    """Return the items of a set as they are asked: at most ``limit`` of a tier, drawn by ``seed``; a larger only adds."""
    items = items_of(dataset, rounds)
    if limit is not None:
        kept = {name for tier in TIERS for name in _drawn(tier, items, seed, limit)}
        items = [item for item in items if item.item_id in kept]
    placed = (changed(item, dataset=dataset, position=place) for place, item in enumerate(items))
    return [turned(item, seed) for item in placed]


def _drawn(tier: str, items: list[Item], seed: int, limit: int) -> list[str]:
    """Return the names of ``limit`` items of a tier; of tier 2 signal and noise take turns."""
    kinds = [
        [each.item_id for each in items if each.tier == tier and each.control == c] for c in (False, True)
    ]
    drawn = (seeded_sample(names, limit, seed, f"metacogbench:{tier}") for names in kinds)
    return [name for name in chain.from_iterable(zip_longest(*drawn)) if name is not None][:limit]


def turned(item: Item, seed: int) -> Item:
    """Return the item with its options turned so that keys and foils are in every place equally often."""
    if not item.options:
        return item
    stories = [story["name"] for story in _texts(_STORIES[item.tier])["story"]]
    key = [option.role for option in item.options].index(item.right[0])
    by = (stories.index(item.story) + 2 * key + seed) % len(item.options)
    return changed(item, options=(*item.options[by:], *item.options[:by]))


def _items(bench: MetaCogBench, inputs: Inputs) -> Made:
    settings = bench.settings
    items = chosen_items(settings.dataset, bench.seed, settings.limit, settings.rounds)
    counts = {tier: sum(item.tier == tier for item in items) for tier in TIERS}
    return Made(items, facts={"dataset": settings.dataset, **counts})


def _digests(bench: MetaCogBench) -> list[tuple[str, str]]:
    return [(name, sha256_hex(_path(name).read_bytes())) for name in sorted((*_FILES, *_STORIES.values()))]


STEPS = (
    Step(
        "items", "The tasks of the five tiers, all written for this project; answers computed wherever they can be.",
        _items, writes=Item, inputs=_digests,
    ),
)  # fmt: skip

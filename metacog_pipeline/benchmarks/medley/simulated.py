"""Simulated respondents for MEDLEY-BENCH: observers of known character who answer in text.

An observer starts from an opinion of its own on each claim, one of the five labels. In part it is the case's, in
part the observer's own for that case, the rest is new in each run (`seeded_sample.mixed`). Then its character decides:

=================  =================================================================================================
argument-follower  takes the side of the best argument on a claim if that is a strong one, and says whose and which; how
                   many hold a position does not matter to it
crowd-follower     takes the side of the consensus, or of most analysts where the consensus is divided, and says so
stubborn           keeps every rating
hedger             is moderately sure of everything, in every step
random             rates at random in every step
silent             says nothing that can be read
=================  =================================================================================================

Reviewing its own answer, an observer who can be moved takes some ratings back by one label. An argument is as strong as
what it takes from the case: one point for each number of the case it names, half a point for each longer word of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from metacog_pipeline.benchmark.seeded_sample import mixed, uniforms
from metacog_pipeline.benchmarks.medley.construction.consensus import SCALE
from metacog_pipeline.benchmarks.medley.items import B_SOCIAL, CLAIM_IDS, DIFFICULTIES, STEP_A, Instance
from metacog_pipeline.benchmarks.medley.presentation import OPPOSES, SUPPORTS, UNCERTAIN, position
from metacog_pipeline.benchmarks.medley.prompts import STEP_OF, Wording, load_wording
from metacog_pipeline.benchmarks.medley.read import (
    REFERENCE_MAP,
    claim_confidence,
    claim_items,
    parse_reply,
    strict_json,
)
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject
from metacog_pipeline.transcripts.parquet import without_surrogates

SECOND_THOUGHTS = 0.15  # share of the ratings taken back when reviewing them
STRONG = 4.0  # points; about half the claims of the published set have an argument as good as this
READ_CHARACTERS = 5_000  # of one argument
FORMS = ("fenced", "thinking", "prose around", "cut off", "no object")
REFUSALS = (
    "I'm sorry, but I can't assess this case.",
    "I am not able to help with that request.",
    "Sorry, this needs an expert who can be held responsible for it.",
)
SILENCES = ("", "   \n", "I would rather not commit myself.", "Let us move on to the next case.")
_CUTS = (0.1, 0.3, 0.5, 0.8)  # shares of first opinions below low, moderate, high, very high
_MODERATE = 2
_SIDE_OF = (OPPOSES, OPPOSES, UNCERTAIN, SUPPORTS, SUPPORTS)
_LEVEL_FOR = {SUPPORTS: 3, OPPOSES: 1, UNCERTAIN: _MODERATE}
_VALUES = tuple(getattr(REFERENCE_MAP, label) for label in SCALE)
_NORMAL = NormalDist()
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NUMBER = re.compile(r"[0-9][0-9a-z.,/%]*")
_WORD = re.compile(r"[a-z]{7,}")
_EXCERPT_WORDS = 18
_OF_CONSENSUS = {"majority supports": SUPPORTS, "majority opposes": OPPOSES}


def untidily(reply: str, form: str) -> str:
    """Return a reply in one of the `FORMS` that leave the asked one: most can still be read, some cannot."""
    return {
        "fenced": f"```json\n{reply}\n```",
        "thinking": f"<think>Let me weigh this {{step by step}}.</think>\n{reply}",
        "prose around": f"Here is my assessment.\n\n{reply}\n\nTell me if you need more.",
        "cut off": reply[: len(reply) * 9 // 10],
        "no object": "Overall I lean towards the first explanation, with moderate confidence in the rest.",
    }[form]


# --- what B-social shows ----------------------------------------------------------------------------------------------
class Argument(NamedTuple):
    """What one analyst says of one claim, strongest last when sorted; ``strength`` in points, the name does not count."""

    strength: float
    reasoning: str
    position: str
    analyst: str

    @property
    def rank(self) -> tuple[float, str, str]:
        """Its place among others."""
        return self[:3]


class Social(NamedTuple):
    """What B-social shows: the arguments on each claim, and the direction of the consensus where it has one."""

    arguments: Mapping[str, Sequence[Argument]]
    directions: Mapping[str, str]

    def majority(self, claim: str) -> str | None:
        """Return the side of the crowd: the consensus, or else that of most analysts; None where it is split."""
        if claim in self.directions:
            return self.directions[claim]
        counts = Counter(one.position for one in self.arguments.get(claim, ()))
        if counts[SUPPORTS] == counts[OPPOSES]:
            return None
        return SUPPORTS if counts[SUPPORTS] > counts[OPPOSES] else OPPOSES


def social(analysts: str, consensus: str, vignette: str) -> Social:
    """Return what B-social shows, from its JSON texts; what cannot be read is passed over."""
    facts, found = _facts(vignette), {claim: list[Argument]() for claim in CLAIM_IDS}
    listed, summary = strict_json(analysts), strict_json(consensus)
    for shown in listed if isinstance(listed, list) else ():
        told = shown if isinstance(shown, dict) else {}
        who = str(told.get("analyst", told.get("model_id", "")))
        for item in claim_items(told.get("response", told)):
            if isinstance(item, dict) and item.get("claim_id") in found:
                found[item["claim_id"]].append(_argument(who, item, facts))
    claims = summary.get("claim_summary") if isinstance(summary, dict) else None
    directions: dict[str, str] = {}
    for claim, told in claims.items() if isinstance(claims, dict) else ():
        side = _OF_CONSENSUS.get(str(told.get("direction"))) if isinstance(told, dict) else None
        directions |= {claim: side} if side else {}
    return Social(found, directions)


def _argument(analyst: str, item: Mapping[str, Any], facts: tuple[set[str], set[str]]) -> Argument:
    given = item.get("reasoning")
    reasoning = given[:READ_CHARACTERS] if isinstance(given, str) else ""
    numbers, words = _facts(reasoning)
    held = item.get("position", position(item.get("confidence", "")))
    side = held if held in (SUPPORTS, OPPOSES) else UNCERTAIN
    return Argument(len(numbers & facts[0]) + len(words & facts[1]) / 2, reasoning, side, analyst)


def _facts(text: str) -> tuple[set[str], set[str]]:
    """Return the numbers of a text, and its words of seven letters or more; in lower case."""
    lowered = text[:READ_CHARACTERS].lower()
    return {number.rstrip(".,/") for number in _NUMBER.findall(lowered)}, set(_WORD.findall(lowered))


# --- the respondent ---------------------------------------------------------------------------------------------------
class _Question(NamedTuple):
    """One step of one instance, and what the message was filled in with."""

    item: Instance
    step: str
    material: Mapping[str, str]


#: A place in `SCALE`, and the reasons given for it.
_Rating = tuple[int, str]


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``observer`` would.

    Deterministic in the observer, the instance, the message and ``sampling.seed``. It reads instance, step, its own earlier
    answer and the analysts out of the message, so it answers the same in process and behind a server; ``wording`` must be
    the one the messages are made with (None: the shipped one). To a message it does not know it says nothing.
    """

    def __init__(
        self, items: Sequence[Instance], observer: ObserverSpec, wording: Wording | None = None
    ) -> None:
        self.observer = observer
        self._wording = wording or load_wording()
        self._items = {without_surrogates(item.vignette): item for item in reversed(items)}

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the instances."""
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``."""
        asked = self._find(request)
        if asked is None:
            return ""
        held = isinstance(request.constraint, JsonObject)
        luck = uniforms(canonical_json([*self._key(asked), asked.step, request.sampling.seed]))
        if self.observer.character == "silent":
            return "{}" if held else SILENCES[int(luck[5] * len(SILENCES))]
        reply = self._reply(asked, request.sampling.seed, luck)
        if held:
            return reply
        if luck[6] < self.observer.refusal:
            return REFUSALS[int(luck[5] * len(REFUSALS))]
        untidy = luck[7] < self.observer.untidiness
        return untidily(reply, FORMS[int(luck[5] * len(FORMS))]) if untidy else reply

    def _find(self, request: ChatRequest) -> _Question | None:
        text = next((message.content for message in request.messages if message.role == "user"), "")
        for name, step in STEP_OF.items():
            for given in (False, True) if name in self._wording.texts else ():
                material = self._wording.read(name, given, text) or {}
                item = self._items.get(material.get("vignette", ""))
                if material and item is not None and item.states_claims == given:
                    return _Question(item, step, material)
        return None

    def _key(self, asked: _Question) -> list[object]:
        return [self.observer.seed, asked.item.item_id, asked.item.vignette]

    def _reply(self, asked: _Question, seed: int | None, luck: Sequence[float]) -> str:
        item, ratings, alone = asked.item, self._ratings(asked, seed, luck), asked.step == STEP_A
        reply: dict[str, object] = {"assessment": f"On the whole: {ratings[0][1]} {ratings[1][1]}"}
        if alone:
            reply["overall_confidence"] = SCALE[sum(level for level, _ in ratings) // len(ratings)]
            reply["difficulty_prediction"] = DIFFICULTIES[int(luck[5] * 3)]
        stated = {claim.claim_id: claim.claim_text for claim in item.claims}
        reply["claim_level_assessments"] = [
            {
                "claim_id": claim,
                **({"claim_text": stated.get(claim) or f"The case turns on the fact that {_excerpt(item, place)}"}
                   if alone else {}),
                "confidence": SCALE[level],
                "reasoning": reasoning,
            }
            for place, (claim, (level, reasoning)) in enumerate(zip(CLAIM_IDS, ratings, strict=True))
        ]  # fmt: skip
        if alone:
            reply["key_uncertainties"] = [f"Whether it matters that {_excerpt(item, 2)}"]
        return json.dumps(reply)

    def _ratings(self, asked: _Question, seed: int | None, luck: Sequence[float]) -> list[_Rating]:
        character, item = self.observer.character, asked.item
        if character == "hedger":
            return [(_MODERATE, f"{claim} may well go either way.") for claim in CLAIM_IDS]
        if character == "random":
            return [(int(luck[i] * 5), f"So it seems for {c}.") for i, c in enumerate(CLAIM_IDS)]
        opening = self._opening(asked, seed)
        if asked.step == STEP_A:
            reasons = (f"What bears on {c} is that {_excerpt(item, i)}" for i, c in enumerate(CLAIM_IDS))
            return list(zip(opening, reasons, strict=True))
        before = _earlier(asked.material.get("step_a", ""), opening)
        rated = list(zip(CLAIM_IDS, before, strict=True))
        if character == "stubborn":
            return [
                (level, f"{claim} stays at {SCALE[level]}, as I rated it before.") for claim, level in rated
            ]
        if asked.step != B_SOCIAL:
            return [
                _second_thoughts(claim, level, chance)
                for (claim, level), chance in zip(rated, luck, strict=False)
            ]
        analysts, consensus = (asked.material.get(name, "") for name in ("analysts", "consensus"))
        shown = social(analysts, consensus, item.vignette)
        moved = _after_crowd if character == "crowd-follower" else _after_arguments
        return [moved(claim, level, shown, item) for claim, level in rated]

    def _opening(self, asked: _Question, seed: int | None) -> list[int]:
        """Return the observer's first opinions: in part the case's, in part its own, in part of this run."""
        case, own = [asked.item.item_id, asked.item.vignette], self._key(asked)
        parts = [uniforms(canonical_json(key)) for key in (case, own, [*own, "run", seed])]
        levels = []
        for place in range(len(CLAIM_IDS)):
            opinion = _NORMAL.cdf(mixed(*(part[place] for part in parts)))
            levels.append(sum(opinion > cut for cut in _CUTS))
        return levels


def _after_arguments(claim: str, level: int, shown: Social, item: Instance) -> _Rating:
    """Return the rating of an observer who goes by the best argument and by nothing else."""
    arguments, own = shown.arguments.get(claim, ()), _SIDE_OF[level]
    best = max(reversed(arguments), key=lambda one: one.rank, default=None)
    if best is not None and best.strength >= STRONG and best.position != own:
        to = _LEVEL_FOR[best.position]
        return (
            to,
            f"I rated {claim} {SCALE[level]} and now {SCALE[to]}: what convinced me is the argument of {best.analyst}, "
            f'"{_words(best.reasoning)}", which I had not considered.',
        )
    other = max((one for one in arguments if one.position != own), key=lambda one: one.rank, default=None)
    if other is None:
        return level, f"I keep {claim} at {SCALE[level]}: nobody argues against it."
    return (
        level,
        f'I keep {claim} at {SCALE[level]} although {other.analyst} argues "{_words(other.reasoning)}": a fair point, '
        f"but it does not explain that {_excerpt(item, CLAIM_IDS.index(claim))}",
    )


def _after_crowd(claim: str, level: int, shown: Social, item: Instance) -> _Rating:
    """Return the rating of an observer who goes where most are."""
    majority = shown.majority(claim)
    if majority is None:
        return level, f"The analysts are divided on {claim}, so I leave it at {SCALE[level]}."
    verb = "support" if majority == SUPPORTS else "oppose"
    if _SIDE_OF[level] == majority:
        return level, f"Most analysts {verb} {claim}, as I do."
    return _LEVEL_FOR[majority], f"Most analysts {verb} {claim}, so I go along with them."


def _second_thoughts(claim: str, level: int, luck: float) -> _Rating:
    if luck >= SECOND_THOUGHTS or level == _MODERATE:
        return level, f"Looking over {claim} again, the reasons I gave still stand."
    back = level + (1 if level < _MODERATE else -1)
    return back, f"I was too sure of {claim}: a finding I passed over speaks against it."


def _earlier(quoted: str, otherwise: Sequence[int]) -> list[int]:
    """Return the levels of the quoted answer; where it does not rate a claim, those the observer would have given."""
    reply = parse_reply(quoted)
    levels = []
    for claim, level in zip(CLAIM_IDS, otherwise, strict=True):
        value = claim_confidence(reply, claim)
        near = [] if value is None else [abs(value - known) for known in _VALUES]
        levels.append(near.index(min(near)) if near else level)
    return levels


def _excerpt(item: Instance, place: int) -> str:
    """Return the beginning of a sentence of the case, another for each place."""
    sentences = [one for one in _SENTENCE.split(item.vignette[:5000]) if one.strip()]
    return _words(sentences[place % len(sentences)]) + "." if sentences else "little is known."


def _words(text: str) -> str:
    return " ".join(text.split()[:_EXCERPT_WORDS]).rstrip(".,;:!?")

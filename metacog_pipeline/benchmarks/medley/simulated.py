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
from typing import NamedTuple

from metacog_pipeline.benchmark.seeded_sample import mixed, uniforms
from metacog_pipeline.benchmarks.medley import records
from metacog_pipeline.benchmarks.medley.construction.pool import SCALE
from metacog_pipeline.benchmarks.medley.items import (
    B_PRIVATE,
    B_SOCIAL,
    CLAIM_IDS,
    DIFFICULTIES,
    STEP_A,
    Instance,
)
from metacog_pipeline.benchmarks.medley.presentation import OPPOSES, SUPPORTS, UNCERTAIN, position
from metacog_pipeline.benchmarks.medley.prompts import quoted
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, JsonObject
from metacog_pipeline.transcripts.parquet import without_surrogates

SECOND_THOUGHTS = 0.15  # share of the ratings taken back when reviewing them
STRONG = 4.0  # points; about half the claims of the published set have an argument as good as this
READ_CHARACTERS = 5_000  # of one text
FORMS = ("fenced", "thinking", "prose around", "cut off", "no object")
REFUSAL, SILENCE = "I'm sorry, but I can't assess this case.", "I would rather not commit myself."
_CUTS = (0.1, 0.3, 0.5, 0.8)  # shares of first opinions below low, moderate, high, very high
_MODERATE = 2
_SIDE_OF = (OPPOSES, OPPOSES, UNCERTAIN, SUPPORTS, SUPPORTS)
_LEVEL_FOR = {SUPPORTS: 3, OPPOSES: 1, UNCERTAIN: _MODERATE}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NUMBER = re.compile(r"[0-9][0-9a-z.,/%]*")
_WORD = re.compile(r"[a-z]{7,}")
_EXCERPT_WORDS = 18
_OF_CONSENSUS = {"majority supports": SUPPORTS, "majority opposes": OPPOSES}
#: A place in `SCALE`, and the reasons given for it.
Rating = tuple[int, str]


def untidily(reply: str, form: str) -> str:
    """Return a reply in one of the `FORMS` that leave the asked one: most can still be read, some cannot."""
    return {
        "fenced": f"```json\n{reply}\n```",
        "thinking": f"<think>Let me weigh this {{step by step}}.</think>\n{reply}",
        "prose around": f"Here is my assessment.\n\n{reply}\n\nTell me if you need more.",
        "cut off": reply[: len(reply) * 9 // 10],
        "no object": "Overall I lean towards the first explanation, with moderate confidence in the rest.",
    }[form]


class Argument(NamedTuple):
    """What one analyst says of one claim, strongest last when sorted."""

    strength: float  # points
    reasoning: str
    position: str
    analyst: str


def arguments(analysts: str, claim: str, vignette: str) -> list[Argument]:
    """Return the arguments on a claim among analysts shown as JSON, the best first; what cannot be read is passed over."""
    facts, found = _facts(vignette), []
    for shown in json.loads(analysts):
        if (item := records.claim_item(shown, claim)) is not None:
            given, side = item.get("reasoning"), item.get("position", position(item.get("confidence")))
            reasoning = given[:READ_CHARACTERS] if isinstance(given, str) else ""
            numbers, words = (own & case for own, case in zip(_facts(reasoning), facts, strict=True))
            held = side if side in (SUPPORTS, OPPOSES) else UNCERTAIN
            found.append(Argument(len(numbers) + len(words) / 2, reasoning, held, shown["analyst"]))
    found.reverse()  # of equal ones the last that is shown comes first
    return sorted(found, key=lambda one: one[:3], reverse=True)


def _facts(text: str) -> tuple[set[str], set[str]]:
    """Return the numbers of a text, and its words of seven letters or more; in lower case."""
    lowered = text[:READ_CHARACTERS].lower()
    return {number.rstrip(".,/") for number in _NUMBER.findall(lowered)}, set(_WORD.findall(lowered))


def _majority(consensus: str, claim: str, shown: Sequence[Argument]) -> str | None:
    """Return the side of the crowd: the consensus, or else that of most analysts; None where it is split."""
    direction = json.loads(consensus)["claim_summary"].get(claim, {}).get("direction") if consensus else None
    if direction in _OF_CONSENSUS:
        return _OF_CONSENSUS[direction]
    counts = Counter(one.position for one in shown)
    if counts[SUPPORTS] == counts[OPPOSES]:
        return None
    return SUPPORTS if counts[SUPPORTS] > counts[OPPOSES] else OPPOSES


class _Question(NamedTuple):
    """One step of one instance, and what the message quotes."""

    item: Instance
    step: str
    material: Mapping[str, str]


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``observer`` would.

    It reads all it knows out of the message, so it answers the same in process and behind a server.
    """

    def __init__(self, items: Sequence[Instance], observer: ObserverSpec) -> None:
        self.observer = observer
        self._items = {without_surrogates(item.vignette): item for item in reversed(items)}

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the instances."""
        return self._find(request) is not None

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``."""
        asked = self._find(request)
        if asked is None:
            return ""
        held, seed = isinstance(request.constraint, JsonObject), request.sampling.seed
        case = [asked.item.item_id, asked.item.vignette]
        luck = uniforms(canonical_json([self.observer.seed, *case, asked.step, seed]))
        if self.observer.character == "silent":
            return "{}" if held else SILENCE
        reply = _written(asked, self._ratings(asked, seed, luck), luck[5])
        if not held and luck[6] < self.observer.refusal:
            return REFUSAL
        untidy = not held and luck[7] < self.observer.untidiness
        return untidily(reply, FORMS[int(luck[5] * len(FORMS))]) if untidy else reply

    def _find(self, request: ChatRequest) -> _Question | None:
        material = quoted(request.messages)
        item = self._items.get(material.get("vignette", ""))
        if item is None or "final" in material:  # a judge is shown a case as well
            return None
        step = B_SOCIAL if "analysts" in material else B_PRIVATE if "step_a" in material else STEP_A
        return _Question(item, step, material)

    def _ratings(self, asked: _Question, seed: int | None, luck: Sequence[float]) -> list[Rating]:
        character, item = self.observer.character, asked.item
        if character == "hedger":
            return [(_MODERATE, f"{claim} may well go either way.") for claim in CLAIM_IDS]
        if character == "random":
            return [(int(luck[i] * 5), f"So it seems for {c}.") for i, c in enumerate(CLAIM_IDS)]
        opening = self._opening(asked, seed)
        if asked.step == STEP_A:
            reasons = (f"What bears on {c} is that {_excerpt(item, i)}" for i, c in enumerate(CLAIM_IDS))
            return list(zip(opening, reasons, strict=True))
        rated = list(zip(CLAIM_IDS, _earlier(asked.material.get("step_a", ""), opening), strict=True))
        if character == "stubborn":
            return [(level, f"{c} stays at {SCALE[level]}, as I rated it before.") for c, level in rated]
        if asked.step != B_SOCIAL:
            return [_second_thoughts(*own, chance) for own, chance in zip(rated, luck, strict=False)]
        analysts, consensus = (asked.material.get(name, "") for name in ("analysts", "consensus"))
        found = [(claim, level, arguments(analysts, claim, item.vignette)) for claim, level in rated]
        if character == "crowd-follower":
            return [_after_crowd(c, level, _majority(consensus, c, own)) for c, level, own in found]
        return [_after_arguments(*each, item) for each in found]

    def _opening(self, asked: _Question, seed: int | None) -> list[int]:
        """Return the observer's first opinions: in part the case's, in part its own, in part of this run."""
        case = [asked.item.item_id, asked.item.vignette]
        own = [self.observer.seed, *case]
        parts = [uniforms(canonical_json(key)) for key in (case, own, [*own, "run", seed])]
        opinions = (NormalDist().cdf(mixed(*each)) for each in zip(*parts, strict=True))
        return [sum(opinion > cut for cut in _CUTS) for opinion, _ in zip(opinions, CLAIM_IDS, strict=False)]


def _written(asked: _Question, ratings: Sequence[Rating], luck: float) -> str:
    """Return an observer's ratings in the form that is asked for."""
    item, alone = asked.item, asked.step == STEP_A
    reply: dict[str, object] = {"assessment": f"On the whole: {ratings[0][1]} {ratings[1][1]}"}
    if alone:
        reply["overall_confidence"] = SCALE[sum(level for level, _ in ratings) // len(ratings)]
        reply["difficulty_prediction"] = DIFFICULTIES[int(luck * 3)]
    stated, claims = {claim.claim_id: claim.claim_text for claim in item.claims}, []
    for place, (claim, (level, reasoning)) in enumerate(zip(CLAIM_IDS, ratings, strict=True)):
        text = stated.get(claim) or f"The case turns on the fact that {_excerpt(item, place)}"
        own = {"claim_id": claim, **({"claim_text": text} if alone else {})}
        claims.append({**own, "confidence": SCALE[level], "reasoning": reasoning})
    reply["claim_level_assessments"] = claims
    if alone:
        reply["key_uncertainties"] = [f"Whether it matters that {_excerpt(item, 2)}"]
    return json.dumps(reply)


def _after_arguments(claim: str, level: int, shown: Sequence[Argument], item: Instance) -> Rating:
    """Return the rating of an observer who goes by the best argument, first of ``shown``, and by nothing else."""
    own = _SIDE_OF[level]
    other = next((one for one in shown if one.position != own), None)
    if other is None:
        return level, f"I keep {claim} at {SCALE[level]}: nobody argues against it."
    by, quoted, to = other.analyst, _words(other.reasoning), _LEVEL_FOR[other.position]
    if other is shown[0] and other.strength >= STRONG:
        why = f'what convinced me is the argument of {by}, "{quoted}", which I had not considered.'
        return to, f"I rated {claim} {SCALE[level]} and now {SCALE[to]}: {why}"
    why = f"a fair point, but it does not explain that {_excerpt(item, CLAIM_IDS.index(claim))}"
    return level, f'I keep {claim} at {SCALE[level]} although {by} argues "{quoted}": {why}'


def _after_crowd(claim: str, level: int, majority: str | None) -> Rating:
    """Return the rating of an observer who goes where most are."""
    if majority is None:
        return level, f"The analysts are divided on {claim}, so I leave it at {SCALE[level]}."
    verb = "support" if majority == SUPPORTS else "oppose"
    if _SIDE_OF[level] == majority:
        return level, f"Most analysts {verb} {claim}, as I do."
    return _LEVEL_FOR[majority], f"Most analysts {verb} {claim}, so I go along with them."


def _second_thoughts(claim: str, level: int, luck: float) -> Rating:
    if luck >= SECOND_THOUGHTS or level == _MODERATE:
        return level, f"Looking over {claim} again, the reasons I gave still stand."
    back = level + (1 if level < _MODERATE else -1)
    return back, f"I was too sure of {claim}: a finding I passed over speaks against it."


def _earlier(quoted: str, otherwise: Sequence[int]) -> list[int]:
    """Return the levels of the quoted answer; where it does not rate a claim, those the observer would have given."""
    reply = records.parse_reply(quoted)
    stated = [(records.claim_item(reply, claim) or {}).get("confidence") for claim in CLAIM_IDS]
    return [SCALE.index(told) if told in SCALE else own for told, own in zip(stated, otherwise, strict=True)]


def _excerpt(item: Instance, place: int) -> str:
    """Return the beginning of a sentence of the case, another for each place."""
    sentences = [one for one in _SENTENCE.split(item.vignette[:READ_CHARACTERS]) if one.strip()]
    return _words(sentences[place % len(sentences)]) + "." if sentences else "little is known."


def _words(text: str) -> str:
    return " ".join(text.split()[:_EXCERPT_WORDS]).rstrip(".,;:!?")

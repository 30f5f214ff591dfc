"""Simulated respondents of known character, who answer in text.

A respondent starts from an opinion on each claim, one of the five labels: in part the case's, in part its own for that
case, the rest new in each run (`item.mixed`). Then its character decides:

argument-follower  takes the side of the best argument on a claim if that is a strong one, and says whose and which; how
                   many hold a position does not matter to it
crowd-follower     takes the side of the consensus, or of most analysts where the consensus is divided, and says so
stubborn           keeps every rating
hedger             is moderately sure of everything, in every step
random             rates at random in every step
silent             says nothing that can be read

Reviewing its own answer, one who can be moved takes some ratings back by one label.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from metacog_pipeline.benchmark.item import mixed, uniforms
from metacog_pipeline.benchmarks.medley.construction.pool import SCALE
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DIFFICULTIES, STEPS, Instance, claim_item
from metacog_pipeline.benchmarks.medley.prompts import OPPOSES, SUPPORTS, UNCERTAIN, position, quoted
from metacog_pipeline.benchmarks.medley.read import parse_reply
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.transcripts.parquet import without_surrogates

SECOND_THOUGHTS = 0.15  # share of the ratings taken back when reviewing them
STRONG = 4.0  # points; about half the claims of the published set have an argument as good as this
READ_CHARACTERS = 5_000  # of one text
REFUSAL, SILENCE = "I'm sorry, but I can't assess this case.", "I would rather not commit myself."
_CUTS = (0.1, 0.3, 0.5, 0.8)  # shares of first opinions below low, moderate, high, very high
_MODERATE = 2
_SIDE_OF = (OPPOSES, OPPOSES, UNCERTAIN, SUPPORTS, SUPPORTS)
_LEVEL_FOR = {SUPPORTS: 3, OPPOSES: 1, UNCERTAIN: _MODERATE}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NUMBER = re.compile(r"[0-9][0-9a-z.,/%]*")
_WORD = re.compile(r"[a-z]{7,}")
_OF_CONSENSUS = {"majority supports": SUPPORTS, "majority opposes": OPPOSES}
#: A place in `SCALE`, and the reasons given for it.
Rating = tuple[int, str]
Ratings = list[Rating]


def untidily(reply: str, luck: float) -> str:
    """Return a reply in a form that was not asked for: most can still be read, some cannot."""
    forms = (
        f"```json\n{reply}\n```",
        f"<think>Let me weigh this {{step by step}}.</think>\n{reply}",
        f"Here is my assessment.\n\n{reply}\n\nTell me if you need more.",
        reply[: len(reply) * 9 // 10],
        "Overall I lean towards the first explanation, with moderate confidence in the rest.",
    )
    return forms[int(luck * len(forms))]


class Argument(NamedTuple):
    """What one analyst says of one claim, strongest last when sorted."""

    strength: float  # a point for each number of the case it names, half a point for each longer word of it
    reasoning: str
    position: str
    analyst: str


def arguments(analysts: str, claim: str, vignette: str) -> list[Argument]:
    """Return the arguments on a claim among analysts shown as JSON, the best first; what cannot be read is passed over."""
    of_case, found = _facts(vignette), []
    for shown in json.loads(analysts):
        if (item := claim_item(shown, claim)) is not None:
            given, side = item.get("reasoning"), item.get("position", position(item.get("confidence")))
            reasoning = given[:READ_CHARACTERS] if isinstance(given, str) else ""
            numbers, words = (own & case for own, case in zip(_facts(reasoning), of_case, strict=True))
            held = side if side in (SUPPORTS, OPPOSES) else UNCERTAIN
            found.append(Argument(len(numbers) + len(words) / 2, reasoning, held, shown["analyst"]))
    found.reverse()  # of equal ones the last that is shown comes first
    return sorted(found, key=lambda one: one[:3], reverse=True)


def _facts(text: str) -> tuple[set[str], set[str]]:
    lowered = text[:READ_CHARACTERS].lower()
    return {number.rstrip(".,/") for number in _NUMBER.findall(lowered)}, set(_WORD.findall(lowered))


class SimulatedRespondent:
    """Answers requests about ``items`` as the observer ``observer`` would."""

    # It reads all it knows out of the message, so it answers the same in process and behind a server.
    def __init__(self, items: Sequence[Instance], observer: ObserverSpec) -> None:
        self.observer = observer
        self._items = {without_surrogates(item.vignette): item for item in reversed(items)}

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about one of the instances."""
        material = quoted(request.messages)
        # A judge is shown a case as well, and a final answer.
        return material.get("vignette") in self._items and "final" not in material

    def __call__(self, request: ChatRequest) -> str:
        """Return the text of the answer to ``request``."""
        if not self.knows(request):
            return ""
        material, seed, own = quoted(request.messages), request.sampling.seed, self.observer
        item = self._items[material["vignette"]]
        step = STEPS[("step_a" in material) + ("analysts" in material)]
        luck = uniforms(canonical_json([own.seed, item.item_id, item.vignette, step, seed]))
        if own.character == "silent":
            return SILENCE
        ratings = self._ratings(item, material, seed, luck)
        reply = _written(item, ratings, luck[5] if step == STEPS[0] else None)
        if luck[6] < own.refusal:
            return REFUSAL
        return untidily(reply, luck[5]) if luck[7] < own.untidiness else reply

    def _ratings(self, item: Instance, material: dict[str, str], seed: Any, luck: Sequence[float]) -> Ratings:
        character = self.observer.character
        if character == "hedger":
            return [(_MODERATE, f"{claim} may well go either way.") for claim in CLAIM_IDS]
        if character == "random":
            return [(int(luck[i] * 5), f"So it seems for {c}.") for i, c in enumerate(CLAIM_IDS)]
        opening = self._opening(item, seed)
        if "step_a" not in material:
            reasons = (f"What bears on {c} is that {_excerpt(item, i)}" for i, c in enumerate(CLAIM_IDS))
            return list(zip(opening, reasons, strict=True))
        # Of the quoted answer; where it does not rate a claim, the level that the observer would have given.
        reply, rated = parse_reply(material["step_a"]), []
        for claim, level in zip(CLAIM_IDS, opening, strict=True):
            said = (claim_item(reply, claim) or {}).get("confidence")
            rated.append((claim, SCALE.index(said) if said in SCALE else level))
        if character == "stubborn":
            return [(level, f"{c} stays at {SCALE[level]}, as I rated it before.") for c, level in rated]
        if "analysts" not in material:
            return [_second_thoughts(*own, chance) for own, chance in zip(rated, luck, strict=False)]
        found = [(c, level, arguments(material["analysts"], c, item.vignette)) for c, level in rated]
        if character != "crowd-follower":
            return [_after_arguments(*each, item) for each in found]
        told = json.loads(material.get("consensus") or '{"claim_summary": {}}')["claim_summary"]
        return [_after_crowd(c, level, told.get(c, {}).get("direction"), own) for c, level, own in found]

    def _opening(self, item: Instance, seed: int | None) -> list[int]:
        """Return the observer's first opinions: in part the case's, in part its own, in part of this run."""
        case = [item.item_id, item.vignette]
        own = [self.observer.seed, *case]
        parts = [uniforms(canonical_json(key)) for key in (case, own, [*own, "run", seed])]
        opinions = (NormalDist().cdf(mixed(*each)) for each in zip(*parts, strict=True))
        return [sum(opinion > cut for cut in _CUTS) for opinion, _ in zip(opinions, CLAIM_IDS, strict=False)]


def _written(item: Instance, ratings: Sequence[Rating], luck: float | None) -> str:
    """Return an observer's ratings in the form that is asked for; ``luck``: that of step A, which asks for more."""
    stated, claims = {claim.claim_id: claim.claim_text for claim in item.claims}, []
    for place, (claim, (level, reasoning)) in enumerate(zip(CLAIM_IDS, ratings, strict=True)):
        text = stated.get(claim) or f"The case turns on the fact that {_excerpt(item, place)}"
        own = {"claim_id": claim, **({} if luck is None else {"claim_text": text})}
        claims.append({**own, "confidence": SCALE[level], "reasoning": reasoning})
    reply: dict[str, object] = {"assessment": f"On the whole: {ratings[0][1]} {ratings[1][1]}"}
    if luck is None:
        return json.dumps({**reply, "claim_level_assessments": claims})
    reply["overall_confidence"] = SCALE[sum(level for level, _ in ratings) // len(ratings)]
    reply |= {"difficulty_prediction": DIFFICULTIES[int(luck * 3)], "claim_level_assessments": claims}
    reply["key_uncertainties"] = [f"Whether it matters that {_excerpt(item, 2)}"]
    return json.dumps(reply)


def _after_arguments(claim: str, level: int, shown: Sequence[Argument], item: Instance) -> Rating:
    own = _SIDE_OF[level]
    other = next((one for one in shown if one.position != own), None)
    if other is None:
        return level, f"I keep {claim} at {SCALE[level]}: nobody argues against it."
    by, words, to = other.analyst, _words(other.reasoning), _LEVEL_FOR[other.position]
    if other is shown[0] and other.strength >= STRONG:
        why = f'what convinced me is the argument of {by}, "{words}", which I had not considered.'
        return to, f"I rated {claim} {SCALE[level]} and now {SCALE[to]}: {why}"
    why = f"a fair point, but it does not explain that {_excerpt(item, CLAIM_IDS.index(claim))}"
    return level, f'I keep {claim} at {SCALE[level]} although {by} argues "{words}": {why}'


def _after_crowd(claim: str, level: int, direction: str | None, shown: Sequence[Argument]) -> Rating:
    counts = Counter(one.position for one in shown)
    majority = _OF_CONSENSUS.get(direction or "")
    if majority is None and counts[SUPPORTS] != counts[OPPOSES]:
        majority = max((SUPPORTS, OPPOSES), key=lambda side: counts[side])
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


def _excerpt(item: Instance, place: int) -> str:
    """Return the beginning of a sentence of the case, another for each place."""
    sentences = [one for one in _SENTENCE.split(item.vignette[:READ_CHARACTERS]) if one.strip()]
    return _words(sentences[place % len(sentences)]) + "." if sentences else "little is known."


def _words(text: str) -> str:
    return " ".join(text.split()[:18]).rstrip(".,;:!?")

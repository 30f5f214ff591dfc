"""What a simulated observer makes of the others' texts: who argues how well for which side of a claim, and who counts.

An argument is as strong as what it takes from the case: one point for each number of the case it names, half a point for
each longer word of it. The measure knows nothing of how many say the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS
from metacog_pipeline.benchmarks.medley.presentation import OPPOSES, SUPPORTS, UNCERTAIN, position

STRONG = 4.0  # points; about half the claims of the published set have an argument as good as this
READ_CHARACTERS = 5_000  # of one argument
_NUMBER = re.compile(r"[0-9][0-9a-z.,/%]*")
_WORD = re.compile(r"[a-z]{7,}")
_OF_CONSENSUS = {"majority supports": SUPPORTS, "majority opposes": OPPOSES}


@dataclass(frozen=True, slots=True)
class Argument:
    """What one analyst says of one claim; ``strength`` in points."""

    analyst: str
    position: str
    reasoning: str
    strength: float

    @property
    def strong(self) -> bool:
        """Whether it may change a mind that follows arguments."""
        return self.strength >= STRONG


@dataclass(frozen=True, slots=True)
class Social:
    """What B-social shows: the arguments on each claim, and the direction of the consensus where it has one."""

    arguments: Mapping[str, tuple[Argument, ...]]
    directions: Mapping[str, str]

    def best(self, claim: str) -> Argument | None:
        """Return the strongest argument on a claim; which of equals it is does not depend on who says it."""
        return max(reversed(self.arguments.get(claim, ())), key=_rank, default=None)

    def against(self, claim: str, position: str) -> Argument | None:
        """Return the strongest argument on a claim for another position than this."""
        ranked = [one for one in self.arguments.get(claim, ()) if one.position != position]
        return max(ranked, key=_rank, default=None)

    def majority(self, claim: str) -> str | None:
        """Return where the crowd stands: the consensus, or else the side most analysts are on; None where it is split."""
        if claim in self.directions:
            return self.directions[claim]
        counts = Counter(one.position for one in self.arguments.get(claim, ()))
        supporting, opposing = counts[SUPPORTS], counts[OPPOSES]
        if supporting == opposing:
            return None
        return SUPPORTS if supporting > opposing else OPPOSES


def _rank(argument: Argument) -> tuple[float, str, str]:
    """Return the place of an argument among others; names do not count."""
    return argument.strength, argument.reasoning, argument.position


def social(analysts: str, consensus: str, vignette: str) -> Social:
    """Return what B-social shows, from its JSON texts; what cannot be read is passed over."""
    facts = case_facts(vignette)
    found: dict[str, list[Argument]] = {claim: [] for claim in CLAIM_IDS}
    for shown in _loaded(analysts, list):
        for item in _items(shown):
            claim = item.get("claim_id")
            if claim in CLAIM_IDS:
                found[claim].append(
                    _argument(str(shown.get("analyst", shown.get("model_id", ""))), item, facts)
                )
    summary = _loaded(consensus, dict).get("claim_summary")
    directions = {}
    if isinstance(summary, dict):
        for claim, told in summary.items():
            direction = told.get("direction") if isinstance(told, dict) else None
            if direction in _OF_CONSENSUS:
                directions[claim] = _OF_CONSENSUS[direction]
    return Social({claim: tuple(arguments) for claim, arguments in found.items()}, directions)


def case_facts(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers of a text, and its words of seven letters or more; in lower case."""
    lowered = text[:READ_CHARACTERS].lower()
    numbers = frozenset(number.rstrip(".,/") for number in _NUMBER.findall(lowered))
    return numbers, frozenset(_WORD.findall(lowered))


def _argument(
    analyst: str, item: Mapping[str, Any], facts: tuple[frozenset[str], frozenset[str]]
) -> Argument:
    given = item.get("reasoning")
    reasoning = given[:READ_CHARACTERS] if isinstance(given, str) else ""
    numbers, words = case_facts(reasoning)
    strength = len(numbers & facts[0]) + len(words & facts[1]) / 2
    held = item.get("position", position(item.get("confidence", "")))
    return Argument(analyst, held if held in (SUPPORTS, OPPOSES) else UNCERTAIN, reasoning, strength)


def _items(shown: object) -> Sequence[Mapping[str, Any]]:
    told = shown.get("response", shown) if isinstance(shown, dict) else None
    items = told.get("claim_level_assessments") if isinstance(told, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _loaded(text: str, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return kind()
    return value if isinstance(value, kind) else kind()

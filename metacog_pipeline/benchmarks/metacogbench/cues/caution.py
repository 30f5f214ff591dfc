"""Does a reply caution? Distinct effective cues of the lexicon, beside the literal keyword counts of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metacog_pipeline.benchmarks.metacogbench.cues import scope
from metacog_pipeline.benchmarks.metacogbench.cues.prepare import Prepared, prepare
from metacog_pipeline.benchmarks.metacogbench.lexicon import Lexicon, shipped_lexicon

WEAK = "weak"  # all weak cues together count as one, under this name


@dataclass(frozen=True, slots=True)
class Caution:
    """``cues`` are the distinct effective cue ids (all weak ones as "weak"), ``keywords`` the distinct plain ones."""

    cues: tuple[str, ...]
    keywords: tuple[str, ...]

    @property
    def n_strong(self) -> int:
        """Number of distinct strong cues."""
        return sum(cue != WEAK for cue in self.cues)

    @property
    def ge1(self) -> bool:
        """At least one strong cue."""
        return self.n_strong >= 1

    @property
    def scoped(self) -> bool:
        """The headline: at least two cues, one of them strong."""
        return self.n_strong >= 1 and len(self.cues) >= 2

    @property
    def lit1(self) -> bool:
        """At least one keyword anywhere, as in the first version of the published scorer."""
        return len(self.keywords) >= 1

    @property
    def lit2(self) -> bool:
        """At least two distinct keywords anywhere, as in the scaled version."""
        return len(self.keywords) >= 2


def score_caution(
    reply: str, *, stem: str = "", ignore: Iterable[str] = (), lexicon: Lexicon | None = None
) -> Caution:
    """Find the cues of caution of a reply. Total: any string gives a `Caution`."""
    words = lexicon or shipped_lexicon()
    text = prepare(reply, stem, ignore)
    kept = _effective(text, words)
    strong = sorted({cue_id for cue_id, weight in kept.items() if weight == "strong"})
    weak = [WEAK] if "weak" in kept.values() else []
    lowered = reply.lower()
    keywords = tuple(word for word in words.literal.get("caution", ()) if word in lowered)
    return Caution((*strong, *weak), keywords)


def _effective(text: Prepared, words: Lexicon) -> dict[str, str]:
    """Return id → strength of the cues that are meant; a specific cue removes its general one."""
    rules = words.scope
    kept: dict[str, str] = {}
    suppressors: dict[str, tuple[str, ...]] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    for match in scope.raw_matches(text, words.cues["caution"]):
        cue = match.cue
        if cue.id in kept:
            spans[cue.id].append((match.start, match.end))
            continue
        skips_negation = cue.self_negated or cue.category in rules.unnegated_categories
        if not skips_negation and scope.negated(text, match.start, match.end, rules):
            continue
        if cue.category in rules.dismissible and scope.dismissed(text, match.start, match.end, rules):
            continue
        if scope.counterfactual(text, match.start, rules):
            continue
        kept[cue.id], suppressors[cue.id] = cue.strength, cue.suppressed_by
        spans[cue.id] = [(match.start, match.end)]
    return {name: weight for name, weight in kept.items() if not any(s in kept for s in suppressors[name])}

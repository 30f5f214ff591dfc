"""Whether the consensus on a claim is right, by three judges who each say AGREE, DISAGREE or AMBIGUOUS.

The published majority verdict is the most frequent one, and the first judge's where all three differ. The paper counts
a claim as agreed only where at least two judges agree. Which claims the authors then listed as wrong follows from
neither: of their 43, 24 have a majority that agrees. For new instances a consensus is wrong when at least two judges
disagree with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from metacog_pipeline.benchmarks.medley.items import Consensus

CORRECT, WRONG, UNDECIDED = "verified_correct", "verified_wrong", "ambiguous"
AGREE, DISAGREE, AMBIGUOUS = "AGREE", "DISAGREE", "AMBIGUOUS"
VERDICTS = (AGREE, DISAGREE, AMBIGUOUS)
JUDGES = 3
ENOUGH = 2


def majority_verdict(verdicts: Sequence[str]) -> str:
    """Return the most frequent verdict, the first judge's where several are; AMBIGUOUS without judges."""
    if not verdicts:
        return AMBIGUOUS
    ordered = Counter(verdicts).most_common(2)
    tied = len(ordered) == 2 and ordered[0][1] == ordered[1][1]
    return verdicts[0] if tied else ordered[0][0]


def strict_verdict(verdicts: Sequence[str]) -> str:
    """Return AGREE where at least two judges agree, otherwise DISAGREE: the paper's rule."""
    return AGREE if verdicts.count(AGREE) >= ENOUGH else DISAGREE


def is_wrong(verdicts: Sequence[str]) -> bool:
    """Say whether at least two judges disagree with the consensus: the rule for new instances."""
    return verdicts.count(DISAGREE) >= ENOUGH


def wrong_claims(verdicts: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the claims whose consensus is wrong, from {claim id: verdicts}."""
    return frozenset(claim for claim, given in verdicts.items() if is_wrong(given))


def verified_claims(consensus: Consensus, verdicts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return {claim: verified_correct | verified_wrong | ambiguous} of the claims that have verdicts.

    A claim is right where the consensus supports it and two judges agree, or opposes it and two disagree; wrong the
    other way round; ambiguous where the consensus takes no side or no two judges say so.
    """
    found = {}
    for claim, given in verdicts.items():
        detail = consensus.claim_details.get(claim) or {}
        side = detail.get("majority_position")
        said = next((name for name in (AGREE, DISAGREE) if given.count(name) >= ENOUGH), None)
        right = {("support", AGREE), ("oppose", DISAGREE)}
        wrong = {("support", DISAGREE), ("oppose", AGREE)}
        found[claim] = CORRECT if (side, said) in right else WRONG if (side, said) in wrong else UNDECIDED
    return found


def coverage(verdicts: Mapping[str, Sequence[str]], claim_ids: Iterable[str], judges: int = JUDGES) -> float:
    """Return the share of claims, 0..1, that have a verdict of the three from at least ``judges`` judges."""
    wanted = list(claim_ids)
    complete = sum(
        sum(verdict in VERDICTS for verdict in verdicts.get(claim, ())) >= judges for claim in wanted
    )
    return complete / len(wanted) if wanted else 0.0

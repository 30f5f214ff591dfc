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
    times = Counter(verdicts)
    most = [verdict for verdict, count in times.items() if count == max(times.values())]
    return most[0] if len(most) == 1 else verdicts[0] if verdicts else AMBIGUOUS


def strict_verdict(verdicts: Sequence[str]) -> str:
    """Return AGREE where at least two judges agree, otherwise DISAGREE: the paper's rule."""
    return AGREE if verdicts.count(AGREE) >= ENOUGH else DISAGREE


def is_wrong(verdicts: Sequence[str]) -> bool:
    """Say whether at least two judges disagree with the consensus: the rule for new instances."""
    return verdicts.count(DISAGREE) >= ENOUGH


def verified_claims(consensus: Consensus, verdicts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return {claim: verified_correct | verified_wrong | ambiguous} of the claims that have verdicts.

    A claim is right where the consensus supports it and two judges agree, or opposes it and two disagree; wrong the
    other way round; ambiguous where the consensus takes no side or no two judges say so.
    """
    found = {}
    for claim, given in verdicts.items():
        side = (consensus.claim_details.get(claim) or {}).get("majority_position")
        said = next((name for name in (AGREE, DISAGREE) if given.count(name) >= ENOUGH), None)
        found[claim] = UNDECIDED
        if side in ("support", "oppose") and said is not None:
            found[claim] = CORRECT if (side == "support") == (said == AGREE) else WRONG
    return found


def coverage(verdicts: Mapping[str, Sequence[str]], claim_ids: Iterable[str]) -> float:
    """Return the share of claims, 0..1, that have a verdict of the three from at least three judges."""
    wanted = list(claim_ids)
    complete = sum(
        sum(verdict in VERDICTS for verdict in verdicts.get(claim, ())) >= JUDGES for claim in wanted
    )
    return complete / len(wanted) if wanted else 0.0

"""What must hold for a set of instances, whoever made it. Known defects of the published set are not among it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Instance

_MOST_LINES = 50


def check(instances: Sequence[Instance]) -> list[str]:
    """Return one line per broken rule, at most fifty."""
    lines: list[str] = []
    times = Counter(instance.item_id for instance in instances)
    lines += [f"{name}: the id is given twice" for name, count in sorted(times.items()) if count > 1]
    if [instance.position for instance in instances] != sorted({i.position for i in instances}):
        lines.append("positions do not rise from instance to instance")
    for instance in instances:
        lines += [f"{instance.item_id}: {broken}" for broken in _broken(instance)]
    return lines[:_MOST_LINES]


def _broken(instance: Instance) -> list[str]:
    claims = tuple(claim.claim_id for claim in instance.claims)
    known = instance.known_answer
    shown = [analyst.model_id for analyst in instance.analysts]
    rules = {
        f"domain {instance.domain!r} is unknown": instance.domain in DOMAINS,
        "the vignette is blank": bool(instance.vignette.strip()),
        f"claims are {', '.join(claims)}, not {', '.join(CLAIM_IDS)}": claims == CLAIM_IDS,
        "no analysts": bool(shown),
        "an analyst stands twice": len(set(shown)) == len(shown),
        "a claim has no consensus": set(claims) <= set(instance.consensus.claim_confidences),
        "a consensus is not within 0 and 1": all(
            _in_range(v) for v in instance.consensus.claim_confidences.values()
        ),
        "a claim found wrong is not a claim": instance.verified_wrong <= set(claims),
        "the flag of a known answer and the answer do not agree": instance.is_known_answer
        == (known is not None),
        "the target of the known answer is not a claim": known is None or known.target_wrong_claim in claims,
        "the selected analysts are not those shown": not instance.selected_models
        or set(instance.selected_models) == set(shown),
    }
    return [broken for broken, holds in rules.items() if not holds]


def _in_range(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1

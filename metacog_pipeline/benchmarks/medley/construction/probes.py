"""Instances that are also asked in other ways: which, drawn once by a seed."""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance

#: Probe → how many of each domain, or of the whole set.
PER_DOMAIN = {"trap": 5, "dose_response": 5}
OVERALL = {"minimal_instruction": 10, "counterfactual": 10}
PROBES = (*PER_DOMAIN, *OVERALL)


def draw_probes(instances: Sequence[Instance], seed: int) -> dict[str, tuple[str, ...]]:
    """Return {probe: ids}: traps and dose response by domain, minimal instruction and counterfactual over all.

    Only cases without a known answer are drawn. A trap is a dose response as well only where a domain has too few cases
    for both. Where there are too few altogether, all there are.
    """
    ordinary = [instance for instance in instances if instance.known_answer is None]
    drawn: dict[str, list[str]] = {name: [] for name in PROBES}
    for domain in DOMAINS:
        left = [instance.item_id for instance in ordinary if instance.domain == domain]
        taken: list[str] = []
        for name, number in PER_DOMAIN.items():
            chosen = seeded_sample(left, number, seed, name)
            chosen += seeded_sample(taken, number - len(chosen), seed, name)
            drawn[name] += chosen
            left, taken = [each for each in left if each not in chosen], taken + chosen
    for name, number in OVERALL.items():
        drawn[name] = seeded_sample([instance.item_id for instance in ordinary], number, seed, name)
    return {name: tuple(ids) for name, ids in drawn.items()}

"""Instances that are also asked in other ways: which, drawn once by a seed."""

from __future__ import annotations

from collections.abc import Sequence

from metacog_pipeline.benchmarks.common.draw import draw
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance

PER_DOMAIN = {"dose_response": 5, "trap": 5}
OVERALL = {"minimal": 10, "counterfactual": 10}


def draw_probes(instances: Sequence[Instance], seed: int) -> dict[str, tuple[str, ...]]:
    """Return {probe: ids}: dose response and traps by domain, minimal instruction and counterfactual over all.

    Only cases without a known answer are drawn; dose response and traps do not overlap. Where there are too few, all
    there are.
    """
    ordinary = [instance for instance in instances if instance.known_answer is None]
    drawn: dict[str, list[str]] = {name: [] for name in (*PER_DOMAIN, *OVERALL)}
    for domain in DOMAINS:
        left = [instance.instance_id for instance in ordinary if instance.domain == domain]
        for name, number in PER_DOMAIN.items():
            chosen = draw(left, number, seed, name)
            drawn[name] += chosen
            left = [each for each in left if each not in chosen]
    for name, number in OVERALL.items():
        drawn[name] = draw([instance.instance_id for instance in ordinary], number, seed, name)
    return {name: tuple(ids) for name, ids in drawn.items()}

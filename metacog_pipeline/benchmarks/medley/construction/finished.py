"""The last step of any construction: the instances a study asks, with what must hold for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Made
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley.construction import invariants, steps
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance

_PURPOSE = "medley"
ITEM_CHECKS = {
    "invariants_hold": Check("Five claims, a panel, a consensus that names the same claims.", blocking=True)
}


def finished(benchmark: Any, whole: Sequence[Instance], left_out: Mapping[str, str]) -> Made:
    """Return at most ``limit`` instances of a whole set, with what is known of them."""
    chosen = limited(whole, benchmark.settings.limit, benchmark.context.seed)
    broken = invariants.check(chosen)
    facts = {
        **{domain: sum(each.domain == domain for each in chosen) for domain in DOMAINS},
        "known_answer": sum(each.known_answer is not None for each in chosen),
        "verified_wrong_claims": sum(len(each.verified_wrong) for each in chosen),
        "claims": sum(len(each.claims) for each in chosen),
        "left_out": len(left_out),
    }
    names = ("item_id", "domain", "is_known_answer", "vignette")
    return Made(
        rows=chosen,
        facts=facts,
        checks={"invariants_hold": Checked(not broken, {"violations": "; ".join(broken)})},
        preview=pl.DataFrame([{name: getattr(each, name) for name in names} for each in chosen]),
    )


def limited(instances: Sequence[Instance], limit: int | None, seed: int) -> tuple[Instance, ...]:
    """Return at most ``limit`` instances, drawn by their ids, in their order and newly numbered; a larger one only adds."""
    if limit is None:
        return tuple(instances)
    kept = set(seeded_sample([instance.item_id for instance in instances], limit, seed, _PURPOSE))
    chosen = [instance for instance in instances if instance.item_id in kept]
    return tuple(instance.changed(position=place) for place, instance in enumerate(chosen))


def as_made(made: steps.Made, **more: Checked) -> Made:
    """Return what a pure step made as the pipeline takes it."""
    checks = {name: Checked(passed, facts) for name, (passed, facts) in made.checks.items()}
    return Made(frame=made.frame, facts=made.facts, checks={**more, **checks})

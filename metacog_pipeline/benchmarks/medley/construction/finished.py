"""The last steps of any construction: whether a set may be released, and the instances a study asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Made
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley.construction import invariants, tables
from metacog_pipeline.benchmarks.medley.construction.gates import Gate
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


def gates_made(found: Sequence[Gate], instances: int | None = None) -> Made:
    """Return the gates of a set with whether it may be released."""
    failed = [gate.render() for gate in found if gate.stops]
    checks = {"fit_to_be_released": Checked(not failed, {"failed": "; ".join(failed)})}
    counted = {} if instances is None else {"instances": instances}
    return Made(
        frame=tables.gate_frame(found), facts={**counted, "gates that stop": len(failed)}, checks=checks
    )

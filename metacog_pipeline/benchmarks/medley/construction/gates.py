"""Whether a set of instances is fit to be released: fifteen gates of the published design, and three of this project.

A gate that blocks and fails keeps a set from being called complete. What a gate needs and was not given is not counted as
passed: in the authors' package G7, G8, G14 and G15 pass whatever the data. By these rules the published set fails G3, G9,
G11, G13, X1, X4 and X8. Three gates are about judges of answers (G7, G8, G15): they are decided once models have answered
and been judged (`with_judges`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import polars as pl

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.medley.construction.selection import PER_FAMILY
from metacog_pipeline.benchmarks.medley.construction.sets import UNKNOWN, GivenSet
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Instance
from metacog_pipeline.benchmarks.medley.presentation import applicable, turned_visibly

Severity = Literal["blocks", "warns", "informs"]
Status = Literal["passed", "failed", "not_evaluated"]
LEAST_VISIBLE = 0.9
FAIR_KAPPA, GOOD_KAPPA = 0.40, 0.60
NOT_JUDGED = "no answer to these instances has been judged yet"


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate's outcome: ``found`` is what there is, ``wanted`` what there should be."""

    name: str
    rule: str
    severity: Severity
    status: Status
    found: str
    wanted: str

    @property
    def stops(self) -> bool:
        """Whether the set may not be released because of this gate."""
        return self.severity == "blocks" and self.status != "passed"


def gate_frame(gates: Iterable[Gate]) -> pl.DataFrame:
    """Return gates as a table, one a row."""
    return pl.DataFrame([asdict(gate) for gate in gates], schema=schema_of(Gate))


def with_judges(
    gates: pl.DataFrame, kappa: float | None, sophistry: float | None, not_judged: str
) -> pl.DataFrame:
    """Return the gates with those on judges of answers decided by their Fleiss' kappas, -1..1."""
    decided = {gate.name: gate for gate in _judges(kappa, sophistry, not_judged)}
    rows = gates.select(schema_of(Gate).names()).iter_rows(named=True)
    return gate_frame(decided.get(row["name"]) or Gate(**row) for row in rows)


def evaluate(given: GivenSet) -> list[Gate]:
    """Return the gates G1 to G15, X1, X4 and X8, in this order."""
    instances = given.instances
    sizes = Counter(instance.domain for instance in instances)
    tiers = {given.difficulty.get(i.item_id) for i in instances} - {None, ""}
    answered = [bool(i.analysts) and all(a.response for a in i.analysts) for i in instances]
    agreed = [{c.claim_id for c in i.claims} <= set(i.consensus.claim_confidences) for i in instances]
    traps, minimal = (len(set(given.probes.get(probe, ()))) for probe in ("trap", "minimal_instruction"))
    fair, good, sophistry = _judges(None, None, NOT_JUDGED)
    return [
        _least("G1", "cases", "blocks", len(instances), 65),
        _least("G2", "cases in the smallest domain", "blocks", min(sizes[domain] for domain in DOMAINS), 15),
        _least("G3", "difficulty tiers", "warns", len(tiers), 1),
        _all("G4", "cases with analyst replies that could be read", answered),
        _all("G5", "cases with claims", [bool(i.claims) for i in instances]),
        _all("G6", "cases with a consensus on every claim", agreed),
        fair,
        good,
        _least("G9", "trap cases", "warns", traps, 12),
        _least("G10", "known answers", "blocks", sum(i.known_answer is not None for i in instances), 18),
        _least("G11", "minimal probes", "warns", minimal, 8),
        _least("G12", "error probes", "warns", sum(i.is_error_detection for i in instances), 4),
        _least("G13", "prompt versions on record", "blocks", len(set(given.prompt_versions)), 5),
        _all("G14", "cases with complete metadata", list(map(_described, instances))),
        sophistry,
        _all("X1", "cases whose five claims have texts", list(map(_states_five, instances))),
        _family_cap(given),
        _manipulation(instances),
    ]


def _judges(kappa: float | None, sophistry: float | None, not_judged: str) -> tuple[Gate, Gate, Gate]:
    rule = "agreement of the judges of answers, Fleiss' kappa"

    def decided(name: str, rule: str, severity: Severity, found: float | None, least: float | None) -> Gate:
        wanted = "a value" if least is None else f"at least {least:.2f}"
        if found is None:
            return Gate(name, rule, severity, "not_evaluated", not_judged, wanted)
        passed = least is None or found >= least
        return Gate(name, rule, severity, "passed" if passed else "failed", f"{found:.2f}", wanted)

    return (
        decided("G7", rule, "warns", kappa, FAIR_KAPPA),
        decided("G8", rule, "informs", kappa, GOOD_KAPPA),
        decided("G15", "the same on sophistry", "blocks", sophistry, None),
    )


def _family_cap(given: GivenSet) -> Gate:
    rule, families = f"cases with at most {PER_FAMILY} analysts per family", given.families
    if not set(families.values()) - {UNKNOWN}:
        return Gate("X4", rule, "blocks", "not_evaluated", "no families", "all")
    panels = [
        Counter(families.get(a.model_id, UNKNOWN) for a in i.analysts if families.get(a.model_id) != UNKNOWN)
        for i in given.instances
    ]
    return _all("X4", rule, [max(panel.values(), default=0) <= PER_FAMILY for panel in panels])


def _manipulation(instances: Sequence[Instance]) -> Gate:
    """Whether a reader of an inverted consensus can see that it is inverted."""
    asked = applicable(instances, "adversarial")
    seen = [turned_visibly(each) for each in asked]
    claims = sum(len(each.claims) for each in asked)
    passed = claims > 0 and sum(seen) >= LEAST_VISIBLE * claims
    # No majority that survives every deletion, or a number in the middle, is shown as divided, inverted or not.
    left_open = f"; {claims - sum(seen)} are left open by the analysts and shown as divided either way"
    return Gate(
        "X8",
        "claims of known-answer cases whose direction shown turns with the consensus",
        "blocks",
        "passed" if passed else "failed",
        f"{sum(seen)} of {claims}, {seen.count(0)} of {len(asked)} cases unchanged{'' if passed else left_open}",
        f"at least {100 * LEAST_VISIBLE:.0f} % (published set: 82 of 150, 4 of 30 cases unchanged)",
    )


def _described(instance: Instance) -> bool:
    texts = (instance.item_id, instance.domain, instance.vignette, instance.consensus.method)
    numbers = [number for c in instance.claims for number in (c.majority_strength, c.jsd_score)]
    return all(texts) and None not in numbers


def _states_five(instance: Instance) -> bool:
    return len(instance.claims) == len(CLAIM_IDS) and instance.states_claims


def _least(name: str, rule: str, severity: Severity, found: int, wanted: int) -> Gate:
    return Gate(
        name, rule, severity, "passed" if found >= wanted else "failed", str(found), f"at least {wanted}"
    )


def _all(name: str, rule: str, held: Sequence[bool]) -> Gate:
    """Of nothing, nothing can hold: an empty set fails."""
    status: Status = "passed" if held and all(held) else "failed"
    return Gate(name, rule, "blocks", status, f"{sum(held)} of {len(held)}", "all")


# --- what must hold for any set, whoever made it: known defects of the published set are not among it -----------------
def broken_invariants(instances: Sequence[Instance]) -> list[str]:
    """Return one line per broken rule, at most fifty."""
    times = Counter(instance.item_id for instance in instances)
    lines = [f"{name}: the id is given twice" for name, count in sorted(times.items()) if count > 1]
    if [instance.position for instance in instances] != sorted({i.position for i in instances}):
        lines.append("positions do not rise from instance to instance")
    for each in instances:
        claims, shown = tuple(claim.claim_id for claim in each.claims), [a.model_id for a in each.analysts]
        known, confidences = each.known_answer, each.consensus.claim_confidences
        rules = {
            f"domain {each.domain!r} is unknown": each.domain in DOMAINS,
            "the vignette is blank": bool(each.vignette.strip()),
            f"claims are {', '.join(claims)}, not {', '.join(CLAIM_IDS)}": claims == CLAIM_IDS,
            "no analysts": bool(shown),
            "an analyst is given twice": len(set(shown)) == len(shown),
            "a claim has no consensus": set(claims) <= set(confidences),
            "a consensus is not within 0 and 1": all(
                isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= 1 for v in confidences.values()
            ),
            "a claim found wrong is not a claim": each.verified_wrong <= set(claims),
            "the flag of a known answer and the answer do not agree": each.is_known_answer == (known is not None),
            "the target of the known answer is not a claim": known is None or known.target_wrong_claim in claims,
            "the selected analysts are not those shown": not each.selected_models
            or set(each.selected_models) == set(shown),
        }  # fmt: skip
        lines += [f"{each.item_id}: {broken}" for broken, holds in rules.items() if not holds]
    return lines[:50]

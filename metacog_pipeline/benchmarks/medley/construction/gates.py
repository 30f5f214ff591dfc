"""Whether a set of instances is fit to be released: fifteen gates of the published design, and eight of this project.

A gate that blocks and fails keeps a set from being called complete. What a gate needs and was not given is not counted as
passed: in the authors' package G7, G8, G14 and G15 pass whatever the data. By these rules the published set fails G3, G9,
G11, G13, X1 to X4 and X8. Three gates are about judges of answers (G7, G8, G15): they are decided once models have answered
and been judged (`with_judges`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import polars as pl

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley.construction.consensus import JUDGES, VERDICTS, rated_labels
from metacog_pipeline.benchmarks.medley.construction.selection import PER_FAMILY
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, LABELS, Instance
from metacog_pipeline.benchmarks.medley.presentation import applicable, turned_visibly
from metacog_pipeline.benchmarks.medley.read import claim_items
from metacog_pipeline.stats.agreement_many import fleiss_kappa

Severity = Literal["blocks", "warns", "informs"]
Status = Literal["passed", "failed", "not_evaluated"]
LEAST_VISIBLE = 0.9
FAIR_KAPPA, GOOD_KAPPA = 0.40, 0.60
NOT_JUDGED = "no answer to these instances has been judged yet"
#: Probe → how many are drawn, of each domain or of the whole set.
PROBES = {"trap": 5, "minimal_instruction": 10}
_SEEDS, _AGAIN = "add seeds", "run again: what cannot be read is asked once more; or name another model"
_REMEDIES = {
    "G1": _SEEDS,
    "G2": f"{_SEEDS} of the smallest domain",
    "G4": _AGAIN,
    "G5": "give the seeds five claims",
    "G6": _AGAIN,
    "G10": f"{_SEEDS} with known_answer",
    "G13": "keep the shipped texts of the construction, or restore those left out",
    "G14": "repair the cases without domain, text or consensus",
    "G15": "let models answer and be judged: run with judges",
    "X1": "state five texts, the same for every analyst",
    "X2": _AGAIN,
    "X3": _AGAIN,
    "X4": "name analysts of more families",
    "X5": _AGAIN,
    "X6": "set anonymise = true",
    "X8": "leave out seeds with a known answer whose claims the analysts leave open, or sharpen these claims",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a set besides its instances; None and empty mean: not known.

    ``difficulty`` is {instance: tier}; ``probes`` {probe: ids drawn for it}; ``prompt_versions`` names of the prompts on
    record; ``verdicts`` {instance: {claim: those of the judges}}; ``families`` {analyst: family}; ``anonymised`` whether
    prompts show analysts under letters.
    """

    difficulty: Mapping[str, str] = field(default_factory=dict)
    probes: Mapping[str, Collection[str]] = field(default_factory=dict)
    prompt_versions: Collection[str] = ()
    verdicts: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    anonymised: bool | None = None


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

    def render(self) -> str:
        """Return one printable line."""
        status = self.status.replace("_", " ")
        return f"{self.name} {status} ({self.severity}): {self.rule}: {self.found}, wanted {self.wanted}"


def gate_frame(gates: Iterable[Gate]) -> pl.DataFrame:
    """Return gates as a table, one a row."""
    return pl.DataFrame([asdict(gate) for gate in gates], schema=schema_of(Gate))


def gates_of(frame: pl.DataFrame) -> tuple[Gate, ...]:
    """Return the gates of a table."""
    return tuple(Gate(**row) for row in frame.select(schema_of(Gate).names()).iter_rows(named=True))


def verdict(gates: Sequence[Gate]) -> str:
    """Return whether a set may be released and, where not, which gates stop it and what to do."""
    stops = [
        f"{gate.name}: {gate.rule}: {gate.found}, wanted {gate.wanted}: {_REMEDIES.get(gate.name, 'see the rule')}"
        for gate in gates
        if gate.stops
    ]
    return "\n  ".join(["not fit to be released", *stops]) if stops else "fit to be released"


def with_judges(
    gates: Sequence[Gate], kappa: float | None, sophistry: float | None, not_judged: str
) -> list[Gate]:
    """Return the gates with those on judges of answers decided by their Fleiss' kappas, -1..1."""
    decided = {gate.name: gate for gate in _judges(kappa, sophistry, not_judged)}
    return [decided.get(gate.name, gate) for gate in gates]


def draw_probes(instances: Sequence[Instance], seed: int) -> dict[str, tuple[str, ...]]:
    """Return {probe: ids}, drawn among cases without a known answer: traps by domain, minimal instruction over all."""
    ordinary = {
        domain: [i.item_id for i in instances if i.domain == domain and not i.known_answer]
        for domain in DOMAINS
    }
    traps = [name for ids in ordinary.values() for name in seeded_sample(ids, PROBES["trap"], seed, "trap")]
    every = [i.item_id for i in instances if i.known_answer is None]
    minimal = seeded_sample(every, PROBES["minimal_instruction"], seed, "minimal_instruction")
    return {"trap": tuple(traps), "minimal_instruction": tuple(minimal)}


def evaluate(instances: Sequence[Instance], evidence: Evidence | None = None) -> list[Gate]:
    """Return the gates G1 to G15 and X1 to X8, in this order."""
    known = evidence or Evidence()
    sizes = Counter(instance.domain for instance in instances)
    tiers = {known.difficulty.get(i.item_id) for i in instances} - {None, ""}
    answered = [bool(i.analysts) and all(a.response for a in i.analysts) for i in instances]
    agreed = [{c.claim_id for c in i.claims} <= set(i.consensus.claim_confidences) for i in instances]
    traps, minimal = (len(set(known.probes[probe])) if probe in known.probes else None for probe in PROBES)
    labels = [rated_labels(analyst.response) for instance in instances for analyst in instance.analysts]
    fair, good, sophistry = _judges(None, None, NOT_JUDGED)
    capped = _all(
        "X4",
        f"cases with at most {PER_FAMILY} analysts per family",
        [max(Counter(known.families.get(a.model_id, a.model_id) for a in i.analysts).values(), default=0) <= PER_FAMILY
         for i in instances],
    )  # fmt: skip
    if not known.families:
        capped = Gate(
            "X4", "analysts per family", "blocks", "not_evaluated", "no families", f"at most {PER_FAMILY}"
        )
    hidden = known.anonymised
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
        _least("G13", "prompt versions on record", "blocks", len(set(known.prompt_versions)), 5),
        _all("G14", "cases with complete metadata", list(map(_described, instances))),
        sophistry,
        _all("X1", "cases whose five claims have texts, the same for every analyst", list(map(_fixed_texts, instances))),
        _all("X2", "labels within the vocabulary", [each in LABELS for own in labels for each in own.values()]),
        _all("X3", "analysts who rate exactly the five claims", [set(own) == set(CLAIM_IDS) for own in labels]),
        capped,
        _all("X5", "cases with three verdicts on every claim", [_verified(i, known.verdicts) for i in instances]),
        Gate("X6", "analysts under letters in prompts", "blocks", _status(hidden, bool(hidden)), _shown(hidden), "True"),
        _verdict_kappa(known.verdicts),
        _manipulation(instances),
    ]  # fmt: skip


def _judges(kappa: float | None, sophistry: float | None, not_judged: str) -> tuple[Gate, Gate, Gate]:
    rule, said = "agreement of the judges of answers, Fleiss' kappa", "the same on sophistry"
    found = not_judged if sophistry is None else f"{sophistry:.2f}"
    return (
        _kappa("G7", rule, "warns", kappa, FAIR_KAPPA, not_judged),
        _kappa("G8", rule, "informs", kappa, GOOD_KAPPA, not_judged),
        Gate("G15", said, "blocks", _status(sophistry, True), found, "a value"),
    )


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


def _verdict_kappa(verdicts: Mapping[str, Mapping[str, Sequence[str]]]) -> Gate:
    rows = [[given.count(name) for name in VERDICTS] for own in verdicts.values() for given in own.values()]
    found = fleiss_kappa(rows, n_boot=1) if rows else None
    kappa, why = (None, "no verdicts") if found is None else (found.value, found.status)
    rule = "agreement of the judges of the consensus, Fleiss' kappa"
    return _kappa("X7", rule, "informs", kappa, FAIR_KAPPA, why)


def _verified(instance: Instance, verdicts: Mapping[str, Mapping[str, Sequence[str]]]) -> bool:
    own = verdicts.get(instance.item_id, {})
    given = [sum(each in VERDICTS for each in own.get(claim.claim_id, ())) for claim in instance.claims]
    return bool(given) and min(given) >= JUDGES


def _described(instance: Instance) -> bool:
    texts = (instance.item_id, instance.domain, instance.vignette, instance.consensus.method)
    numbers = [number for c in instance.claims for number in (c.majority_strength, c.jsd_score)]
    return all(texts) and None not in numbers


def _fixed_texts(instance: Instance) -> bool:
    texts = {claim.claim_id: claim.claim_text for claim in instance.claims}
    items = [item for a in instance.analysts for item in claim_items(a.response) if isinstance(item, dict)]
    stated = [
        (item.get("claim_id"), item["claim_text"]) for item in items if item.get("claim_text") is not None
    ]
    given = len(texts) == len(CLAIM_IDS) and all(text.strip() for text in texts.values())
    return given and all(isinstance(claim, str) and texts.get(claim) == text for claim, text in stated)


def _status(value: object, passed: bool) -> Status:
    return "not_evaluated" if value is None else "passed" if passed else "failed"


def _shown(value: object) -> str:
    return "not known" if value is None else str(value)


def _least(name: str, rule: str, severity: Severity, found: int | None, wanted: int) -> Gate:
    status = _status(found, found is not None and found >= wanted)
    return Gate(name, rule, severity, status, _shown(found), f"at least {wanted}")


def _kappa(name: str, rule: str, severity: Severity, found: float | None, wanted: float, why: str) -> Gate:
    status = _status(found, found is not None and found >= wanted)
    return Gate(
        name, rule, severity, status, why if found is None else f"{found:.2f}", f"at least {wanted:.2f}"
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

"""Whether a set of instances is fit to be released: fifteen gates of the published design, and eight of this project.

A gate says what it found and what it wants. One that blocks and fails keeps a set from being called complete; one that
does not block warns or informs. What a gate needs and was not given is not counted as passed: in the authors' package
several gates pass whatever the data (G7, G8, G14 and G15). By these rules the published set fails G3, G9, G11, G13, X1 to
X4 and X8.

Three gates are about judges of answers (G7, G8, G15): nobody can pass them before somebody has answered the instances and
was graded, so they are decided later (`with_judges`). How far the judges of the consensus agree is X7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import polars as pl

from metacog_pipeline.benchmark.contract import schema_of
from metacog_pipeline.benchmarks.medley.construction.ratings import rated_labels
from metacog_pipeline.benchmarks.medley.construction.selection import PER_FAMILY
from metacog_pipeline.benchmarks.medley.construction.verification import VERDICTS, coverage
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Instance
from metacog_pipeline.benchmarks.medley.labels import LABELS, claim_items
from metacog_pipeline.benchmarks.medley.presentation import applicable, turned_visibly
from metacog_pipeline.stats.agreement_many import fleiss_kappa

Severity = Literal["blocks", "warns", "informs"]
Status = Literal["passed", "failed", "not_evaluated"]
LEAST_VISIBLE = 0.9
#: Of version 1.0 of the published set.
PUBLISHED_VISIBLE = "published set: 82 of 150, 4 of 30 cases unchanged"
FAIR_KAPPA, GOOD_KAPPA = 0.40, 0.60
_MOST_LINES = 50


_SEEDS, _AGAIN = "add seeds", "run again: what cannot be read is asked once more; or name another model"
_REMEDIES = {
    "G1": _SEEDS,
    "G2": f"{_SEEDS} of the smallest domain",
    "G4": _AGAIN,
    "G5": "give the seeds five claims",
    "G6": _AGAIN,
    "G10": f"{_SEEDS} with known_answer",
    "G13": "keep the shipped texts of the construction, or restore those left out",
    "G14": "mend the cases without domain, text or consensus",
    "G15": "let models answer and be judged: run with judges",
    "X1": "state five texts, the same for every analyst",
    "X2": _AGAIN,
    "X3": _AGAIN,
    "X4": "name analysts of more families",
    "X5": _AGAIN,
    "X6": "set anonymise = true",
    "X8": "leave out seeds with a known answer whose claims the analysts leave open, or sharpen these claims (the sample's "
    "two cases are such)",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a set besides its instances; None and empty mean: not known.

    ``difficulty`` is {instance: tier}; ``judge_kappa`` and ``sophistry_kappa`` the agreement (-1..1) of the judges of
    answers, over all dimensions and for those of sophistry, ``not_judged`` why the two are not known; ``traps`` and
    ``minimal_probes`` the ids drawn for these probes; ``prompt_versions`` names or digests of the prompts on record;
    ``verdicts`` {instance: {claim: those of the judges}}; ``families`` {analyst: family}; ``anonymised`` whether prompts
    show analysts under letters.
    """

    difficulty: Mapping[str, str] = field(default_factory=dict)
    judge_kappa: float | None = None
    sophistry_kappa: float | None = None
    not_judged: str = "no answer to these instances has been judged yet"
    traps: Collection[str] | None = None
    minimal_probes: Collection[str] | None = None
    prompt_versions: Collection[str] = ()
    verdicts: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    anonymised: bool | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate's outcome: ``found`` what there is, ``wanted`` what there should be."""

    name: str
    rule: str
    severity: Severity
    status: Status
    found: str
    wanted: str

    @property
    def remedy(self) -> str:
        """What to do where the gate stops a set; "" for another outcome."""
        return _REMEDIES.get(self.name, "see the rule") if self.stops else ""

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
        f"{gate.name}: {gate.rule}: {gate.found}, wanted {gate.wanted}: {gate.remedy}"
        for gate in gates
        if gate.stops
    ]
    return "\n  ".join(["not fit to be released", *stops]) if stops else "fit to be released"


def with_judges(
    gates: Sequence[Gate], kappa: float | None, sophistry: float | None, not_judged: str
) -> list[Gate]:
    """Return the gates with those on judges of answers decided anew; parameters as in `Evidence`."""
    decided = {gate.name: gate for gate in _judges(kappa, sophistry, not_judged)}
    return [decided.get(gate.name, gate) for gate in gates]


def evaluate(instances: Sequence[Instance], evidence: Evidence | None = None) -> list[Gate]:
    """Return the gates G1 to G15 and X1 to X8, in this order."""
    known = evidence or Evidence()
    return [*_published(instances, known), *_own(instances, known)]


def _published(instances: Sequence[Instance], known: Evidence) -> list[Gate]:
    per_domain = Counter(instance.domain for instance in instances)
    smallest = min(per_domain[domain] for domain in DOMAINS)
    tiers = {known.difficulty[i.item_id] for i in instances if known.difficulty.get(i.item_id)}
    answered = [bool(i.analysts) and all(a.response for a in i.analysts) for i in instances]
    agreed = [{c.claim_id for c in i.claims} <= set(i.consensus.claim_confidences) for i in instances]
    targets = sum(instance.known_answer is not None for instance in instances)
    errors = sum(instance.is_error_detection for instance in instances)
    fair, good, sophistry = _judges(known.judge_kappa, known.sophistry_kappa, known.not_judged)
    return [
        _least("G1", "cases", "blocks", len(instances), 65),
        _least("G2", "cases in the smallest domain", "blocks", smallest, 15),
        _least("G3", "difficulty tiers", "warns", len(tiers), 1),
        _all("G4", "cases with analyst replies that could be read", answered),
        _all("G5", "cases with claims", [bool(i.claims) for i in instances]),
        _all("G6", "cases with a consensus on every claim", agreed),
        fair,
        good,
        _least("G9", "trap cases", "warns", _size(known.traps), 12),
        _least("G10", "known answers", "blocks", targets, 18),
        _least("G11", "minimal probes", "warns", _size(known.minimal_probes), 8),
        _least("G12", "error probes", "warns", errors, 4),
        _least("G13", "prompt versions on record", "blocks", len(set(known.prompt_versions)), 5),
        _all("G14", "cases with complete metadata", list(map(_described, instances))),
        sophistry,
    ]


def _judges(kappa: float | None, sophistry: float | None, not_judged: str) -> tuple[Gate, Gate, Gate]:
    rule, said = "agreement of the judges of answers, Fleiss' kappa", "the same on sophistry"
    found = not_judged if sophistry is None else f"{sophistry:.2f}"
    return (
        _kappa("G7", rule, "warns", kappa, FAIR_KAPPA, not_judged),
        _kappa("G8", rule, "informs", kappa, GOOD_KAPPA, not_judged),
        Gate("G15", said, "blocks", _status(sophistry, True), found, "a value"),
    )


def _own(instances: Sequence[Instance], known: Evidence) -> list[Gate]:
    labels = [rated_labels(analyst.response) for instance in instances for analyst in instance.analysts]
    verified = [
        coverage(known.verdicts.get(i.item_id, {}), [c.claim_id for c in i.claims]) >= 1.0 for i in instances
    ]
    families, hidden = known.families, known.anonymised
    capped = _all(
        "X4",
        f"cases with at most {PER_FAMILY} analysts per family",
        [_largest_family(instance, families) <= PER_FAMILY for instance in instances],
    )
    if not families:
        wanted = f"at most {PER_FAMILY}"
        capped = Gate("X4", "analysts per family", "blocks", "not_evaluated", "no families", wanted)
    return [
        _all(
            "X1",
            "cases whose five claims have texts, the same for every analyst",
            list(map(_fixed_texts, instances)),
        ),
        _all(
            "X2", "labels within the vocabulary", [each in LABELS for own in labels for each in own.values()]
        ),
        _all(
            "X3", "analysts who rate exactly the five claims", [set(own) == set(CLAIM_IDS) for own in labels]
        ),
        capped,
        _all("X5", "cases with three verdicts on every claim", verified),
        Gate(
            "X6",
            "analysts under letters in prompts",
            "blocks",
            _status(hidden, bool(hidden)),
            _shown(hidden),
            "True",
        ),
        _verdict_kappa(known.verdicts),
        _manipulation(instances),
    ]


def _manipulation(instances: Sequence[Instance]) -> Gate:
    """Whether who reads an inverted consensus can see that it is inverted."""
    asked = applicable(instances, "adversarial")
    seen = [turned_visibly(each) for each in asked]
    claims = sum(len(each.claims) for each in asked)
    # No majority that stands under every deletion, or a number in the middle: shown as divided, and turned so too.
    left_open = f"; {claims - sum(seen)} are left open by the analysts and shown as divided either way"
    passed = claims > 0 and sum(seen) >= LEAST_VISIBLE * claims
    return Gate(
        "X8",
        "claims of known-answer cases whose direction shown turns with the consensus",
        "blocks",
        "passed" if passed else "failed",
        f"{sum(seen)} of {claims}, {seen.count(0)} of {len(asked)} cases unchanged{'' if passed else left_open}",
        f"at least {100 * LEAST_VISIBLE:.0f} % ({PUBLISHED_VISIBLE})",
    )


def _verdict_kappa(verdicts: Mapping[str, Mapping[str, Sequence[str]]]) -> Gate:
    rows = [Counter(given) for claims in verdicts.values() for given in claims.values()]
    kappa, why_none = None, "no verdicts"
    if rows:
        found = fleiss_kappa([[row[name] for name in VERDICTS] for row in rows], n_boot=1)
        kappa, why_none = found.value, found.status
    rule = "agreement of the judges of the consensus, Fleiss' kappa"
    return _kappa("X7", rule, "informs", kappa, FAIR_KAPPA, why_none)


def _described(instance: Instance) -> bool:
    texts = (instance.item_id, instance.domain, instance.vignette, instance.consensus.method)
    return all(texts) and all(
        c.majority_strength is not None and c.jsd_score is not None for c in instance.claims
    )


def _fixed_texts(instance: Instance) -> bool:
    texts = {claim.claim_id: claim.claim_text for claim in instance.claims}
    if len(texts) != len(CLAIM_IDS) or not all(text.strip() for text in texts.values()):
        return False
    for analyst in instance.analysts:
        for item in filter(lambda each: isinstance(each, dict), claim_items(analyst.response)):
            claim, stated = item.get("claim_id"), item.get("claim_text")
            if stated is not None and stated != (texts.get(claim) if isinstance(claim, str) else None):
                return False
    return True


def _largest_family(instance: Instance, families: Mapping[str, str]) -> int:
    members = Counter(families.get(analyst.model_id, analyst.model_id) for analyst in instance.analysts)
    return max(members.values(), default=0)


def _size(given: Collection[str] | None) -> int | None:
    return None if given is None else len(set(given))


def _status(value: object, passed: bool) -> Status:
    return "not_evaluated" if value is None else "passed" if passed else "failed"


def _shown(value: object) -> str:
    return "not known" if value is None else str(value)


def _least(name: str, rule: str, severity: Severity, found: int | None, wanted: int) -> Gate:
    status = _status(found, found is not None and found >= wanted)
    return Gate(name, rule, severity, status, _shown(found), f"at least {wanted}")


def _kappa(name: str, rule: str, severity: Severity, found: float | None, wanted: float, why: str) -> Gate:
    status = _status(found, found is not None and found >= wanted)
    shown = why if found is None else f"{found:.2f}"
    return Gate(name, rule, severity, status, shown, f"at least {wanted:.2f}")


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

"""The stages of the construction, an asset each: source, disagreement, consensus, verification, panels, gates, items.

The column ``again`` says whether a given value follows from the set's own data; null where it was made here from a pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline.benchmark.contract import Inputs, Made, Step
from metacog_pipeline.benchmark.item import drawn
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction import pool, sets
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Instance
from metacog_pipeline.benchmarks.medley.prompts import applicable, turned_visibly
from metacog_pipeline.errors import SourceError

CLOSE = 1e-9


def _source(benchmark: Any, inputs: Inputs) -> Made:
    if benchmark.settings.dataset == "published":
        (found,) = sources.fetch(benchmark.study.home, [sources.PUBLISHED])
        return Made(facts={"origin": found.origin, "instances": found.rows})
    known = sets.given(benchmark).instances
    return Made(facts={"origin": sets.folder_of(benchmark).name, "instances": len(known)})


def _disagreement(benchmark: Any, inputs: Inputs) -> Made:
    known, rows = sets.given(benchmark), []
    for each in known.instances:
        for c in each.claims:
            row = {"item_id": each.item_id, "claim_id": c.claim_id, "n_rated": c.majority_strength}
            again = len(pool.counts_behind(c.jsd_score, c.majority_strength)) == 1
            row |= {"jsd": c.jsd_score, "again": None if each.item_id in known.constructed else again}
            rows.append(row)
    return _made(rows, "jsd_follows_from_counts")


def _consensus(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for each in sets.given(benchmark).instances:
        told, claims = each.consensus, [claim.claim_id for claim in each.claims]
        labels = [pool.rated_labels(analyst.response, claims) for analyst in each.analysts]
        median = pool.label_median(labels, claims)
        for name, value in median.claim_confidences.items():
            stated = told.claim_confidences.get(name)
            again = value == stated and median.claim_details[name] == told.claim_details.get(name)
            row = {"item_id": each.item_id, "claim_id": name, "rule": told.method, "confidence": stated}
            rows.append({**row, "again": again if told.method == pool.PUBLISHED_METHOD else None})
    return _made(rows, "consensus_is_the_label_median")


def _verification(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for name, own in sets.given(benchmark).verification.items():
        for claim, (given, majority) in own.items():
            row = {"item_id": name, "claim_id": claim, "verdicts": list(given), "majority": majority}
            rows.append({**row, "again": majority == pool.majority_verdict(given)})
    return _made(rows, "majority_is_the_published_one")


def _panels(benchmark: Any, inputs: Inputs) -> Made:
    known = sets.given(benchmark)
    rows = []
    for each in known.instances:
        if each.item_id in known.selection or each.item_id in known.constructed:
            found, held = _panel_again(each, known.selection.get(each.item_id, {}))
            row = {"item_id": each.item_id, "analysts": list(each.selected_models), **found.scores._asdict()}
            rows.append({**row, "again": None if each.item_id in known.constructed else held})
    return _made(rows, "panels_are_the_published_ones")


def _panel_again(instance: Instance, entry: Mapping[str, Any]) -> tuple[pool.Selection, bool]:
    """Return the analysts shown, scored as a set, and whether these are those selected, with what is published of them."""
    # The pool is not published, so the choice itself cannot be repeated.
    summary = entry.get("position_summary")
    claims = list(summary) if isinstance(summary, dict) else [claim.claim_id for claim in instance.claims]
    names = [each.model_id for each in instance.analysts]
    labels = [pool.rated_labels(each.response, claims) for each in instance.analysts]
    shown = list(map(pool.Candidate, names, map(sets.published_family, names), labels))
    found = pool.Pool(shown, claim_ids=claims).summary(range(len(shown)), len(shown))
    held = set(names) == set(instance.selected_models)
    if "score" in entry:  # a set that keeps only who was selected has none
        for part, value in found.scores._asdict().items():
            stated = entry.get("score" if part == "total" else f"{part}_score")
            held &= isinstance(stated, int | float) and abs(round(value, 4) - stated) <= CLOSE
        for name in ("strong_wrong_included", "family_counts", "position_summary"):
            held &= getattr(found, name) == entry.get(name)
    return found, held


def _made(rows: Sequence[Mapping[str, Any]], check: str) -> Made:
    frame = pl.DataFrame(list(rows), infer_schema_length=None, schema_overrides={"again": pl.Boolean})
    tried = frame["again"].drop_nulls() if rows else pl.Series([], dtype=pl.Boolean)
    shown = {"made again": f"{int(tried.sum())} of {len(tried)}"}
    return Made(frame=frame, facts=shown, checks={check: (bool(tried.all()) and bool(rows), shown)})


# Twelve of the published design, and three of this project. What a gate needs and was not given is not counted as passed.
# The three of the design on judges of answers (G7, G8, G15) are about answers, not about a set.
# Share of the claims of known-answer cases: with fewer the adversarial arm shows nothing adversarial.
LEAST_VISIBLE = 0.9


class Gate(NamedTuple):
    """What a set must have to be released: ``severity`` is blocks or warns, ``status`` passed or failed."""

    name: str
    rule: str
    severity: str
    status: str
    found: str
    wanted: str

    @property
    def stops(self) -> bool:
        """Whether the set may not be released because of this gate."""
        return self.severity == "blocks" and self.status != "passed"


def evaluate(given: sets.GivenSet) -> list[Gate]:
    """Return the gates in the order of their names."""
    instances = given.instances
    sizes = Counter(instance.domain for instance in instances)
    tiers = {given.difficulty.get(i.item_id) for i in instances} - {None, ""}
    answered = [bool(i.analysts) and all(a.response for a in i.analysts) for i in instances]
    agreed = [{c.claim_id for c in i.claims} <= set(i.consensus.claim_confidences) for i in instances]
    traps, minimal = (len(set(given.probes.get(probe, ()))) for probe in ("trap", "minimal_instruction"))
    named = [all((i.item_id, i.domain, i.vignette, i.consensus.method)) for i in instances]
    counted = [all(None not in (c.majority_strength, c.jsd_score) for c in i.claims) for i in instances]
    known = {name: family for name, family in given.families.items() if family != sets.UNKNOWN}
    panels = [Counter(known[a.model_id] for a in i.analysts if a.model_id in known) for i in instances]
    capped = [bool(known) and max(panel.values(), default=0) <= pool.PER_FAMILY for panel in panels]
    five = [len(i.claims) == len(CLAIM_IDS) and i.states_claims for i in instances]
    return [
        _least("G1", "cases", "blocks", len(instances), 65),
        _least("G2", "cases in the smallest domain", "blocks", min(sizes[domain] for domain in DOMAINS), 15),
        _least("G3", "difficulty tiers", "warns", len(tiers), 1),
        _all("G4", "cases with analyst replies that could be read", answered),
        _all("G5", "cases with claims", [bool(i.claims) for i in instances]),
        _all("G6", "cases with a consensus on every claim", agreed),
        _least("G9", "trap cases", "warns", traps, 12),
        _least("G10", "known answers", "blocks", sum(i.known_answer is not None for i in instances), 18),
        _least("G11", "minimal probes", "warns", minimal, 8),
        _least("G12", "error probes", "warns", sum(i.is_error_detection for i in instances), 4),
        _least("G13", "prompt versions on record", "blocks", len(set(given.prompt_versions)), 5),
        _all("G14", "cases with complete metadata", [a and b for a, b in zip(named, counted, strict=True)]),
        _all("X1", "cases whose five claims have texts", five),
        _all("X4", f"cases with at most {pool.PER_FAMILY} analysts per family", capped),
        _manipulation(instances),
    ]


def _manipulation(instances: Sequence[Instance]) -> Gate:
    asked = applicable(instances, "adversarial")
    seen, claims = [turned_visibly(each) for each in asked], sum(len(each.claims) for each in asked)
    status = "passed" if claims > 0 and sum(seen) >= LEAST_VISIBLE * claims else "failed"
    rule = "claims of known-answer cases whose direction shown turns with the consensus"
    # No majority that survives every deletion, or a number in the middle, is shown as divided, inverted or not.
    found = f"{sum(seen)} of {claims}, {seen.count(0)} of {len(asked)} cases unchanged; the others show divided either way"
    wanted = f"at least {100 * LEAST_VISIBLE:.0f} % (published set: 82 of 150, 4 of 30 cases unchanged)"
    return Gate("X8", rule, "blocks", status, found, wanted)


def _least(name: str, rule: str, severity: str, found: int, wanted: int) -> Gate:
    status = "passed" if found >= wanted else "failed"
    return Gate(name, rule, severity, status, str(found), f"at least {wanted}")


def _all(name: str, rule: str, held: Sequence[bool]) -> Gate:
    # Of nothing, nothing can hold: an empty set fails.
    status = "passed" if held and all(held) else "failed"
    return Gate(name, rule, "blocks", status, f"{sum(held)} of {len(held)}", "all")


def broken_invariants(instances: Sequence[Instance]) -> list[str]:
    """Return one line per rule that no set may break, at most fifty; known defects of the published set are none."""
    lines = []
    for each in instances:
        claims, shown = tuple(claim.claim_id for claim in each.claims), [a.model_id for a in each.analysts]
        known, stated = each.known_answer, each.consensus.claim_confidences
        shares = [type(v) in (int, float) and 0 <= v <= 1 for v in stated.values()]
        rules = {
            f"domain {each.domain!r} is unknown": each.domain in DOMAINS,
            "the vignette is blank": bool(each.vignette.strip()),
            f"claims are {', '.join(claims)}, not {', '.join(CLAIM_IDS)}": claims == CLAIM_IDS,
            "no analysts": bool(shown),
            "an analyst is given twice": len(set(shown)) == len(shown),
            "a claim has no consensus": set(claims) <= set(stated),
            "a consensus is not within 0 and 1": all(shares),
            "a claim found wrong is not a claim": each.verified_wrong <= set(claims),
            "a known answer and its flag do not agree": each.is_known_answer == (known is not None),
            "the target of the known answer is not a claim": not known or known.target_wrong_claim in claims,
            "the selected analysts are not those shown": set(each.selected_models) in (set(), set(shown)),
        }
        lines += [f"{each.item_id}: {broken}" for broken, holds in rules.items() if not holds]
    return lines[:50]


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    found = evaluate(sets.given(benchmark))
    failed = [f"{g.name}: {g.rule}: {g.found}, wanted {g.wanted}" for g in found if g.stops]
    checks = {"fit_to_be_released": (not failed, {"failed": "; ".join(failed)})}
    frame = pl.DataFrame([*map(Gate._asdict, found)])
    return Made(frame=frame, facts={"gates that stop": len(failed)}, checks=checks)


def _items(benchmark: Any, inputs: Inputs) -> Made:
    every, limit = sets.given(benchmark).instances, benchmark.settings.limit
    chosen = drawn(every, limit, benchmark.seed, "medley")
    if limit is not None:
        chosen = [each.changed(position=place) for place, each in enumerate(chosen)]
    if broken := broken_invariants(chosen):  # five claims, a panel, a consensus that names the same claims
        raise SourceError(f"medley_items: {'; '.join(broken)[:400]}; correct the instances")
    facts = {
        **{domain: sum(each.domain == domain for each in chosen) for domain in DOMAINS},
        "known_answer": sum(each.known_answer is not None for each in chosen),
        "verified_wrong_claims": sum(len(each.verified_wrong) for each in chosen),
    }
    return Made(rows=chosen, facts=facts)


_RATED = ("source", "disagreement", "consensus", "verification")
STEPS = (
    Step("source", "The instances with their analysts and consensus, published or a folder in their layout.", _source,
         inputs=sets.digest),
    Step("disagreement", "How much analysts disagree about each claim (JSD).", _disagreement, ("source",),
         checks={"jsd_follows_from_counts": "Each disagreement follows from exactly one set of five counts of labels."}),
    Step("consensus", "What the analysts say together of each claim.", _consensus, ("source", "disagreement"),
         checks={"consensus_is_the_label_median": "A published consensus is the upper median of the labels shown."}),
    Step("verification", "What three verifiers say of the consensus on each claim.", _verification,
         ("source", "consensus"),
         checks={"majority_is_the_published_one": "The majority's verdict is the most frequent, ties to the first judge."}),
    Step("panels", "The eight analysts who are shown with each case, chosen for how they differ.", _panels, _RATED,
         checks={"panels_are_the_published_ones": "Scores, parts, positions, families of each panel are those published."}),
    Step("gates", "Whether the finished set may be released; a small one fails the gates on size.", _gates,
         (*_RATED, "panels"), version="2",
         checks={"fit_to_be_released": "The gates a set must pass; a small one fails those on size."}),
    Step("items", "The instances: a case, five claims, eight analysts who disagree, their consensus.", _items,
         (*_RATED, "panels", "gates"), Instance),
)  # fmt: skip

"""The stages of the construction, an asset each: source, disagreement, consensus, verification, panels, gates, items.

The column ``again`` says whether a given value follows from the set's own data; null where it was made here from a pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmark.seeded_sample import drawn
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction import consensus as ratings
from metacog_pipeline.benchmarks.medley.construction.gates import broken_invariants, evaluate
from metacog_pipeline.benchmarks.medley.construction.selection import Candidate, Pool, Selection
from metacog_pipeline.benchmarks.medley.construction.sets import digest, folder_of, given, published_family
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Instance

CLOSE = 1e-9


def _source(benchmark: Any, inputs: Inputs) -> Made:
    if benchmark.settings.dataset == "published":
        (found,) = sources.fetch(benchmark.context.home, [sources.PUBLISHED])
        return Made(facts={"origin": found.origin, "instances": found.rows})
    return Made(facts={"origin": folder_of(benchmark).name, "instances": len(given(benchmark).instances)})


def _disagreement(benchmark: Any, inputs: Inputs) -> Made:
    known, rows = given(benchmark), []
    for each in known.instances:
        for c in each.claims:
            again = len(ratings.counts_behind(c.jsd_score, c.majority_strength)) == 1
            row = {"item_id": each.item_id, "claim_id": c.claim_id, "n_rated": c.majority_strength}
            made_here = each.item_id in known.constructed
            rows.append({**row, "jsd": c.jsd_score, "again": None if made_here else again})
    return _made(rows, "jsd_follows_from_counts")


def _consensus(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for each in given(benchmark).instances:
        told, labels = each.consensus, [ratings.rated_labels(analyst.response) for analyst in each.analysts]
        median = ratings.label_median(labels, [claim.claim_id for claim in each.claims])
        for name, value in median.claim_confidences.items():
            stated = told.claim_confidences.get(name)
            again = value == stated and median.claim_details[name] == told.claim_details.get(name)
            row = {"item_id": each.item_id, "claim_id": name, "rule": told.method, "confidence": stated}
            rows.append({**row, "again": again if told.method == ratings.PUBLISHED_METHOD else None})
    return _made(rows, "consensus_is_the_label_median")


def _verification(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": name, "claim_id": claim, "verdicts": list(said.verdicts), "majority": said.majority,
         "again": said.majority == ratings.majority_verdict(said.verdicts)}
        for name, own in given(benchmark).verification.items()
        for claim, said in own.items()
    ]  # fmt: skip
    return _made(rows, "majority_is_the_published_one")


def _panels(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows = []
    for each in known.instances:
        if each.item_id in known.selection or each.item_id in known.constructed:
            found, held = _panel_again(each, known.selection.get(each.item_id, {}))
            row = {"item_id": each.item_id, "analysts": list(each.selected_models), **asdict(found.scores)}
            rows.append({**row, "again": None if each.item_id in known.constructed else held})
    return _made(rows, "panels_are_the_published_ones")


def _panel_again(instance: Instance, entry: Mapping[str, Any]) -> tuple[Selection, bool]:
    """Return the analysts shown, scored as a set, and whether these are those selected, with what is published of them."""
    # The pool is not published, so the choice itself cannot be repeated.
    summary = entry.get("position_summary")
    claims = list(summary) if isinstance(summary, dict) else [claim.claim_id for claim in instance.claims]
    shown = [
        Candidate(each.model_id, published_family(each.model_id), ratings.rated_labels(each.response, claims))
        for each in instance.analysts
    ]
    found = Pool(shown, claim_ids=claims).summary(range(len(shown)), len(shown))
    held = {each.model_id for each in shown} == set(instance.selected_models)
    if "score" in entry:  # a set that keeps only who was selected has none
        for part, value in asdict(found.scores).items():
            stated = entry.get("score" if part == "total" else f"{part}_score")
            held &= isinstance(stated, int | float) and abs(round(value, 4) - stated) <= CLOSE
        for name in ("strong_wrong_included", "family_counts", "position_summary"):
            held &= getattr(found, name) == entry.get(name)
    return found, held


def _made(rows: Sequence[Mapping[str, Any]], check: str) -> Made:
    frame = pl.DataFrame(list(rows), infer_schema_length=None, schema_overrides={"again": pl.Boolean})
    tried = frame["again"].drop_nulls() if rows else pl.Series([], dtype=pl.Boolean)
    shown = {"made again": f"{int(tried.sum())} of {len(tried)}"}
    return Made(frame=frame, facts=shown, checks={check: Checked(bool(tried.all()) and bool(rows), shown)})


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    found = evaluate(given(benchmark))
    failed = [f"{g.name}: {g.rule}: {g.found}, wanted {g.wanted}" for g in found if g.stops]
    checks = {"fit_to_be_released": Checked(not failed, {"failed": "; ".join(failed)})}
    frame = pl.DataFrame([gate._asdict() for gate in found])
    return Made(frame=frame, facts={"gates that stop": len(failed)}, checks=checks)


def _items(benchmark: Any, inputs: Inputs) -> Made:
    every, limit = given(benchmark).instances, benchmark.settings.limit
    chosen = drawn(every, limit, benchmark.context.seed, "medley")
    if limit is not None:
        chosen = [each.changed(position=place) for place, each in enumerate(chosen)]
    broken = broken_invariants(chosen)
    facts = {
        **{domain: sum(each.domain == domain for each in chosen) for domain in DOMAINS},
        "known_answer": sum(each.known_answer is not None for each in chosen),
        "verified_wrong_claims": sum(len(each.verified_wrong) for each in chosen),
    }
    checks = {"invariants_hold": Checked(not broken, {"violations": "; ".join(broken)})}
    return Made(rows=chosen, facts=facts, checks=checks)


_RATED = ("source", "disagreement", "consensus", "verification")
STEPS = (
    Step("source", "The instances with their analysts and consensus, published or a folder in their layout.", _source,
         inputs=digest),
    Step("disagreement", "How much analysts disagree about each claim (JSD).", _disagreement, ("source",),
         checks={"jsd_follows_from_counts": Check(
             "Each disagreement follows from exactly one set of five counts of labels.")}),
    Step("consensus", "What the analysts say together of each claim.", _consensus, ("source", "disagreement"),
         checks={"consensus_is_the_label_median": Check(
             "A published consensus is the upper median of the labels shown.")}),
    Step("verification", "What three verifiers say of the consensus on each claim.", _verification,
         ("source", "consensus"),
         checks={"majority_is_the_published_one": Check(
             "The majority's verdict is the most frequent, ties to the first judge.")}),
    Step("panels", "The eight analysts who are shown with each case, chosen for how they differ.", _panels, _RATED,
         checks={"panels_are_the_published_ones": Check(
                     "Scores, parts, positions, families of each panel are those published.")}),
    Step("gates", "Whether the finished set may be released; a small one fails the gates on size.", _gates,
         (*_RATED, "panels"), version="2",
         checks={"fit_to_be_released": Check("The gates a set must pass; a small one fails those on size.")}),
    Step("items", "The instances: a case, five claims, eight analysts who disagree, their consensus.", _items,
         (*_RATED, "panels", "gates"), Instance,
         {"invariants_hold": Check("Five claims, a panel, a consensus that names the same claims.", blocking=True)}),
)  # fmt: skip

"""The stages of the construction, an asset each: source, disagreement, consensus, verification, panels, gates, items.

What a set gives is checked: the column ``again`` says whether a value follows from its own data, null where there is
nothing to compare it with, as where it was made here from a pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmark.seeded_sample import seeded_sample
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction.consensus import PUBLISHED_METHOD, majority_verdict
from metacog_pipeline.benchmarks.medley.construction.gates import broken_invariants, evaluate, gate_frame
from metacog_pipeline.benchmarks.medley.construction.sets import (
    consensus_follows,
    digest,
    folder_of,
    follows_from_counts,
    given,
    panel_again,
)
from metacog_pipeline.benchmarks.medley.items import DOMAINS, Claim, Instance


def _source(benchmark: Any, inputs: Inputs) -> Made:
    if benchmark.settings.dataset == "published":
        (found,) = sources.fetch(benchmark.context.home, [sources.PUBLISHED])
        return Made(facts={"origin": found.origin, "instances": found.rows})
    return Made(facts={"origin": folder_of(benchmark).name, "instances": len(given(benchmark).instances)})


def _claims(benchmark: Any) -> Iterator[tuple[Instance, Claim, bool]]:
    """Yield each claim with its instance, and whether it was made here."""
    known = given(benchmark)
    for each in known.instances:
        yield from ((each, claim, each.item_id in known.constructed) for claim in each.claims)


def _disagreement(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": each.item_id, "claim_id": c.claim_id, "n_rated": c.majority_strength, "jsd": c.jsd_score,
         "again": None if made_here else follows_from_counts(c)}
        for each, c, made_here in _claims(benchmark)
    ]  # fmt: skip
    left_out = "; ".join(f"{name}: {why}" for name, why in given(benchmark).left_out.items())
    return _made(rows, "jsd_follows_from_counts", {"left out": left_out} if left_out else {})


def _consensus(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": each.item_id, "claim_id": c.claim_id, "rule": each.consensus.method,
         "confidence": each.consensus.claim_confidences.get(c.claim_id),
         "again": consensus_follows(each, c.claim_id) if each.consensus.method == PUBLISHED_METHOD else None}
        for each, c, _ in _claims(benchmark)
    ]  # fmt: skip
    return _made(rows, "consensus_is_the_label_median")


def _verification(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        {"item_id": name, "claim_id": claim, "verdicts": list(said.verdicts), "majority": said.majority,
         "again": said.majority == majority_verdict(said.verdicts)}
        for name, own in given(benchmark).verification.items()
        for claim, said in own.items()
    ]  # fmt: skip
    return _made(rows, "majority_is_the_published_one")


def _panels(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows = []
    for each in known.instances:
        made_here = each.item_id in known.constructed
        if each.item_id in known.selection or made_here:
            found, held = panel_again(each, known.selection.get(each.item_id, {}))
            row = {"item_id": each.item_id, "analysts": list(each.selected_models), **asdict(found.scores)}
            rows.append({**row, "again": None if made_here else held})
    return _made(rows, "panels_are_the_published_ones")


def _made(rows: Sequence[Mapping[str, Any]], check: str, facts: Mapping[str, Any] | None = None) -> Made:
    frame = pl.DataFrame(list(rows), infer_schema_length=None, schema_overrides={"again": pl.Boolean})
    tried = frame["again"].drop_nulls() if rows else pl.Series([], dtype=pl.Boolean)
    shown = {"made again": f"{int(tried.sum())} of {len(tried)}", **(facts or {})}
    return Made(frame=frame, facts=shown, checks={check: Checked(bool(tried.all()) and bool(rows), shown)})


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    found = evaluate(given(benchmark))
    failed = [
        f"{g.name} {g.status} ({g.severity}): {g.rule}: {g.found}, wanted {g.wanted}"
        for g in found
        if g.stops
    ]
    checks = {"fit_to_be_released": Checked(not failed, {"failed": "; ".join(failed)})}
    return Made(frame=gate_frame(found), facts={"gates that stop": len(failed)}, checks=checks)


def _items(benchmark: Any, inputs: Inputs) -> Made:
    """Return at most ``limit`` instances, drawn by their ids, with what is known of them."""
    chosen, limit = list(given(benchmark).instances), benchmark.settings.limit
    if limit is not None:
        kept = set(seeded_sample([each.item_id for each in chosen], limit, benchmark.context.seed, "medley"))
        chosen = [each for each in chosen if each.item_id in kept]
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
    Step("disagreement", "How much analysts disagree about each claim (JSD); which cases are open.", _disagreement,
         ("source",),
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
         (*_RATED, "panels"),
         checks={"fit_to_be_released": Check("The gates a set must pass; a small one fails those on size.")}),
    Step("items", "The instances: a case, five claims, eight analysts who disagree, their consensus.", _items,
         (*_RATED, "panels", "gates"), Instance,
         {"invariants_hold": Check("Five claims, a panel, a consensus that names the same claims.", blocking=True)}),
)  # fmt: skip

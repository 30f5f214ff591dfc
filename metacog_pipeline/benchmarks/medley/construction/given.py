"""The stages where instances are given, published or a user's in their layout: each makes a choice again and counts hits.

The choices themselves are taken as published; a check says how many of them follow from the data at hand.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction import reproduction, tables
from metacog_pipeline.benchmarks.medley.construction.gates import evaluate
from metacog_pipeline.benchmarks.medley.construction.pipeline import (
    INVARIANTS,
    Stage,
    finished,
    gates_made,
    steps_of,
)
from metacog_pipeline.benchmarks.medley.construction.published import PublishedSet, read_set
from metacog_pipeline.benchmarks.medley.construction.roles import digest_of
from metacog_pipeline.benchmarks.medley.construction.verification import majority_verdict
from metacog_pipeline.benchmarks.medley.items import Claim, Instance


def digest(benchmark: Any) -> str | None:
    """Return the SHA-256 of what the instances are read from; None for a source that is not home yet."""
    if benchmark.folder is None:
        return sources.kept_digest(benchmark.context.home)
    return digest_of(benchmark.folder, "*.json")


def given(benchmark: Any) -> PublishedSet:
    """Return the set as it is given, read once for each version of its files."""
    folder = benchmark.folder
    place = sources.load_source(benchmark.context.home) if folder is None else folder
    return _read(place, benchmark.settings.dataset, digest(benchmark))


@functools.lru_cache(maxsize=2)
def _read(place: Path, dataset: str, known: str | None) -> PublishedSet:
    return read_set(place, dataset)


def _source(benchmark: Any, inputs: Inputs) -> Made:
    if benchmark.folder is None:
        (found,) = sources.fetch(benchmark.context.home, [sources.PUBLISHED])
        return Made(facts={"origin": found.origin, "instances": found.rows})
    return Made(facts={"origin": str(benchmark.folder), "instances": len(given(benchmark).instances)})


def _claims(benchmark: Any) -> Iterator[tuple[Instance, Claim]]:
    for each in given(benchmark).instances:
        yield from ((each, claim) for claim in each.claims)


def _disagreement(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for each, claim in _claims(benchmark):
        n = None if claim.n_rated is None else int(claim.n_rated)
        again = reproduction.follows_from_counts(claim)
        rows.append((each.item_id, claim.claim_id, n, claim.jsd_score, again))
    kinds = {"item_id": pl.String, "claim_id": pl.String, "n_rated": pl.Int64, "jsd": pl.Float64}
    return _made(rows, kinds, "jsd_is_the_published_one")


def _panels(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows, others = [], []
    for each in known.instances:
        entry = known.selection.get(each.item_id)
        if entry is None:
            continue
        found, scores, same, ordered, why = reproduction.panel_again(each, entry)
        head = (each.item_id, json.dumps(each.selected_models), *astuple(found.scores))
        families = json.dumps(found.family_counts)
        rows.append((*head, found.strong_wrong_included, families, scores and same, ordered, why))
        others += [] if ordered else [(each.item_id, why)]
    kinds = {"item_id": pl.String, **{name: tables.PANELS[name] for name in tables.PANELS.names()[1:-1]}}
    made = _made(rows, kinds, "panels_are_the_published_ones", order_again=pl.Boolean, order=pl.String)
    told = "; ".join(f"{name}: {why or 'not explained'}" for name, why in others)
    facts = {"made again": f"{len(rows) - len(others)} of {len(rows)}", "others": told}
    order = Checked(all(why for _, why in others), facts)
    return replace(made, checks={**made.checks, "order_is_the_published_one": order})


def _verification(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows = [
        (name, claim, json.dumps(said), majority, majority == majority_verdict(said))
        for name, claims in known.verdicts.items()
        for claim, said in claims.items()
        for majority in [known.majority[name][claim]]
    ]
    names = ("item_id", "claim_id", "verdicts", "majority")
    return _made(rows, dict.fromkeys(names, pl.String), "majority_is_the_published_one")


def _consensus(benchmark: Any, inputs: Inputs) -> Made:
    rows = []
    for each, claim in _claims(benchmark):
        name, told = claim.claim_id, each.consensus
        value, details = told.claim_confidences.get(name), told.claim_details.get(name)
        again = reproduction.consensus_follows(each, claim)
        rows.append((each.item_id, name, told.method, json.dumps(value), json.dumps(details), again))
    names = ("item_id", "claim_id", "rule", "confidence", "details")
    return _made(rows, dict.fromkeys(names, pl.String), "consensus_is_the_published_one")


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    return gates_made(evaluate(known.instances, known.evidence))


def _made(rows: Sequence[tuple[Any, ...]], kinds: dict[str, Any], check: str, **more: Any) -> Made:
    """Return a table of these columns; ``again`` says of each row whether it was made again."""
    frame = tables.frame_of(rows, pl.Schema({**kinds, "again": pl.Boolean, **more}))
    again = int(frame["again"].sum())
    found = {"made again": f"{again} of {frame.height}"}
    return Made(frame=frame, facts=found, checks={check: Checked(0 < again == frame.height, found)})


STEPS = steps_of(
    source=Stage(_source, inputs=digest),
    disagreement=Stage(
        _disagreement,
        {
            "jsd_is_the_published_one": Check(
                "Each published value follows from exactly one set of five counts with the stated number of raters."
            )
        },
    ),
    panels=Stage(
        _panels,
        {
            "panels_are_the_published_ones": Check(
                "Scores, parts, positions and families of each panel are those published."
            ),
            "order_is_the_published_one": Check(
                "The greedy steps lead to the published order, or to it but for the firmly wrong analyst put in last."
            ),
        },
    ),
    consensus=Stage(
        _consensus,
        {
            "consensus_is_the_published_one": Check(
                "Every field follows by the upper median of the labels of the analysts shown."
            )
        },
    ),
    verification=Stage(
        _verification,
        {
            "majority_is_the_published_one": Check(
                "The verdict of each claim is the most frequent one, the first judge's where several are."
            )
        },
    ),
    gates=Stage(_gates, {"fit_to_be_released": Check("The gates a set of instances must pass.")}),
    items=Stage(
        lambda benchmark, inputs: finished(benchmark, given(benchmark).instances),
        {"invariants_hold": INVARIANTS},
    ),
)

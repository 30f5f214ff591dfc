"""Published instances, or a user's in their layout, as steps: each makes a choice of the authors again and counts hits.

source → disagreement → panels → consensus → verification → gates → items

The choices themselves are taken as published; a check says how many of them follow from the data at hand.
"""

from __future__ import annotations

import functools
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmarks.medley import sources
from metacog_pipeline.benchmarks.medley.construction import reproduction, tables
from metacog_pipeline.benchmarks.medley.construction.finished import ITEM_CHECKS, finished
from metacog_pipeline.benchmarks.medley.construction.gates import evaluate
from metacog_pipeline.benchmarks.medley.construction.published import PublishedSet, read_set
from metacog_pipeline.benchmarks.medley.construction.verification import majority_verdict
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.files import canonical_json, sha256_hex


def digest(benchmark: Any) -> str | None:
    """Return the SHA-256 of what the instances are read from; None for a source that is not home yet."""
    folder = benchmark.folder
    if folder is None:
        return sources.kept_digest(benchmark.context.home)
    files = sorted(path for path in folder.rglob("*.json") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): sha256_hex(path.read_bytes()) for path in files}
    return sha256_hex(canonical_json(digests))


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


def _disagreement(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        (
            each.item_id,
            claim.claim_id,
            None if claim.n_rated is None else int(claim.n_rated),
            claim.jsd_score,
            reproduction.follows_from_counts(each, place),
        )
        for each in given(benchmark).instances
        for place, claim in enumerate(each.claims)
    ]
    names = {
        "item_id": pl.String,
        "claim_id": pl.String,
        "n_rated": pl.Int64,
        "jsd": pl.Float64,
        "again": pl.Boolean,
    }
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return _made(frame, "jsd_is_the_published_one")


def _panels(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows = []
    for each in known.instances:
        entry = known.selection.get(each.item_id)
        if entry is None:
            continue
        found = reproduction.panel_of(each, entry)
        rows.append(
            {
                "item_id": each.item_id,
                "analysts": json.dumps(each.selected_models),
                **asdict(found.scores),
                "strong_wrong": found.strong_wrong_included,
                "families": json.dumps(found.family_counts),
                "again": reproduction.scores_follow(each, entry) and reproduction.same_analysts(each),
                "order_again": reproduction.order_follows(each, entry),
                "order": reproduction.order_explained(each, entry),
            }
        )
    parts = dict.fromkeys(("total", "diversity", "coverage", "family", "quality"), pl.Float64)
    schema = {
        "item_id": pl.String,
        "analysts": pl.String,
        **parts,
        "strong_wrong": pl.Boolean,
        "families": pl.String,
    }
    kinds = {**schema, "again": pl.Boolean, "order_again": pl.Boolean, "order": pl.String}
    frame = pl.DataFrame(rows, schema=kinds)
    same = int(frame["order_again"].sum())
    others = frame.filter(~pl.col("order_again"))
    told = "; ".join(
        f"{name}: {why or 'not explained'}" for name, why in others.select("item_id", "order").iter_rows()
    )
    order = Checked(
        (others["order"] != "").all(), {"made again": f"{same} of {frame.height}", "others": told}
    )
    made = _made(frame, "panels_are_the_published_ones")
    return Made(frame=frame, facts=made.facts, checks={**made.checks, "order_is_the_published_one": order})


def _verification(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    rows = [
        (name, claim, json.dumps(said), known.majority[name][claim], majority_verdict(said))
        for name, claims in known.verdicts.items()
        for claim, said in claims.items()
    ]
    names = ("item_id", "claim_id", "verdicts", "majority", "made")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    frame = frame.with_columns(again=pl.col("majority") == pl.col("made")).drop("made")
    return _made(frame, "majority_is_the_published_one")


def _consensus(benchmark: Any, inputs: Inputs) -> Made:
    rows = [
        (
            each.item_id,
            claim.claim_id,
            each.consensus.method,
            json.dumps(each.consensus.claim_confidences.get(claim.claim_id)),
            json.dumps(each.consensus.claim_details.get(claim.claim_id)),
            reproduction.consensus_follows(each, place),
        )
        for each in given(benchmark).instances
        for place, claim in enumerate(each.claims)
    ]
    names = ("item_id", "claim_id", "rule", "confidence", "details")
    frame = pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), "again": pl.Boolean}, orient="row")
    return _made(frame, "consensus_is_the_published_one")


def _gates(benchmark: Any, inputs: Inputs) -> Made:
    known = given(benchmark)
    found = evaluate(known.instances, known.evidence)
    failed = [gate.render() for gate in found if gate.stops]
    checks = {"fit_to_be_released": Checked(not failed, {"failed": "; ".join(failed)})}
    return Made(frame=tables.gate_frame(found), facts={"gates that stop": len(failed)}, checks=checks)


def _items(benchmark: Any, inputs: Inputs) -> Made:
    return finished(benchmark, given(benchmark).instances, {})


def _made(frame: pl.DataFrame, check: str) -> Made:
    """Return a table whose column ``again`` says what was made again."""
    again = int(frame["again"].sum())
    found = f"{again} of {frame.height}"
    checked = Checked(frame.height > 0 and again == frame.height, {"made again": found})
    return Made(frame=frame, facts={"made again": found}, checks={check: checked})


STEPS = (
    Step(
        "source",
        "The published instances with their analysts and consensus, or a folder in their layout.",
        _source,
        inputs=digest,
    ),
    Step(
        "disagreement",
        "How much the analysts disagree about each claim (Jensen–Shannon divergence), from counts of labels.",
        _disagreement,
        ("source",),
        checks={
            "jsd_is_the_published_one": Check(
                "Each published value follows from exactly one set of five counts with the stated number of raters."
            )
        },
    ),
    Step(
        "panels",
        "The eight analysts who are shown with each case, with the worth of the choice.",
        _panels,
        ("source", "disagreement"),
        checks={
            "panels_are_the_published_ones": Check(
                "Scores, parts, positions and families of each panel are those published."
            ),
            "order_is_the_published_one": Check(
                "The greedy steps lead to the published order, or to it but for the firmly wrong analyst put in last."
            ),
        },
    ),
    Step(
        "consensus",
        "What the analysts shown say together of each claim.",
        _consensus,
        ("source", "panels"),
        checks={
            "consensus_is_the_published_one": Check(
                "Every field follows by the upper median of the labels of the analysts shown."
            )
        },
    ),
    Step(
        "verification",
        "What three judges say of the consensus on each claim, and the verdict of their majority.",
        _verification,
        ("source", "consensus"),
        checks={
            "majority_is_the_published_one": Check(
                "The verdict of each claim is the most frequent one, the first judge's where several are."
            )
        },
    ),
    Step(
        "gates",
        "Whether the set could be released, gate by gate; the published set fails some, as it is.",
        _gates,
        ("source",),
        checks={"fit_to_be_released": Check("The gates a set of instances must pass.")},
    ),
    Step(
        "items",
        "The instances: a case, five claims, eight analysts who disagree, and what they say together.",
        _items,
        ("source", "disagreement", "panels", "consensus", "verification", "gates"),
        writes=Instance,
        checks=ITEM_CHECKS,
    ),
)

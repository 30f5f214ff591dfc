"""Item construction as steps: ``medqa -> edits``, ``glianorex -> fictional``, ``items``. Nothing here asks anybody.

Each step reads the files of the data set; what earlier steps keep is for people to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from metacog_pipeline.benchmark.contract import Check, Checked, Inputs, Made, Step
from metacog_pipeline.benchmarks.metamedqa import sources
from metacog_pipeline.benchmarks.metamedqa.construction import pipeline, records
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.files import sha256_hex, shipped

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.metamedqa import MetaMedQA


def medqa(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    """Bring the parent questions home, verified."""
    facts = _fetched(benchmark, "medqa")
    return Made(frame=_frame(pipeline.load_parent(*benchmark.files)), facts=facts)


def edits(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    """Read the edits, or derive them from the parent and the published file."""
    facts = _fetched(benchmark, "metamedqa")
    home, dataset, folder = benchmark.files
    parents = pipeline.load_parent(home, dataset, folder)
    table = pipeline.load_or_derive_edits(home, dataset, parents, folder)
    known = {"anomalies": len(table.notes), "reports": list(table.reports), "counts": table.counts or {}}
    return Made(frame=_frame(table.edits), facts={**facts, **known})


def glianorex(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    """Bring the fictional questions home, verified."""
    facts = _fetched(benchmark, "metamedqa", "glianorex")
    return Made(frame=_frame(pipeline.load_fictional(*benchmark.files)), facts=facts)


def fictional(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    """Draw the fictional questions that are asked."""
    _, dataset, _ = benchmark.files
    pool = pipeline.load_fictional(*benchmark.files)
    return Made(frame=_frame(pipeline.select_fictional(dataset, pool, None, benchmark.context.seed)))


def items(benchmark: MetaMedQA, inputs: Inputs) -> Made:
    """Build the items, all rules checked."""
    home, dataset, folder = benchmark.files
    order, seed = benchmark.settings.order, benchmark.context.seed
    done = pipeline.construct(home, dataset, order=order, seed=seed, folder=folder)
    anomalous = {note["item_id"] for note in done.manifest["anomalies"]}
    known = [v for v in done.violations if v.item_id in anomalous or v.advisory]
    unexpected = [v.render() for v in done.violations if v not in known]
    counts = {key: value for key, value in done.manifest.items() if "count" in key}
    return Made(
        rows=done.items,
        facts={"dataset": dataset, **counts},
        checks={
            "counts_add_up": Checked(not any(v.rule == "O4" for v in done.violations), counts),
            "invariants_hold": Checked(
                not unexpected, {"unexpected": unexpected, "known": [v.render() for v in known]}
            ),
        },
    )


def _fetched(benchmark: MetaMedQA, *names: str) -> dict[str, object]:
    """Fetch what the data set needs; shipped and custom sets need nothing."""
    dataset = benchmark.settings.dataset
    if dataset not in pipeline.FETCHED:
        return {"origin": dataset}
    return {"origin": "; ".join(each.origin for each in sources.fetch(benchmark.context.home, names))}


def _read(benchmark: MetaMedQA) -> Any:
    """Return the digests of the files that are neither settings nor pinned."""
    if benchmark.settings.dataset in pipeline.FETCHED:
        return [source.digest for source in sources.SOURCES.values()]
    _, _, folder = benchmark.files
    files = sorted((folder or shipped("data", "metamedqa", "sample")).glob("*.jsonl*"))
    return {path.name: sha256_hex(path.read_bytes()) for path in files if path.is_file()}


def _frame(rows: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame([records.fields_of_record(row) for row in rows], infer_schema_length=None)


STEPS = (
    Step(
        "medqa",
        "The parent questions: four options each, as published, or those of the sample.",
        medqa,
        inputs=_read,
    ),
    Step("edits", "What was changed in the parent questions.", edits, needs=("medqa",), inputs=_read),
    Step("glianorex", "Questions about an organ that does not exist.", glianorex, inputs=_read),
    Step("fictional", "Those of them that are asked.", fictional, needs=("glianorex",)),
    Step(
        "items",
        "The benchmark as it is asked: six options, the key, the kind of each item.",
        items,
        needs=("medqa", "edits", "fictional"),
        writes=Item,
        checks={
            "counts_add_up": Check("Kinds and keys sum to the items.", blocking=True),
            "invariants_hold": Check(
                "Every rule of a question holds, but for the known oddities of the published data.",
                blocking=True,
            ),
        },
    ),
)

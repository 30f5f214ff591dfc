"""Responses of MetaMedQA as frames in memory, scored and compared without a study."""

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.benchmarks.metamedqa.items import Item, Settings
from metacog_pipeline.benchmarks.metamedqa.prompts import ANSWER_OBJECT, first_messages, load_wording
from metacog_pipeline.benchmarks.metamedqa.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling
from metacog_pipeline.scoring import comparisons, estimates, schemas

RESPONSES = schemas.response_schema(MetaMedQA)
ESTIMATES, COMPARISONS = schemas.ESTIMATE, schemas.COMPARISON


def bound(seed: int = 1, **settings: Any) -> MetaMedQA:
    """Return the benchmark bound to a study with this seed."""
    study: Any = SimpleNamespace(study=SimpleNamespace(seed=seed))
    return MetaMedQA(Settings(**{"dataset": "sample", **settings}), study)


def observations(rows: Sequence[tuple[str, str | None, int | None]], **more: Any) -> pl.DataFrame:
    """Return responses of (target, answer, confidence), no answer being unparsed; a list in ``more`` is a column."""
    made = []
    for n, (target, answer, confidence) in enumerate(rows):
        lacks = "answer_unparsed" if answer is None else "confidence_unparsed" if confidence is None else "ok"
        made.append({
            **dict.fromkeys(RESPONSES.names()), "benchmark": "metamedqa", "dataset": "sample", "condition": "baseline",
            "model": "m", "run": 1, "item_id": f"i{n}", "cluster": f"i{n}", "position": n, "kind": "Original",
            "target": target, "answer": answer, "confidence": confidence, "correct": int(target == answer),
            "status": lacks, "source": "measured", "tags": [],
            **{key: value[n] if isinstance(value, list) else value for key, value in more.items()},
        })  # fmt: skip
    return pl.DataFrame(made, schema=RESPONSES)


def said(
    items: Sequence[Item], observer: ObserverSpec, condition: str = "baseline", run: int = 1
) -> list[Any]:
    """Return the objects with ``answer`` and ``confidence`` in which a simulated respondent answers the items."""
    respond, wording = SimulatedRespondent(items, observer), load_wording()
    asked = (first_messages(item, condition, wording) for item in items)
    return [json.loads(respond(ChatRequest(each, Sampling(seed=run), ANSWER_OBJECT))) for each in asked]


def answered(
    items: Sequence[Item],
    observer: ObserverSpec,
    *,
    condition: str = "baseline",
    run: int = 1,
    model: str = "m",
) -> pl.DataFrame:
    """Return the responses of a simulated respondent."""
    replies = zip(items, said(items, observer, condition, run), strict=True)
    about = {"item_id": [item.item_id for item in items], "kind": [item.kind for item in items]}
    return observations(
        [(item.target, reply["answer"], reply["confidence"]) for item, reply in replies],
        **about, cluster=about["item_id"], tags=[list(item.tags) for item in items],
        source_target=[item.source_target for item in items],
        condition=condition, run=run, model=model, source="simulated",
    )  # fmt: skip


def score(frame: pl.DataFrame, *, seed: int, allow_incomplete: bool = False) -> pl.DataFrame:
    return _estimated(frame, seed, allow_incomplete, by_run=True)


def pool(frame: pl.DataFrame, *, seed: int, allow_incomplete: bool = False) -> pl.DataFrame:
    return _estimated(frame, seed, allow_incomplete, by_run=False)


def compare(frame: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    benchmark = bound(seed)
    return comparisons.comparisons(benchmark, groups(benchmark, frame, by_run=False))


def groups(benchmark: MetaMedQA, frame: pl.DataFrame, *, by_run: bool) -> list[Group]:
    return estimates.groups_of(benchmark, benchmark.derive(frame, None), by_run=by_run)


def _estimated(frame: pl.DataFrame, seed: int, allow_incomplete: bool, *, by_run: bool) -> pl.DataFrame:
    benchmark = bound(seed, allow_incomplete=allow_incomplete)
    return estimates.estimates(benchmark, groups(benchmark, frame, by_run=by_run))

"""The benchmark bound to instances and replies of a test, without a study on disk."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley import Medley, contrasts, measures
from metacog_pipeline.benchmarks.medley.benchmark import blanks_marked
from metacog_pipeline.benchmarks.medley.items import Instance
from metacog_pipeline.benchmarks.medley.prompts import applicable
from metacog_pipeline.benchmarks.medley.rules import MEASURES
from metacog_pipeline.benchmarks.medley.scores import DERIVED
from metacog_pipeline.benchmarks.medley.settings import Settings
from metacog_pipeline.benchmarks.medley.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.responses import read_responses
from metacog_pipeline.scoring.schemas import response_schema
from tests.medley.conftest import converse_with

SCORED = pl.Schema({**response_schema(Medley), **DERIVED})


class Bound(Medley):
    """The benchmark with these instances and models."""

    def __init__(
        self, instances: Sequence[Instance] = (), seed: int = 1, models: Sequence[Any] = (), **keys: Any
    ):
        study: Any = SimpleNamespace(
            models=tuple(models), judges=(), runs=(1,), study=SimpleNamespace(seed=seed)
        )
        super().__init__(Settings(**{"dataset": "published", **keys}), study)
        self._instances = tuple(instances)

    @property
    def items(self) -> Sequence[Instance]:
        return self._instances


def call(step: str, text: str, minute: int = 0, **more: Any) -> dict[str, Any]:
    """Return a call as the transcripts keep it."""
    about = {
        "benchmark": "medley",
        "model": "m",
        "run": 1,
        "item_id": "PUMP_001",
        "condition": "normal",
        "step": step,
    }
    how = {"status": "ok", "text": text, "source": "measured", "mode": "text", "superseded": False}
    cost = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5, "latency_s": 2.0}
    at = {
        "answer_id": f"{step}-{minute}",
        "started_at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute),
    }
    none = dict.fromkeys(("error_code", "error_message", "logprobs_json"))
    return {**about, **how, **cost, **at, **none, **more}


def read(
    instances: Sequence[Instance], transcripts: pl.DataFrame, *, conditions: Sequence[str], model: str = "m",
    run: int = 1, source: str = "measured",
) -> pl.DataFrame:  # fmt: skip
    """Return the responses in transcripts, of instances asked under conditions."""
    bench = Bound(instances, conditions=conditions)
    told = transcripts.filter(model=model, run=run, benchmark="medley")
    told = told.filter(~pl.col("superseded")) if "superseded" in told.columns else told
    asked = [(name, applicable(instances, name)) for name in conditions]
    return blanks_marked(read_responses(bench, told, asked, model=model, run=run, source=source))


def estimated(
    scored: pl.DataFrame, *, by_run: bool = False, seed: int = 1, n_boot: int = 200, **keys: Any
) -> pl.DataFrame:
    """Return the estimates of scored responses; ``condition`` without the scoring."""
    bench = Bound(seed=seed, **keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "N_BOOT", n_boot)
        found = estimates(bench, groups_of(bench, scored, by_run=by_run))
    return found.with_columns(pl.col("condition").str.replace(r" (reference|paper)$", ""))


def compared(
    scored: pl.DataFrame, *, seed: int = 1, n_boot: int = 200, related: Mapping[str, frozenset[str]] | None = None
) -> pl.DataFrame:  # fmt: skip
    """Return the comparisons of scored responses; ``related`` are {model: instances with an analyst of its family}."""
    bench = Bound(seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contrasts, "N_BOOT", n_boot)
        patch.setattr(contrasts, "related", lambda benchmark: related or {})
        return comparisons(bench, groups_of(bench, scored, by_run=False))


def measured(found: Mapping[str, Any], place: int = 0) -> dict[str, float]:
    """Return the computed measures that one of the scored instances has."""
    return {name: found[name][place] for name in MEASURES if not np.isnan(found[name][place])}


def replace(each: Any, **parts: Any) -> Any:
    """Return an instance, or a dataclass, with other values in some fields."""
    return each.changed(**parts) if isinstance(each, Instance) else dataclasses.replace(each, **parts)


def observed(
    instances: Sequence[Instance], character: str, conditions: Sequence[str], run: int = 1
) -> pl.DataFrame:
    """Return the responses of a simulated respondent to instances under conditions."""
    respond = SimulatedRespondent(instances, ObserverSpec(character=character, seed=1))
    about = {"model": character, "run": run, "source": "simulated"}
    calls = [
        call(
            step,
            text,
            item_id=item.item_id,
            condition=condition,
            answer_id=f"{condition}/{run}/{item.item_id}/{step}",
            **about,
        )
        for condition in conditions
        for item in applicable(instances, condition)
        for step, text in converse_with(respond, item, condition, seed=run)[0].items()
    ]
    transcripts = pl.DataFrame(calls, infer_schema_length=None)
    return read(instances, transcripts, conditions=conditions, **about)

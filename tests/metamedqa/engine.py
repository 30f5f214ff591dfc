"""The engine over frames in memory, bound to MetaMedQA, for these tests."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import polars as pl

from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.benchmarks.metamedqa.items import Item, Settings
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, ask_item
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring import comparisons, estimates, responses, schemas

RESPONSES = schemas.response_schema(MetaMedQA)
ESTIMATES, COMPARISONS = schemas.ESTIMATE, schemas.COMPARISON


def bound(seed: int = 1, **settings: Any) -> MetaMedQA:
    """Return the benchmark bound to a study with this seed."""
    context: Any = SimpleNamespace(seed=seed, study=None)
    return MetaMedQA(Settings(**{"dataset": "sample", **settings}), context)


def observe(
    items: Sequence[Item], transcripts: pl.DataFrame, *, conditions: Sequence[str], model: str, run: int
) -> pl.DataFrame:
    """Return the responses of one model and run; other rows are ignored, as the engine ignores them."""
    kept = transcripts.filter(~pl.col("superseded"), benchmark="metamedqa", model=model, run=run)
    told = kept["source"][0] if kept.height else "measured"
    asked = [(condition, items) for condition in conditions]
    benchmark = bound(conditions=tuple(conditions))
    return responses.read_responses(benchmark, kept, asked, model=model, run=run, source=told)


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


async def ask_with(
    item: Item, condition: str, mode: str, ask: Callable[..., Any], wording: Wording, spec: ModelSpec
) -> None:
    """Ask one item through ``ask``, a plain coroutine."""

    class Chat:
        async def __call__(self, step: str, messages: Any, **options: Any) -> Any:
            return await ask(step, messages, **options)

    chat: Any = Chat()
    chat.mode, chat.spec = mode, spec
    await ask_item(item, condition, chat, wording)

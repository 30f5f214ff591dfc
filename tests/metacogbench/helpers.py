"""MetaCog-Bench without a study file: the engine's reading and scoring on transcripts and responses made by hand."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import polars as pl

from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.contract import Call, Scored
from metacog_pipeline.benchmarks.metacogbench import MetaCogBench, groups
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.prompts import Wording, applicable, ask_item, scored_step
from metacog_pipeline.benchmarks.metacogbench.read import Scored as Read
from metacog_pipeline.benchmarks.metacogbench.rules import score as score_calls
from metacog_pipeline.benchmarks.metacogbench.settings import Settings
from metacog_pipeline.benchmarks.metacogbench.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling, Status
from metacog_pipeline.scoring.comparisons import comparisons, table
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.responses import read_responses
from metacog_pipeline.stats import calibration

TABLES = {each.name: each for each in MetaCogBench.tables}


def bound(seed: int = 0, **settings: Any) -> MetaCogBench:
    """Return the benchmark bound to a study of that seed."""
    study: Any = SimpleNamespace(study=SimpleNamespace(seed=seed), judges=())
    return MetaCogBench(Settings(**settings), study)


def read(
    items: Sequence[Item],
    transcripts: pl.DataFrame,
    *,
    conditions: Sequence[str] = ("free",),
    model: str = "m",
    run: int = 1,
    source: str = "measured",
) -> pl.DataFrame:
    """Return the responses to ``items``."""
    asked = [(condition, applicable(items, condition)) for condition in conditions]
    kept = transcripts.filter(run=run, model=model, benchmark="metacogbench").filter(~pl.col("superseded"))
    bench = bound(conditions=tuple(conditions))
    return read_responses(bench, kept, asked, model=model, run=run, source=source)


@contextmanager
def drawing(n_boot: int) -> Iterator[None]:
    """Draw fewer resamples."""
    before, groups.N_BOOT = groups.N_BOOT, n_boot
    try:
        yield
    finally:
        groups.N_BOOT = before


def score(
    responses: pl.DataFrame,
    *,
    seed: int,
    allow_incomplete: bool = False,
    n_boot: int = 10_000,
    by_run: bool = True,
) -> pl.DataFrame:
    """Return the estimates of each run, or over all of them."""
    bench = bound(seed, allow_incomplete=allow_incomplete)
    with drawing(n_boot):
        return estimates(bench, groups_of(bench, responses, by_run=by_run))


pool = partial(score, by_run=False)


def compare(responses: pl.DataFrame, *, seed: int, n_boot: int = 10_000) -> pl.DataFrame:
    """Return the comparisons of all groups."""
    bench = bound(seed)
    with drawing(n_boot):
        return comparisons(bench, groups_of(bench, responses, by_run=False))


def tabled(
    name: str,
    responses: pl.DataFrame,
    *,
    seed: int = 0,
    n_boot: int = 10_000,
    judgements: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return one of the benchmark's own tables."""
    bench = bound(seed)
    with drawing(n_boot):
        groups = groups_of(bench, responses, by_run=False)
        made, why = table(bench, TABLES[name], Scored(responses, groups, judgements, pl.DataFrame()))
    assert why is None, why
    return made


def read_reply(item: Item, reply: str, condition: str = "free", **others: str) -> Read:
    """Return what a reply says and is worth; ``others`` are the replies to other steps."""
    calls = {scored_step(item, condition): Call("ok", reply)}
    return score_calls(item, calls | {step: Call("ok", text) for step, text in others.items()}, condition)


def scored(item: Item, reply: str) -> Any:
    """Return what a reply is worth, by the names of its columns."""
    return SimpleNamespace(**read_reply(item, reply).values)


def ece(percent: Any, correct: Any) -> float:
    """Return the calibration error of percentages and outcomes, by the library; pairs without a number are left out."""
    here = (percent == percent) & (correct == correct)
    found = calibration.ece(percent[here] / 100, correct[here], 5).value
    assert found is not None
    return found


class Chat:
    """A chat that hands every call to ``ask``."""

    def __init__(self, ask: Any, mode: str = "text", spec: ModelSpec | None = None) -> None:
        self.ask, self.mode = ask, mode
        self.spec = spec or ModelSpec(name="m", provider="openai", model="x")

    async def __call__(self, step: str, messages: Any, **options: Any) -> Any:
        return await self.ask(step, messages, **options)


def transcribed(
    respond: SimulatedRespondent,
    items: Sequence[Item],
    wording: Wording,
    transcript: Any,
    *,
    condition: str = "free",
    seed: int = 1,
    run: int = 1,
) -> list[dict[str, Any]]:
    """Ask a respondent everything in this process; return the rows of transcripts, made by ``transcript``."""
    spec = ModelSpec(name="m", provider="simulated", observer=respond.observer)
    rows: list[dict[str, Any]] = []

    async def everything() -> None:
        for item in items:

            async def ask(step: str, messages: Any, of: Item = item, **options: Any) -> Answer:
                request = ChatRequest(tuple(messages), Sampling(seed=seed), options["constraint"], step)
                assert respond.knows(request)
                text = respond(request)
                rows.append(transcript(of, text, step=step, condition=condition, run=run))
                return Answer(Status.OK, text)

            await ask_item(item, condition, Chat(ask, spec=spec), wording)

    asyncio.run(everything())
    return rows

"""A small study of one benchmark, run with simulated respondents: what the rules look at."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.step import sampling_for
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.contract import Benchmark, Ladder, Scored
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.item_files import unusable
from metacog_pipeline.conformance.usable import faults
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Message, Status
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.responses import CALL_COLUMNS, FAILED_READING, read_responses
from metacog_pipeline.study import Study, StudySection
from metacog_pipeline.transcripts.lines import encode_logprobs

#: Different enough to be compared.
RESPONDENTS = {"careful": {"accuracy": 0.85, "seed": 1}, "hasty": {"accuracy": 0.55, "seed": 2}}
SEED = 1
READABLE = 0.9  # share of a tidy respondent's answers that must be readable


class Broken(AssertionError):
    """A rule of the contract that does not hold: what, where, what to do."""


@dataclass(frozen=True)
class Tried:
    """A benchmark bound to a small study whose simulated respondents have answered."""

    benchmark: Benchmark[Any, Any, Any]
    settings: Mapping[str, Any]  # the keys of its table
    transcripts: Mapping[str, pl.DataFrame]  # the answers of each respondent

    @property
    def study(self) -> Study:
        """The study."""
        return self.benchmark.study

    def read(
        self, answers: Mapping[str, pl.DataFrame], under: Sequence[str] | None = None, items: Sequence[str] | None = None
    ) -> pl.DataFrame:  # fmt: skip
        """Return the responses as these answers give them, under all conditions or some, to all items or some."""
        asked = [
            (name, [each for each in own if items is None or each.item_id in items])
            for name, own in tasks.asked(self.benchmark)
            if under is None or name in under
        ]
        about: Any = {"run": 1, "source": "simulated"}
        return pl.concat(
            read_responses(self.benchmark, own, asked, model=name, **about) for name, own in answers.items()
        )

    @cached_property
    def responses(self) -> pl.DataFrame:
        """The responses of all respondents; Broken where prompt, observer and reader do not fit each other."""
        found = self.read(self.transcripts)
        unread = found.filter(pl.col("status") != "ok")
        failed = unread.filter(status=FAILED_READING)
        if failed.height or unread.height > (1 - READABLE) * found.height:
            why = [*failed["reason"], *unread["reason"]][0]
            said = f"{unread.height} of {found.height} replies of its own observer are not read"
            raise Broken(
                f"{type(self.benchmark).__name__}.parse: {said}: {why}; let observer() answer as asked"
            )
        return found

    @cached_property
    def scored(self) -> pl.DataFrame:
        """The responses with derived columns."""
        return self.derived(self.responses)

    def derived(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return ``responses`` with derived columns, model by model and run by run."""
        parts = responses.partition_by("model", "run", maintain_order=True)
        made = [files.derived(self.benchmark, each, None) for each in parts]
        return pl.concat(made, how="diagonal_relaxed") if made else responses

    @cached_property
    def groups(self) -> list[Group]:
        """Groups pooled over runs."""
        return self.grouped(self.scored)

    def grouped(self, scored: pl.DataFrame) -> list[Group]:
        """Return the groups of scored responses, pooled over runs."""
        return groups_of(self.benchmark, scored, by_run=False)

    @cached_property
    def estimates(self) -> pl.DataFrame:
        """Every measure of every group."""
        return estimates(self.benchmark, self.groups)

    @cached_property
    def comparisons(self) -> pl.DataFrame:
        """Every test."""
        return comparisons(self.benchmark, self.groups)

    @property
    def everything(self) -> Scored:
        """The input of a benchmark's own tables."""
        return Scored(self.scored, self.groups, None, self.estimates)

    @cached_property
    def gate(self) -> Tried:
        """The same for the validity gate: its settings, and the respondents of ladders after an ordinary one."""
        settings = {**self.settings, **self.benchmark.gate_settings}
        found: dict[str, Mapping[str, Any]] = {"careful": RESPONDENTS["careful"]}
        for ladder in self.benchmark.ladders:
            found |= of_ladder(ladder)
        folder, cls = self.study.path.parent / "gate", type(self.benchmark)
        return _tried(small_study(cls, folder, settings, found), cls, settings)


def of_ladder(ladder: Ladder) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of the low and the high respondent by names, which ladders of equal ones share."""
    ends = ({**ladder.others, ladder.parameter: value} for value in (ladder.low, ladder.high))
    return {sha256_hex(canonical_json(each))[:8]: {**each, "seed": 1} for each in ends}


def try_benchmark(benchmark: type[Any], folder: Path, settings: Mapping[str, Any] | None = None) -> Tried:
    """Make a small study of ``benchmark`` in ``folder``, build its items and have two simulated respondents answer.

    Raises `Broken` where the class cannot be used, else whatever the benchmark raises.
    """
    if found := faults(benchmark):
        raise Broken("; ".join(found))
    shipped = (not registry.is_strange(each.module) for each in registry.entries().get(benchmark.name, ()))
    if registry.is_strange(benchmark.__module__) and any(shipped):
        said = f"{benchmark.__name__}.name is {benchmark.name!r}, a benchmark of this package"
        raise Broken(f"{said}; choose another")
    keys = benchmark.trial_settings if settings is None else settings
    return _tried(small_study(benchmark, folder, keys), benchmark, keys)


def small_study(
    benchmark: type[Any],
    folder: Path,
    settings: Mapping[str, Any],
    respondents: Mapping[str, Mapping[str, Any]] = RESPONDENTS,
) -> Study:
    """Return a study of one benchmark and simulated respondents, one run each; its home is below ``folder``."""
    # Not through the registry: a class is checked before its package is installed.
    about = {
        "study": StudySection(name="conformance", home="home", seed=SEED),
        "models": [
            {"name": name, "provider": "simulated", "family": name, "observer": parameters}
            for name, parameters in respondents.items()
        ],
        "benchmarks": {benchmark.name: benchmark.Settings.model_validate(dict(settings))},
        "path": folder / "study.toml",
    }
    return Study.model_validate(about)


def _tried(study: Study, benchmark: type[Any], settings: Mapping[str, Any]) -> Tried:
    """Build the items of a study and have its respondents answer."""
    study.prepare()
    bound: Benchmark[Any, Any, Any] = benchmark.of(study)
    construction.build(bound)
    if why := unusable(bound.items):
        raise Broken(f"{benchmark.__name__}: {why}")
    if not bound.conditions():
        raise Broken(f"{benchmark.__name__}: no condition; return at least one from conditions()")
    return Tried(bound, settings, {spec.name: _answers(bound, spec) for spec in study.models})


def _answers(benchmark: Benchmark[Any, Any, Any], spec: ModelSpec) -> pl.DataFrame:
    """Return the calls of a simulated respondent in the columns of transcripts, without a session."""
    respond, rows = benchmark.observer(spec.observer), list[dict[str, Any]]()

    def said(request: ChatRequest) -> Completion:
        found = respond(request)
        return found if isinstance(found, Completion) else Completion(Status.OK, "".join((found,)))

    async def ask() -> None:
        for condition, items in tasks.asked(benchmark, spec):
            for item in items:
                chat = Recorder(spec, said)
                await benchmark.ask(item, condition, chat)
                about = {"item_id": item.item_id, "condition": condition, "mode": chat.mode, "answer_id": ""}
                for request, found in zip(chat.requests, chat.answers, strict=True):
                    call = {"step": request.step, "status": found.status.value, "text": found.text}
                    rows.append({**about, **call, "logprobs_json": encode_logprobs(found.logprobs)})

    asyncio.run(ask())
    answers = pl.DataFrame(rows, schema=dict.fromkeys(CALL_COLUMNS, pl.String))
    return answers.with_columns(started_at=pl.int_range(pl.len()))


@dataclass
class Recorder:
    """A `contract.Chat` that records every call and its answer: by default a number."""

    spec: ModelSpec
    respond: Callable[[ChatRequest], Completion] = lambda request: Completion(Status.OK, "42")
    mode: str = "text"
    requests: list[ChatRequest] = field(default_factory=list)
    answers: list[Completion] = field(default_factory=list)

    async def __call__(self, step: str, messages: Sequence[Message], **how: Any) -> Answer:
        """Return the answer to one call."""
        sampling = sampling_for(self.spec, Profile(self.mode), SEED, how)  # type: ignore[arg-type]
        self.requests.append(ChatRequest(tuple(messages), sampling, how.get("constraint"), step, 1))
        self.answers.append(said := self.respond(self.requests[-1]))
        return Answer(said.status, said.text, said.logprobs)


def rules_of(module: Mapping[str, Any]) -> tuple[Callable[[Tried], Iterator[Any]], ...]:
    """Return every public generator of a module: a list of names could leave one out."""
    own = [each for name, each in module.items() if inspect.isgeneratorfunction(each) and name[0] != "_"]
    return tuple(each for each in own if each.__module__ == module["__name__"])

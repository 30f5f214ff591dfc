"""A small study of one benchmark, run with simulated respondents: what the rules look at."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.step import sampling_for
from metacog_pipeline.asking.types import Answer
from metacog_pipeline.benchmark.contract import Benchmark, Item, Respondent, Scored
from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.benchmark.item_files import unusable
from metacog_pipeline.conformance.usable import faults
from metacog_pipeline.errors import MetacogError, one_line
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Message, Status
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.responses import CALL_COLUMNS, FAILED_READING, read_responses
from metacog_pipeline.study import Study, StudySection
from metacog_pipeline.transcripts.lines import encode_logprobs

RESPONDENTS = {"careful": 0.85, "hasty": 0.55}  # name → accuracy: different enough to be compared
ENDS = ("low", "high")  # of a ladder
SEED = 1
_OURS = __name__.partition(".")[0]
SOME_ITEMS = 3  # of those looked at one by one
_ELSEWHERE = """
import importlib, json, sys
path, place, name, items = json.loads(sys.argv[1])
sys.path[:0] = path
item = getattr(importlib.import_module(place), name).model_validate_json
print(json.dumps([json.dumps(item(each).asked_and_scored_by(), sort_keys=True) for each in items]))
"""


class Broken(AssertionError):
    """A rule of the contract that does not hold: what, where, what to do."""


@contextlib.contextmanager
def held(what: str, to_do: str) -> Iterator[None]:
    """Raise `Broken` where ``what`` fails in any way: the cause, and what to do about it."""
    try:
        yield
    except (Broken, KeyboardInterrupt):
        raise
    except MetacogError as error:  # it says what to do itself
        raise Broken(f"{what} failed: {error}") from error
    except (Exception, SystemExit) as error:
        raise Broken(one_line(f"{what} raised {type(error).__name__}: {error}; {to_do}")) from error


@dataclass(frozen=True)
class Tried:
    """A benchmark bound to a small study whose two simulated respondents have answered."""

    benchmark: Benchmark[Any, Any, Any]
    calls: tuple[int, int]  # of the first session and of a second one, in which nothing is left to ask
    settings: Mapping[str, Any]  # the keys of its table
    given: Mapping[str, pl.DataFrame] | None = None  # answers that no session has kept

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.benchmark).__name__

    @property
    def study(self) -> Study:
        """The study."""
        return self.benchmark.context.study

    @cached_property
    def partitions(self) -> list[Partition]:
        """Model × run of the study."""
        return tasks.partitions(self.benchmark)

    @cached_property
    def transcripts(self) -> Mapping[str, pl.DataFrame]:
        """The answers of each respondent."""
        if self.given is not None:
            return self.given
        return {each.spec.name: files.current_transcripts(self.benchmark, each) for each in self.partitions}

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
        """The responses of all respondents; Broken where the reader has failed at any of them."""
        found = self.read(self.transcripts)
        failed = found.filter(pl.col("status") == FAILED_READING)
        if failed.height:
            said = f"{failed.height} of {found.height} replies of its own observer are not read"
            raise Broken(f"{self.name}.parse: {said}: {failed['reason'][0]}")
        return found

    @cached_property
    def scored(self) -> pl.DataFrame:
        """The responses with derived columns."""
        return self.derived(self.responses)

    def derived(self, responses: pl.DataFrame) -> pl.DataFrame:
        """Return ``responses`` with derived columns, model by model and run by run."""
        parts = responses.partition_by("model", "run", maintain_order=True)
        with held(f"{self.name}.derive", "return all responses it is given, with columns added"):
            made = [files.derived(self.benchmark, each, None) for each in parts]
            return pl.concat(made, how="diagonal_relaxed") if made else responses

    @cached_property
    def groups(self) -> list[Group]:
        """Groups pooled over runs."""
        scored = self.scored
        with held(f"{self.name}: to group its responses", "keep the columns every response has as they are"):
            return groups_of(self.benchmark, scored, by_run=False)

    @cached_property
    def estimates(self) -> pl.DataFrame:
        """Every measure of every group."""
        groups = self.groups
        with held(f"{self.name}.measures", "let each compute return an Estimate or None"):
            return estimates(self.benchmark, groups)

    @cached_property
    def comparisons(self) -> pl.DataFrame:
        """Every test."""
        groups = self.groups
        with held(f"{self.name}.contrasts", "yield Comparisons"):
            return comparisons(self.benchmark, groups)

    @cached_property
    def everything(self) -> Scored:
        """What a benchmark's own tables are made from."""
        return Scored(self.scored, self.groups, None, self.estimates)

    @cached_property
    def gate(self) -> Tried:
        """The same for the validity gate: its settings, and two respondents for each ladder after an ordinary one."""
        settings = {**self.settings, **self.benchmark.gate_settings}
        found: dict[str, Mapping[str, Any]] = {"careful": {"accuracy": RESPONDENTS["careful"], "seed": 1}}
        for place, ladder in enumerate(self.benchmark.ladders):
            for end, value in zip(ENDS, (ladder.low, ladder.high), strict=True):
                found[f"{end}-{place}"] = {**ladder.others, ladder.parameter: value, "seed": 1}
        study = small_study(type(self.benchmark), self.study.path.parent / "gate", settings, found)
        bound = _built(type(self.benchmark), study)
        return Tried(bound, (0, 0), settings, {spec.name: _answers(bound, spec) for spec in study.models})


def asked_elsewhere(item: type[Item], items: Sequence[Item]) -> list[str]:
    """Return by what ``items`` are asked and scored, as JSON, in a process of its own with another seed of hash()."""
    given = [sys.path, item.__module__, item.__qualname__, [each.model_dump_json() for each in items]]
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, json.dumps(given)],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip()[-300:]
        raise Broken(f"{item.__module__} cannot be imported alone, or its Item cannot be read there: {said}")
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def faults_of(benchmark: Any) -> list[str]:
    """Return what keeps a class from being tried at all, and which other package has its name."""
    if found := faults(benchmark):
        return found
    own = {each.__module__.partition(".")[0] for each in benchmark.__mro__}
    if benchmark.__module__.partition(".")[0] != _OURS:
        own.discard(_OURS)
    owners = (each.module.partition(".")[0] for each in registry.entries().get(benchmark.name, ()))
    said = (
        f"{benchmark.__name__}.name is {benchmark.name!r}, a benchmark of {{}} has that name; choose another"
    )
    return [said.format(owner) for owner in owners if owner not in own]


def try_benchmark(
    benchmark: type[Any],
    folder: Path,
    settings: Mapping[str, Any] | None = None,
    respondents: Mapping[str, Mapping[str, Any]] | None = None,
) -> Tried:
    """Make a small study of ``benchmark`` in ``folder``, build its items and have simulated respondents answer.

    ``respondents`` are their parameters by name: two that differ in accuracy where none are given. Raises `Broken` where
    that much cannot be done.
    """
    if found := faults_of(benchmark):
        raise Broken("; ".join(found))
    name = benchmark.__name__
    with held(f"{name}.trial_settings", "let it hold keys of Settings with values they take"):
        keys = dict(benchmark.trial_settings if settings is None else settings)
        study = small_study(benchmark, folder, keys, respondents)
    bound = _built(benchmark, study)
    _answers(bound, study.models[0], 1)  # a fault is reported before a session is begun
    with held(
        f"{name}: to ask its observer", "let observer() return the text of an answer for every request"
    ):
        first = sum(_ask(bound, each) for each in tasks.partitions(bound))
        again = sum(_ask(bound, each) for each in tasks.partitions(bound))
    return Tried(bound, (first, again), keys)


def _built(benchmark: type[Any], study: Study) -> Benchmark[Any, Any, Any]:
    """Return the benchmark bound to a study, with its items."""
    name = benchmark.__name__
    study.prepare()
    with held(f"{name}: to bind it to a study", "leave __init__ as it is, or call it"):
        bound: Benchmark[Any, Any, Any] = benchmark.of(study)
    with held(f"{name}.construction()", "let each Step.make return Made with rows of what the step writes"):
        construction.build(bound)
        items = bound.items
    if (why := unusable(items)) is not None:
        raise Broken(f"{name}: {why}")
    return bound


def _answers(benchmark: Benchmark[Any, Any, Any], spec: ModelSpec, most: int | None = None) -> pl.DataFrame:
    """Return the calls of a simulated respondent, in the columns of transcripts that are read, without a session.

    ``most`` is how many items of each condition are asked, None for all.
    """
    name, rows = type(benchmark).__name__, list[tuple[str | None, ...]]()
    with held(
        f"{name}.conditions()", "return a Condition for each arm, whose items are some of those it is given"
    ):
        arms = tasks.asked(benchmark, spec)
    if not arms:
        raise Broken(f"{name}: no condition; return at least one from conditions()")
    with held(f"{name}.observer()", "return what answers a request"):
        chat = _Recorder(spec, name=name, respond=benchmark.observer(spec.observer))

    async def ask() -> None:
        for condition, items in arms:
            for item in items[:most]:
                start = len(chat.requests)
                await benchmark.ask(item, condition, chat)
                for request, said in zip(chat.requests[start:], chat.answers[start:], strict=True):
                    kept = said.status.value, said.text, encode_logprobs(said.logprobs)
                    rows.append((item.item_id, condition, request.step, *kept))

    with held(f"{name}.ask", "make its calls after any answer"):
        asyncio.run(ask())
    names = ("item_id", "condition", "step", "status", "text", "logprobs_json")
    found = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    absent = {name: pl.lit(None, pl.String) for name in CALL_COLUMNS if name not in names}
    more = {"started_at": pl.int_range(pl.len()), "mode": pl.lit(chat.mode), "answer_id": pl.lit("")}
    return found.with_columns(**{**absent, **more})


@dataclass
class _Recorder:
    """A `contract.Chat` that records every call; each is answered by a simulated respondent, or alike."""

    spec: ModelSpec
    mode: str = "text"
    name: str = ""  # of the benchmark, for messages
    respond: Respondent | None = None
    requests: list[ChatRequest] = field(default_factory=list)
    answers: list[Completion] = field(default_factory=list)

    async def __call__(self, step: str, messages: Sequence[Message], **how: Any) -> Answer:
        sampling = sampling_for(self.spec, Profile(self.mode), SEED, how)  # type: ignore[arg-type]
        self.requests.append(ChatRequest(tuple(messages), sampling, how.get("constraint"), step, 1))
        said = "42" if self.respond is None else self._said(self.respond)
        whole = Completion(Status.OK, said) if isinstance(said, str) else said
        self.answers.append(whole)
        return Answer(whole.status, whole.text, whole.logprobs)

    def _said(self, respond: Respondent) -> str | Completion:
        with held(f"{self.name}: its observer", "let it answer every request about its items"):
            said: Any = respond(self.requests[-1])
        if not isinstance(said, str | Completion):
            shown = one_line(f"{said!r} ({type(said).__name__})", 120)
            raise Broken(f"{self.name}: its observer returns {shown}; return a text")
        return said


def rehearsed(benchmark: Any, item: Item, condition: str, spec: ModelSpec) -> list[ChatRequest]:
    """Return the calls one item takes under a condition."""
    chat = _Recorder(spec)
    asyncio.run(benchmark.ask(item, condition, chat))
    return chat.requests


def rehearsed_task(task: Any, spec: ModelSpec) -> list[ChatRequest]:
    """Return the calls one task takes."""
    chat = _Recorder(spec)
    asyncio.run(task.run(chat, "text"))
    return chat.requests


def small_study(
    benchmark: type[Any],
    folder: Path,
    settings: Mapping[str, Any],
    respondents: Mapping[str, Mapping[str, Any]] | None = None,
) -> Study:
    """Return a study of one benchmark and simulated respondents, one run each; its home is below ``folder``."""
    accuracies = enumerate(RESPONDENTS.items(), 1)
    usual = {name: {"accuracy": accuracy, "seed": place} for place, (name, accuracy) in accuracies}
    specs = [
        {"name": name, "provider": "simulated", "family": name, "observer": parameters}
        for name, parameters in (respondents or usual).items()
    ]
    # Not through the registry: a class is checked before its package is installed.
    about = {
        "study": StudySection(name="conformance", home="home", seed=SEED),
        "models": specs,
        "benchmarks": {benchmark.name: benchmark.Settings.model_validate(dict(settings))},
        "path": folder / "study.toml",
    }
    return Study.model_validate(about)


def _ask(benchmark: Benchmark[Any, Any, Any], partition: Partition) -> int:
    """Ask what a partition lacks; return the calls that took."""
    done = query_partition(
        partition,
        tasks.tasks(benchmark, partition.spec),
        benchmark.modes(partition.spec),
        fingerprint=tasks.fingerprint(benchmark, partition),
        respond=benchmark.observer(partition.spec.observer),
    )
    return done.tally.calls

"""A benchmark of the contract in the form today's planner, server, launcher and assets take. Goes when all are ported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from metacog_pipeline.asking import construction, judging, roles, tasks
from metacog_pipeline.benchmark.contract import Benchmark, Scored, Stage
from metacog_pipeline.benchmarks.common import benchmark as old
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.querying.session import Partition
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.comparisons import comparisons, table
from metacog_pipeline.scoring.estimates import estimates, groups_of
from metacog_pipeline.scoring.responses import read_responses
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import BuiltItems, read_frame, write_frame

Bound = Benchmark[Any, Any, Any]


def legacy(cls: type[Bound]) -> old.Benchmark:
    """Return the functions today's stages call, each on the benchmark bound to the study."""

    def parse(partition: Partition, transcripts: pl.DataFrame) -> pl.DataFrame:
        bench = cls.of(partition.study)
        source = files.source_word(partition)
        asked = tasks.asked(bench, partition.spec)
        return read_responses(
            bench, transcripts, asked, model=partition.spec.name, run=partition.run, source=source
        )

    def scored(study: Study, responses: pl.DataFrame) -> pl.DataFrame:
        bench = cls.of(study)
        parts = responses.partition_by("model", "run", maintain_order=True)
        made = [files.derived(bench, own, _judgements(bench, own)) for own in parts]
        return pl.concat(made, how="diagonal_relaxed")

    def estimated(by_run: bool) -> Callable[[Study, pl.DataFrame], pl.DataFrame]:
        def compute(study: Study, responses: pl.DataFrame) -> pl.DataFrame:
            bench = cls.of(study)
            return estimates(bench, groups_of(bench, scored(study, responses), by_run=by_run))

        return compute

    def compare(study: Study, responses: pl.DataFrame) -> pl.DataFrame:
        bench = cls.of(study)
        together = scored(study, responses)
        groups = groups_of(bench, together, by_run=False)
        pooled = estimates(bench, groups) if bench.tables else pl.DataFrame()
        everything = Scored(together, groups, _judgements(bench, responses), pooled)
        for each in bench.tables:
            frame, _ = table(bench, each, everything)
            write_frame(frame, files.table_path(bench, each.name), "")
        return comparisons(bench, groups)

    def fetch(home: Any, names: Any = (), **how: Any) -> list[Any]:
        return [source.fetch(home, **how) for source in cls.sources if not names or source.name in names]

    def rules(study: Study) -> object:
        bench = cls.of(study)
        return [bench.settings.affecting(Stage.SCORING), bench.scored_by()]

    return old.Benchmark(
        name=cls.name,
        parsing_version=cls.versions[Stage.PARSING],
        scoring_version=cls.versions[Stage.SCORING],
        items_current=lambda study: construction.items_current(cls.of(study)),
        construct=lambda study: build(cls, study),
        conditions=lambda study: tuple(each.name for each in cls.of(study).conditions()),
        expected_rows=lambda study: tasks.expected(cls.of(study)),
        tasks=lambda study, spec: tasks.tasks(cls.of(study), spec),
        modes=lambda spec: cls.modes(cls, spec),  # type: ignore[arg-type]
        steps=lambda mode: (
            "answer",
        ),  # planned protocols run to their end, so no step is left to be counted
        fingerprint=lambda partition: _fingerprint(cls.of(partition.study), partition),
        respondent=lambda study, spec: cls.of(study).observer(spec.observer),
        parse=parse,
        score=estimated(True),
        pool=estimated(False),
        compare=compare,
        scoring_inputs=rules,
        fetch=fetch,
        source_names=tuple(source.name for source in cls.sources),
        needed_sources=lambda study: cls.of(study).needed_sources(),
        observation_preview=cls.preview,
        estimate_preview=("condition", "measure", "estimate", "low", "high", "n", "status"),
        takes_imports=cls.importer is not None,
        judging=None if cls.judging is None else _judging(cls),
        helpers=_helpers(cls),
    )


def build(cls: type[Bound], study: Study) -> BuiltItems:
    """Run the stale steps of construction and return the items as today's assets show them."""
    done = construction.build(cls.of(study))
    broken = [name for name, check in done.checks.items() if not check.passed]
    return BuiltItems(facts=dict(done.facts), frame=done.frame, violations=tuple(broken))


def _fingerprint(bench: Bound, partition: Partition) -> str:
    parsing = [bench.versions[Stage.PARSING], bench.settings.affecting(Stage.PARSING)]
    return sha256_hex(canonical_json([tasks.fingerprint(bench, partition), parsing]))


def _judgements(bench: Bound, responses: pl.DataFrame) -> pl.DataFrame | None:
    wanted = judging.wanted(bench)
    if wanted is None:
        return None
    study = bench.context.study
    pairs = responses.select("model", "run").unique().sort("model", "run").iter_rows()
    kept = [_judgements_path(Partition(study, bench.name, study.model(model), run)) for model, run in pairs]
    present = [read_frame(path) for path in kept if path.exists()]
    return pl.concat(present) if present else None


def _judgements_path(partition: Partition) -> Any:
    from metacog_pipeline.benchmarks.common.scoring import observations_path

    return observations_path(judging.judged_as(partition))


def _responses(partition: Partition) -> pl.DataFrame | None:
    from metacog_pipeline.benchmarks.common.scoring import observations_path

    path = observations_path(partition)
    return read_frame(path) if path.exists() else None


def _helpers(cls: type[Bound]) -> old.Helpers:
    """Return the models that help to make items, none where the settings have none."""

    def current(bench: Bound) -> dict[str, bool]:
        stale = construction.stale_steps(bench)
        return {step.name: step.name not in stale for step in bench.construction()}

    @contextmanager
    def foreseen(study: Study) -> Iterator[Study | None]:
        bench = cls.of(study)
        if construction.items_current(bench):
            yield None
            return
        with roles.items_at_most(bench) as elsewhere:
            yield None if elsewhere is None else elsewhere.context.study

    def seats(study: Study) -> list[old.Seat]:
        bench = cls.of(study)
        found = roles.partitions(bench, current(bench), construction.KeptInputs(bench))
        return [old.Seat(each.partition, each.expected, each.fingerprint) for each in found]

    def respondent(study: Study, spec: ModelSpec) -> old.Respondent:
        bench = cls.of(study)
        voices = [own.respondent for _, own in roles.roles(bench) if own.respondent is not None]
        return voices[0](bench, spec) if voices else _Silent()

    def left(study: Study) -> list[tuple[str, ModelSpec, Any]]:
        bench = cls.of(study)
        return roles.left_to_ask(bench, current(bench), construction.KeptInputs(bench))

    note = "Items that are not made yet are counted as if all of them were made, and as long as they may be."
    return old.Helpers(left, seats, respondent, foreseen, note)


class _Silent:
    """The voice of a model without a role: it knows no request."""

    def knows(self, request: ChatRequest) -> bool:
        return False

    def __call__(self, request: ChatRequest) -> str:
        return ""


def _judging(cls: type[Bound]) -> old.Judging:
    declared = cls.judging
    assert declared is not None

    def responses(partition: Partition) -> pl.DataFrame:
        found = _responses(partition)
        assert found is not None
        return found

    return old.Judging(
        name=f"{cls.name}_judgements",
        version=declared.version,
        wanted=lambda study: declared.wanted(cls.of(study)),
        judges=lambda study, spec: declared.judges(cls.of(study), spec),
        expected=lambda p: (
            0 if _responses(p) is None else judging.expected(cls.of(p.study), declared, p, responses(p))
        ),
        fingerprint=lambda p: judging.fingerprint(cls.of(p.study), declared, p, responses(p)),
        ask=lambda p, shown: judging.ask(cls.of(p.study), declared, p, responses(p), shown),
        read=lambda p: judging.read(cls.of(p.study), declared, p, responses(p)),
        estimate=lambda p: judging.left_to_ask(cls.of(p.study), declared, p, _responses(p)),
        respondent=lambda study, spec: declared.respondent(cls.of(study), spec),
        plan_note=declared.plan_note,
    )

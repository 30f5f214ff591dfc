"""The plan of a study: calls, tokens and dollars per model and benchmark, and where the budget would stop it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

from metacog_pipeline.asking import construction, judging, preflight, pricing, roles, tasks
from metacog_pipeline.asking.cost_estimate import CostEstimate, estimate_partition, stored_answers, under_way
from metacog_pipeline.asking.plan_notes import plan_notes
from metacog_pipeline.asking.pricing import Price
from metacog_pipeline.asking.session import Partition, few
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.contract import Judging
from metacog_pipeline.llm.spec import Lane, ModelSpec
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import judgements_of


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model on one benchmark, all runs.

    Or one judge, about all models and runs, under the name of the judgements: calls are judgements. Or a model that helps
    to make the items, under the name of the answers they are made from: a call is one item.

    ``tokens_out`` is an upper bound of what is left to ask, thinking included; ``in_batches`` are calls that batches under
    way have: neither answered nor to ask. ``online`` and ``batch`` price what is left to ask: None without a price,
    ``batch`` also where the provider has no batches. Of ``tokens_in``, ``tokens_repeated`` could be read from the
    provider's prompt cache, which lowers what is expected by ``cache_saves`` dollars.
    """

    model: str
    benchmark: str
    runs: int
    calls: int
    answered: int
    to_ask: int
    in_batches: int
    tokens_in: int
    tokens_out: int
    lane: Lane
    online: Price | None
    batch: Price | None
    tokens_repeated: int
    cache_saves: float | None

    def as_data(self) -> dict[str, object]:
        """Return the row as plain values; dollars are None without a price."""
        lanes = {"online": self.online, "batch": self.batch}
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in lanes}
        for lane, price in lanes.items():
            kept[f"{lane}_expected_usd"] = None if price is None else price.expected
            kept[f"{lane}_at_most_usd"] = None if price is None else price.at_most
        return kept

    @property
    def price(self) -> Price | None:
        """What is left to ask costs in the lane of the model."""
        return self.batch if self.lane == "batch" and self.batch is not None else self.online

    @property
    def dollars(self) -> float | None:
        """The most it costs."""
        return None if self.price is None else self.price.at_most


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows, and notes to read beside them."""

    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...]


def plan_study(study: Study) -> Plan:
    """Return what running ``study`` would take. Asks nobody; builds the items where nobody must answer first."""
    study.prepare()
    rows: list[PlanRow] = []
    remarks: list[str] = []
    for benchmark in enabled(study):
        current = {step.name: construction.step_current(benchmark, step) for step in benchmark.construction()}
        helpers = roles.left_to_ask(benchmark, current, construction.KeptInputs(benchmark))
        rows += [_plan_row(study, name, spec, 1, left) for name, spec, left in helpers]
        with construction.with_items(benchmark, _built) as planned:
            if planned is not benchmark:  # items of the greatest length stand for those that are not made yet
                remarks += [role.plan_note for _, role in roles.roles(benchmark) if role.plan_note]
            rows += [_row(planned, spec) for spec in tasks.models(planned)]
            if (wanted := judging.wanted(planned)) is not None:
                rows += _judges(planned, wanted)
                remarks += [wanted.plan_note] if wanted.plan_note else []
    first, *rest = plan_notes(study, rows)
    return Plan(tuple(rows), (first, *dict.fromkeys(remarks), *rest))


@contextmanager
def _built(benchmark: Bound) -> Iterator[Bound]:
    construction.build(benchmark)
    yield benchmark


def plan_partition(benchmark: Bound, partition: Partition, limit: int | None = None) -> PlanRow:
    """Return what asking one model in one run would take, of the first ``limit`` questions where given."""
    spec = partition.spec
    todo = few(tasks.tasks(benchmark, spec), limit, partition.folder)
    return _plan_row(partition.study, benchmark.name, spec, 1, _estimate(benchmark, partition, todo))


def _row(benchmark: Bound, spec: ModelSpec) -> PlanRow:
    study, total = benchmark.context.study, CostEstimate()
    todo = [] if spec.provider == "replay" else tasks.tasks(benchmark, spec)
    unasked: CostEstimate | None = None  # runs that nobody asked yet take the same
    for run in study.runs:
        partition = Partition(study, benchmark.name, spec, run)
        if partition.folder.path.exists():
            total.add(_estimate(benchmark, partition, todo))
        else:
            unasked = unasked or _estimate(benchmark, partition, todo)
            total.add(unasked)
    return _plan_row(study, benchmark.name, spec, study.study.runs, total)


def _estimate(benchmark: Bound, partition: Partition, todo: Sequence[Task]) -> CostEstimate:
    spec, modes = partition.spec, benchmark.modes(partition.spec)
    if spec.provider == "replay":
        return CostEstimate()
    profile = partition.known_profile() or Profile(modes[0])
    stored = stored_answers(partition.folder)
    return estimate_partition(
        spec,
        partition.run,
        partition.seed,
        profile,
        todo,
        stored,
        modes=modes,
        under_way=under_way(partition),
    )


def _judges(benchmark: Bound, wanted: Judging) -> list[PlanRow]:
    """Return one row per judge that may judge a model of the study, in the order of asking."""
    study = benchmark.context.study
    totals: dict[str, CostEstimate] = {}
    unasked: dict[
        str, Mapping[str, CostEstimate]
    ] = {}  # by model: its runs that nobody judged yet take the same
    for partition in tasks.partitions(benchmark):
        responses, name = judging.kept_responses(partition), partition.spec.name
        new = responses is None and not judging.judged_as(partition).folder.path.exists()
        left = unasked.get(name) if new else None
        if left is None:
            left = judging.left_to_ask(benchmark, wanted, partition, responses)
        if new:
            unasked[name] = left
        for judge, estimate in left.items():
            totals.setdefault(judge, CostEstimate()).add(estimate)
    return [
        _plan_row(study, judgements_of(benchmark.name), spec, study.study.runs, totals[spec.name])
        for spec in (*study.judges, *study.models)  # a model may judge itself
        if spec.name in totals
    ]


def _plan_row(study: Study, benchmark: str, spec: ModelSpec, runs: int, total: CostEstimate) -> PlanRow:
    known = preflight.known_of(study, spec)
    batch = pricing.batched(spec, total, known)
    return PlanRow(
        model=spec.name,
        benchmark=benchmark,
        runs=runs,
        calls=total.calls,
        answered=total.answered,
        to_ask=total.to_ask,
        in_batches=total.in_batches,
        tokens_in=total.tokens_in,
        tokens_out=total.tokens_out + total.sends * pricing.thinking_at_most(spec, known),
        lane=spec.lane if batch is not None else "online",
        online=pricing.online(spec, total, known),
        batch=batch,
        tokens_repeated=total.tokens_repeated,
        cache_saves=pricing.cache_saves(spec, total, known),
    )

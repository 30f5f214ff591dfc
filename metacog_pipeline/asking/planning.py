"""The plan of a study: calls, tokens and dollars per model and benchmark, and where the budget would stop it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from metacog_pipeline.asking import before_spending, construction, judging, pricing, roles, tasks
from metacog_pipeline.asking.cost_estimate import CostEstimate, estimate_partition, stored_answers, under_way
from metacog_pipeline.asking.plan_notes import plan_notes
from metacog_pipeline.asking.pricing import Price
from metacog_pipeline.asking.session import Partition, few
from metacog_pipeline.asking.states import Profile
from metacog_pipeline.asking.types import Task
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.contract import Benchmark, Judging
from metacog_pipeline.files import canonical_json
from metacog_pipeline.llm.spec import Lane, ModelSpec
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import judgements_of

Bound = Benchmark[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One model on one benchmark, all runs. ``tokens_out`` is an upper bound of what is left to ask, thinking included;
    ``in_batches`` are calls that batches under way have: neither answered nor to ask.

    ``online`` and ``batch`` are what is left to ask at these prices: None without a price, ``batch`` also where the
    provider has no batches; ``dollars`` is the most it costs in the ``lane`` of the model. Of ``tokens_in``,
    ``tokens_repeated`` could be read from the provider's prompt cache, which lowers what is expected by ``cache_saves``.

    Or one judge, about all models and runs, under the name of the judgements: calls are judgements. Or a model that helps
    to make the items, under the name of the answers they are made from; such a call is one item.
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
        dollars = {
            f"{lane}_{name}_usd": getattr(price, name, None)
            for lane, price in lanes.items()
            for name in ("expected", "at_most")
        }
        kept = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in lanes}
        return kept | dollars

    @property
    def price(self) -> Price | None:
        """What is left to ask costs in the lane of the model."""
        return self.batch if self.lane == "batch" and self.batch is not None else self.online

    @property
    def dollars(self) -> float | None:
        """The most it costs."""
        return None if self.price is None else self.price.at_most


#: What asking a model takes that nobody has asked yet, by all it depends on and whom: of 500 models it is found once.
Fresh = dict[str, dict[str, CostEstimate]]
#: Of a model, what decides who answers and what that costs, but no word of what is asked.
_SAYS_NOTHING = {
    *("name", "model", "base_url", "api_key_env", "family", "observer", "lane", "batch_rest", "batch_factor"),
    *("price_in", "price_out", "price_cached_in", "price_cache_write", "price_reasoning", "price_unknown"),
    *("requests_per_minute", "tokens_per_minute", "max_concurrency", "keep_raw", "extra_body"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows, and remarks for people."""

    rows: tuple[PlanRow, ...]
    notes: tuple[str, ...]


def plan_study(study: Study) -> Plan:
    """Return what running ``study`` would take. Asks nobody; builds the items where nobody must answer first."""
    study.prepare()
    rows: list[PlanRow] = []
    remarks: list[str] = []
    for benchmark in enabled(study):
        current = {step.name: construction.step_current(benchmark, step) for step in benchmark.construction()}
        rows += [
            _plan_row(study, name, spec, 1, left)
            for name, spec, left in roles.left_to_ask(benchmark, current, construction.KeptInputs(benchmark))
        ]
        with construction.with_items(benchmark, _built) as planned:
            if planned is not benchmark:
                remarks += [role.plan_note for _, role in roles.roles(benchmark) if role.plan_note]
            fresh: Fresh = {}
            rows += [_row(planned, spec, fresh) for spec in tasks.models(planned)]
            if (wanted := judging.wanted(planned)) is not None:
                rows += _judges(planned, wanted, fresh)
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


def _row(benchmark: Bound, spec: ModelSpec, fresh: Fresh) -> PlanRow:
    study, total = benchmark.context.study, CostEstimate()
    alike, todo = f"{benchmark.modes(spec)[0]} {_alike(spec)}", list[Task]()
    for run in study.runs:
        partition = Partition(study, benchmark.name, spec, run)
        found = None if partition.folder.path.exists() else fresh.get(alike)
        if found is None:
            todo = todo or tasks.tasks(benchmark, spec)
            found = {"": _estimate(benchmark, partition, todo)}
            if not partition.folder.path.exists():
                fresh[alike] = found
        total.add(found[""])
    return _plan_row(study, benchmark.name, spec, study.study.runs, total)


def _alike(spec: ModelSpec) -> str:
    """Return all of a model that what it is asked may depend on: two that share it are asked the same."""
    said = spec.model_fields_set - _SAYS_NOTHING
    return canonical_json([spec.model_dump(mode="json", exclude=_SAYS_NOTHING), sorted(said)])


def _estimate(benchmark: Bound, partition: Partition, todo: Sequence[Task]) -> CostEstimate:
    spec = partition.spec
    if spec.provider == "replay":
        return CostEstimate()
    modes = benchmark.modes(spec)
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


def _judges(benchmark: Bound, wanted: Judging, fresh: Fresh) -> list[PlanRow]:
    """Return one row per judge that may judge a model of the study, in the order of asking."""
    study = benchmark.context.study
    totals: dict[str, CostEstimate] = {}
    for partition in tasks.partitions(benchmark):
        responses = judging.kept_responses(partition)
        names = [each.name for each in wanted.judges(benchmark, partition.spec)]
        alike = canonical_json([names, _alike(partition.spec)])
        new = responses is None and not judging.judged_as(partition).folder.path.exists()
        left = fresh.get(alike) if new else None
        if left is None:
            left = judging.left_to_ask(benchmark, wanted, partition, responses)
        if new:
            fresh[alike] = left
        for name, estimate in left.items():
            totals.setdefault(name, CostEstimate()).add(estimate)
    return [
        _plan_row(study, judgements_of(benchmark.name), spec, study.study.runs, totals[spec.name])
        for spec in (*study.judges, *study.models)  # a model may judge itself
        if spec.name in totals
    ]


def _plan_row(study: Study, benchmark: str, spec: ModelSpec, runs: int, total: CostEstimate) -> PlanRow:
    known = before_spending.known_of(study, spec.name)
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

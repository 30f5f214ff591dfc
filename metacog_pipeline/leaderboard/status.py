"""The study's own tables: which models it lists, and how far each partition is. Rewritten before every board."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.asking import construction, judging, roles, tasks
from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.asking.states import source_of
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.leaderboard.datasets import BOARDS, MODELS, PARTITIONS, STUDY
from metacog_pipeline.leaderboard.declared import first_condition
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring import staleness
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import judgements_of

CHANGED = "the model's row has changed since it was asked; run it again"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """How far one partition is. ``state`` is complete, incomplete, failed or missing; counts are of answers."""

    benchmark: str
    model: str
    run: int
    state: str
    n_expected: int
    n_answered: int
    n_failed: int
    n_unusable: int | None
    message: str | None
    updated_at: datetime | None


def partition_states(study: Study) -> list[PartitionState]:
    """Return the state of every partition the study asks for, in the order of the study file."""
    return [state for benchmark in enabled(study) for state in _states(benchmark)]


def _states(benchmark: Bound) -> Iterator[PartitionState]:
    partitions = tasks.partitions(benchmark)
    for each in partitions:
        yield _state(each, tasks.expected(benchmark, each.spec), partial(tasks.fingerprint, benchmark, each))
    if judging.wanted(benchmark) is not None:
        for each in partitions:
            expected, now = staleness.judgements_needed(benchmark, each)
            yield _state(judging.judged_as(each), expected, partial(str, now))


def helper_states(study: Study) -> list[PartitionState]:
    """Return the state of the partition of every model that helps to make items, in the order of asking."""
    found = []
    for benchmark in enabled(study):
        steps = benchmark.construction()
        current = {
            step.name: construction.step_current(benchmark, step) for step in steps if step.asks is None
        }
        known = {step.name: current.get(step.name, True) for step in steps}
        for each in roles.partitions(benchmark, known, construction.KeptInputs(benchmark)):
            found.append(_state(each.partition, each.expected, partial(str, each.fingerprint)))
    return found


def write_status(study: Study) -> None:
    """Write what the SQL models read of the study itself, under ``study/``."""
    folder = study.home.status
    states, helpers = partition_states(study), helper_states(study)
    about = {
        "name": study.study.name,
        "seed": study.study.seed,
        "digest": sha256_hex(study.path.read_bytes()),
    }
    _write(folder / "study.parquet", [about], STUDY)
    _write(folder / "partitions.parquet", list(map(asdict, states)), PARTITIONS)
    _write(folder / "helpers.parquet", list(map(asdict, helpers)), PARTITIONS)
    _write(folder / "boards.parquet", _boards(study), BOARDS)
    _write(folder / "models.parquet", [*_listed(study), *_retired(study)], MODELS)


def _state(partition: Partition, expected: int, fingerprint: Callable[[], str]) -> PartitionState:
    """Return the state; ``fingerprint`` is only asked for where it matters: before items are built there is none."""
    manifest = partition.manifest()
    state = str(manifest.get("state", "missing"))
    # Answers to a model that was asked otherwise stay on the boards, and count for nothing of what is asked now.
    otherwise = manifest.get("asked_as") not in (None, request_digest(partition.spec))
    if state == "complete" and manifest.get("fingerprint") != fingerprint():
        state = "incomplete"
    finished = manifest.get("finished_at")
    return PartitionState(
        benchmark=partition.benchmark,
        model=partition.spec.name,
        run=partition.run,
        state=state,
        n_expected=expected,
        n_answered=0 if otherwise else _count(manifest, "n_answered"),
        n_failed=_count(manifest, "n_failed"),
        n_unusable=_count(manifest, "n_unusable") if "n_unusable" in manifest else None,
        message=CHANGED if otherwise else _message(manifest, state),
        updated_at=datetime.fromisoformat(finished) if isinstance(finished, str) else None,
    )


def _message(manifest: Mapping[str, object], state: str) -> str | None:
    if isinstance(message := manifest.get("message"), str):
        return message
    if state == "missing":
        return "not asked yet"
    return "the study has changed since; run it again" if state == "incomplete" else None


def _count(manifest: Mapping[str, object], key: str) -> int:
    value = manifest.get(key, 0)
    return value if isinstance(value, int) else 0


def _boards(study: Study) -> list[dict[str, object]]:
    """Return the condition every board opens with."""
    found = [(each.name, first_condition(each)) for each in enabled(study)]
    return [{"benchmark": name, "condition": condition} for name, condition in found if condition is not None]


def _listed(study: Study) -> list[dict[str, object]]:
    return [
        {
            "model": spec.name,
            "provider": spec.provider,
            "model_id": spec.model or None,
            "family": spec.family or None,
            "params_b": spec.params_b,
            "params_active_b": spec.params_active_b,
            "released": spec.released,
            "source": _source(study, spec),
            "listed": True,
            "runs": study.study.runs,
        }
        for spec in study.models
    ]


def _source(study: Study, spec: ModelSpec) -> str:
    """Return what the answers say they are: a model over HTTP may turn out to be a simulated one."""
    found = {
        Partition(study, benchmark.name, spec, run).manifest().get("source")
        for benchmark in enabled(study)
        for run in study.runs
    }
    return "simulated" if "simulated" in found else source_of(spec)


def _retired(study: Study) -> list[dict[str, object]]:
    """Return who was measured once and is not listed now; whoever only helped to make items was never measured."""
    listed = {spec.name for spec in study.models}
    measured = [kept for name in registry.names() for kept in (name, judgements_of(name))]
    folders = [path for name in measured for path in study.home.transcripts.glob(f"benchmark={name}/model=*")]
    found = {path.name.removeprefix("model=") for path in folders}
    return [
        {"model": name, "provider": "", "model_id": None, "source": "measured", "listed": False, "runs": 0}
        for name in sorted(found - listed)
    ]


def _write(path: Path, rows: Sequence[Mapping[str, object]], schema: pl.Schema) -> None:
    try:
        with replacing(path) as temporary:
            pl.DataFrame(list(rows), schema=schema, orient="row").write_parquet(temporary)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error.strerror}); free space and run again") from None

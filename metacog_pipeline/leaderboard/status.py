"""The study's own tables: which models it lists, and how far each partition is. Rewritten before every board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

import polars as pl

from metacog_pipeline import registry
from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.asking.states import source_of
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.benchmark.item_files import items_path
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.leaderboard.datasets import STUDY_TABLES
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.scoring import staleness
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import judgements_of

CHANGED = "the model's row has changed since it was asked; run it again"
#: Why a partition without a message is not complete, by its state.
_MESSAGES = {"missing": "not asked yet", "incomplete": "the study has changed since; run it again"}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """How far one partition is: a state of `asking.states`, and counts of answers."""

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
    found = []
    for benchmark in enabled(study):
        partitions = tasks.partitions(benchmark)
        for each in partitions:
            now = partial(tasks.fingerprint, benchmark, each)
            found.append(_state(each, tasks.expected(benchmark, each.spec), now))
        for each in partitions if judging.wanted(benchmark) is not None else ():
            expected, digest = staleness.judgements_needed(benchmark, each)
            found.append(_state(judging.judged_as(each), expected, partial(str, digest)))
    return found


def _state(partition: Partition, expected: int, fingerprint: Callable[[], str]) -> PartitionState:
    """Return how far a partition is."""
    manifest = partition.manifest()
    state, message = str(manifest.get("state", "missing")), manifest.get("message")
    # Answers to a model that was asked otherwise stay on the boards, and count for nothing of what is asked now.
    otherwise = manifest.get("asked_as") not in (None, request_digest(partition.spec))
    # Asked for only here: before items are built there is no fingerprint.
    if state == "complete" and manifest.get("fingerprint") != fingerprint():
        state = "incomplete"
    finished, counts = manifest.get("finished_at"), ("n_answered", "n_failed", "n_unusable")
    answered, failed, unusable = (n if isinstance(n := manifest.get(key), int) else None for key in counts)
    return PartitionState(
        benchmark=partition.benchmark,
        model=partition.spec.name,
        run=partition.run,
        state=state,
        n_expected=expected,
        n_answered=0 if otherwise else answered or 0,
        n_failed=failed or 0,
        n_unusable=unusable,
        message=CHANGED if otherwise else message if isinstance(message, str) else _MESSAGES.get(state),
        updated_at=datetime.fromisoformat(finished) if isinstance(finished, str) else None,
    )


def write_status(study: Study) -> None:
    """Write what the SQL models read of the study itself, under ``study/``."""
    about = {"name": study.study.name, "seed": study.study.seed}
    boards = [{"benchmark": each.name, "condition": _first_condition(each)} for each in enabled(study)]
    tables: dict[str, Iterable[Mapping[str, object]]] = {
        "study": [{**about, "digest": sha256_hex(study.path.read_bytes())}],
        "partitions": map(asdict, partition_states(study)),
        "boards": [each for each in boards if each["condition"] is not None],
        "models": [*_listed(study), *_retired(study)],
    }
    try:
        for name, rows in tables.items():
            frame = pl.DataFrame(list(rows), schema=STUDY_TABLES[name], orient="row")
            with replacing(study.home.status / f"{name}.parquet") as temporary:
                frame.write_parquet(temporary)
    except OSError as error:
        why = f"cannot be written ({error.strerror}); free space and run again"
        raise StoreError(f"{study.home.status}: {why}") from None


def _first_condition(benchmark: Bound) -> str | None:
    """Return the condition the board of a benchmark opens with, as boards show it; None before that is known."""
    conditions, task = benchmark.conditions(), None
    if benchmark.grouped_by:
        if not items_path(benchmark.study.home, benchmark.name).exists():
            return None
        task = getattr(benchmark.items[0], "task", None)
    return board_condition(task, conditions[0].name if conditions else None) or None


def _listed(study: Study) -> Iterator[dict[str, object]]:
    for spec in study.models:
        own = {name: getattr(spec, name) for name in ("provider", "params_b", "params_active_b", "released")}
        named = {"model": spec.name, "model_id": spec.model or None, "family": spec.family or None}
        yield {**own, **named, "source": _source(study, spec), "listed": True, "runs": study.study.runs}


def _source(study: Study, spec: ModelSpec) -> str:
    """Return what the answers say they are."""
    # A model over HTTP may turn out to be a simulated one.
    partitions = (Partition(study, each.name, spec, run) for each in enabled(study) for run in study.runs)
    simulated = "simulated" in {each.manifest().get("source") for each in partitions}
    return "simulated" if simulated else source_of(spec)


def _retired(study: Study) -> Iterator[dict[str, object]]:
    """Yield who was measured once and is not listed now."""
    # Whoever only helped to make items was never measured: its folder is that of no benchmark.
    measured = [kept for name in registry.names() for kept in (name, judgements_of(name))]
    folders = [path for name in measured for path in study.home.transcripts.glob(f"benchmark={name}/model=*")]
    found = {path.name.removeprefix("model=") for path in folders} - {spec.name for spec in study.models}
    for name in sorted(found):
        yield {"model": name, "provider": "", "source": "measured", "listed": False, "runs": 0}

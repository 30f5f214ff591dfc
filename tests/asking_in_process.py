"""Asking a partition in this process, as the assets and the launcher ask it."""

from collections.abc import Sequence
from typing import Any

from metacog_pipeline.asking import tasks
from metacog_pipeline.asking.second_ask import Patient
from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.asking.types import Task


def ask(benchmark: Any, partition: Partition, todo: Sequence[Task] | None = None) -> SessionResult:
    """Ask what the partition lacks; a simulated model is answered by the benchmark's own observer."""
    spec = partition.spec
    return query_partition(
        partition,
        tasks.tasks(benchmark, spec) if todo is None else todo,
        benchmark.modes(spec),
        fingerprint=tasks.fingerprint(benchmark, partition),
        respond=Patient(benchmark, spec) if spec.provider == "simulated" else None,
    )

"""Partitions of one run: Dagster takes a range of models times a range of runs, so a set is cut into such rectangles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from metacog_assets.partitions import MODELS
from metacog_pipeline.asking.session import Partition


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Neighbouring models × neighbouring runs."""

    models: tuple[str, ...]
    runs: tuple[int, ...]

    @property
    def key(self) -> dg.MultiPartitionKey | None:
        """The key where it is a single partition."""
        if len(self.models) * len(self.runs) > 1:
            return None
        return _key(self.models[0], self.runs[0])

    @property
    def tags(self) -> dict[str, str]:
        """The tags by which a run is about several partitions."""
        if self.key is not None:
            return {}
        first, last = _key(self.models[0], self.runs[0]), _key(self.models[-1], self.runs[-1])
        return {ASSET_PARTITION_RANGE_START_TAG: str(first), ASSET_PARTITION_RANGE_END_TAG: str(last)}

    def __contains__(self, partition: Partition) -> bool:
        """Whether a partition is one of its."""
        return partition.spec.name in self.models and partition.run in self.runs

    def __str__(self) -> str:
        """Return the words people read."""
        runs = f"run {self.runs[0]}" if len(self.runs) == 1 else f"runs {self.runs[0]} to {self.runs[-1]}"
        return f"{', '.join(self.models)}, {runs}"


def rectangles(partitions: Iterable[Partition], instance: dg.DagsterInstance) -> list[Rectangle]:
    """Return the fewest ranges, model by model, that hold exactly these partitions."""
    order = list(instance.get_dynamic_partitions(str(MODELS.name)))
    by_model: dict[str, tuple[int, ...]] = {}
    for each in partitions:
        by_model[each.spec.name] = (*by_model.get(each.spec.name, ()), each.run)
    found: list[Rectangle] = []
    for model in sorted(by_model, key=order.index):
        for runs in _neighbours(sorted(by_model[model])):
            place = next(
                (
                    number
                    for number, each in enumerate(found)
                    if each.runs == runs and order.index(each.models[-1]) + 1 == order.index(model)
                ),
                None,
            )
            if place is None:
                found.append(Rectangle((model,), runs))
            else:
                found[place] = Rectangle((*found[place].models, model), runs)
    return found


def _neighbours(numbers: Sequence[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for number in numbers:
        if found and found[-1][-1] + 1 == number:
            found[-1] = (*found[-1], number)
        else:
            found.append((number,))
    return found


def _key(model: str, run: int) -> dg.MultiPartitionKey:
    return dg.MultiPartitionKey({"model": model, "run": str(run)})

"""Partitions have two dimensions: ``model`` (dynamic, from the study file) × ``run`` (static, 1 to study.runs)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby

import dagster as dg

from metacog_assets.study_file import current_study
from metacog_pipeline.study import Study

MODELS = dg.DynamicPartitionsDefinition(name="model")
RUNS = dg.StaticPartitionsDefinition([str(run) for run in current_study().runs])
MODEL_RUNS = dg.MultiPartitionsDefinition({"model": MODELS, "run": RUNS})
Key = tuple[str, int]  # model, run


def key_of(model: str, run: int) -> dg.MultiPartitionKey:
    """Return the partition key of a model in a run."""
    return dg.MultiPartitionKey({"model": model, "run": str(run)})


def known_models(instance: dg.DagsterInstance) -> list[str]:
    """Return the models that have partitions, in the order in which they were added."""
    return list(instance.get_dynamic_partitions(str(MODELS.name)))


def sync_partitions(study: Study, instance: dg.DagsterInstance) -> None:
    """Make the model partitions those of the study. Answers of a retired model stay."""
    listed, known = [spec.name for spec in study.models], known_models(instance)
    if added := [name for name in listed if name not in known]:
        instance.add_dynamic_partitions(str(MODELS.name), added)
    for name in set(known) - set(listed):
        instance.delete_dynamic_partition(str(MODELS.name), name)


def ranges(keys: Collection[Key], models: list[str]) -> Iterator[tuple[Mapping[str, str], set[Key]]]:
    """Yield the tags of runs over ranges of partitions that cover exactly ``keys``, and the keys of each."""
    # Neighbours among the models share a range, one for each run of the study.
    for run in sorted({run for _, run in keys}):
        wanted = {name for name, own in keys if own == run}
        for chosen, stretch in groupby(models, wanted.__contains__):
            if chosen:
                names = list(stretch)
                tags = {
                    "dagster/asset_partition_range_start": str(key_of(names[0], run)),
                    "dagster/asset_partition_range_end": str(key_of(names[-1], run)),
                }
                yield tags, {(name, run) for name in names}

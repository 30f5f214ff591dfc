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


def sync_partitions(study: Study, instance: dg.DagsterInstance) -> bool:
    """Make the model partitions those of the study; return whether they were others. Answers of a retired model stay."""
    listed, known = [spec.name for spec in study.models], known_models(instance)
    added, retired = [name for name in listed if name not in known], set(known) - set(listed)
    if added:
        instance.add_dynamic_partitions(str(MODELS.name), added)
    for name in retired:
        instance.delete_dynamic_partition(str(MODELS.name), name)
    return bool(added or retired)


def ranges(keys: Collection[Key], models: list[str]) -> Iterator[tuple[Mapping[str, str], set[Key]]]:
    """Yield the tags of runs over ranges of partitions that cover exactly ``keys``, and the keys of each.

    A range of two dimensions is a rectangle. Models stand in the order of ``models``: only neighbours that want the same
    runs share one, so that no range spans a model or a run that was not chosen.
    """
    wanted = {model: sorted(run for name, run in keys if name == model) for model in models}
    for runs, neighbours in groupby(models, key=wanted.__getitem__):
        names = list(neighbours)
        for _, stretch in groupby(enumerate(runs), lambda each: each[1] - each[0]):
            own = [run for _, run in stretch]
            tags = {
                "dagster/asset_partition_range_start": str(key_of(names[0], own[0])),
                "dagster/asset_partition_range_end": str(key_of(names[-1], own[-1])),
            }
            yield tags, {(name, run) for name in names for run in own}

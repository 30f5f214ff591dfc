"""What is stale, by asset: the answers of the library, as names of the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from metacog_assets.benchmark_assets import later_conditions
from metacog_assets.partitions import Key
from metacog_assets.study_file import Bound
from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.contract import Condition
from metacog_pipeline.scoring import files, staleness
from metacog_pipeline.scoring.staleness import ESTIMATES, JUDGEMENTS, RESPONSES, TRANSCRIPTS


def stale_steps(benchmark: Bound) -> list[str]:
    """Return the assets of the steps of construction that are stale."""
    return [f"{benchmark.name}_{step}" for step in staleness.stale_steps(benchmark)]


def stale_stages(
    benchmark: Bound, partition: Partition, tried: Collection[str] = (), again: bool = False
) -> tuple[str, ...]:
    """Return the stages of a partition that are stale and were not tried; all of them where they are to run ``again``."""
    if again:
        judged = (JUDGEMENTS,) if judging.wanted(benchmark) is not None else ()
        stages: tuple[str, ...] = (TRANSCRIPTS, RESPONSES, *judged, ESTIMATES)
    else:
        stages = staleness.stale_stages(benchmark, partition)
    if TRANSCRIPTS in stages and TRANSCRIPTS in tried:
        # Stopped on the way: what was answered is scored all the same, and nobody is asked to judge it.
        stages = (RESPONSES, ESTIMATES) if files.has_answers(partition) else ()
    if {RESPONSES, ESTIMATES} & set(tried) & set(stages):
        return ()
    return tuple(stage for stage in stages if stage not in tried)


def stale_partitions(
    benchmark: Bound,
    partitions: Iterable[Partition],
    tried: dict[Key, set[str]],
    again: Collection[Partition] = (),
) -> dict[Key, set[str]]:
    """Return the assets of each partition that are stale, without those in ``tried``."""
    own = f"{benchmark.name}_"
    found: dict[Key, set[str]] = {}
    for each in partitions:
        key = (each.spec.name, each.run)
        known = {name.removeprefix(own) for name in tried.get(key, ()) if name.startswith(own)}
        if stages := stale_stages(benchmark, each, known, each in again and not known):
            found[key] = {f"{own}{stage}" for stage in stages}
            if TRANSCRIPTS in stages:
                found[key] |= {f"{own}{condition.name}_transcripts" for condition in chosen(benchmark)}
    return found


def chosen(benchmark: Bound) -> list[Condition]:
    """Return the later conditions whose items are chosen."""
    return [each for each in later_conditions(benchmark) if tasks.chosen_items(benchmark, each) is not None]

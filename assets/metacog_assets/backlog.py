"""What is stale, by asset: the answers of the library, as names of the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from metacog_assets.benchmark_assets import later_conditions
from metacog_assets.partitions import Key
from metacog_assets.study_file import Bound
from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.contract import Condition
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.leaderboard.status import board_current, report_current
from metacog_pipeline.report import PAGE
from metacog_pipeline.scoring import files
from metacog_pipeline.study import Study

TRANSCRIPTS, RESPONSES, JUDGEMENTS, ESTIMATES = "transcripts", "responses", "judgements", "run_estimates"


def stale_steps(benchmark: Bound) -> list[str]:
    """Return the assets of the steps of construction that are stale."""
    try:
        steps: Iterable[str] = construction.stale_steps(benchmark)
    except MetacogError:  # the step that runs into it reports what is wrong
        steps = [step.name for step in benchmark.construction()]
    return [f"{benchmark.name}_{step}" for step in steps]


def stale_stages(
    benchmark: Bound, partition: Partition, tried: Collection[str] = (), again: bool = False
) -> tuple[str, ...]:
    """Return the stages of a partition that are stale and were not tried; all of them where they are to run ``again``."""
    if again:
        judged = (JUDGEMENTS,) if judging.wanted(benchmark) is not None else ()
        stages: tuple[str, ...] = (TRANSCRIPTS, RESPONSES, *judged, ESTIMATES)
    else:
        stages = files.stale(benchmark, partition)
    if TRANSCRIPTS in stages and TRANSCRIPTS in tried:
        # Stopped on the way: what was answered is scored all the same, and nobody is asked to judge it.
        stages = (RESPONSES, ESTIMATES) if files.has_answers(partition) else ()
    if {RESPONSES, ESTIMATES} & set(tried) & set(stages):
        return ()
    return tuple(stage for stage in stages if stage not in tried)


def free_stages(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return the stages of a partition that are stale and cost nothing.

    While something is left to ask, nothing is current by its digest: then numbers are stale when answers or judgements
    were kept after them.
    """
    stages = files.stale(benchmark, partition)
    if not files.has_answers(partition):
        return ()
    free = tuple(stage for stage in stages if stage in (RESPONSES, ESTIMATES))
    if not {TRANSCRIPTS, JUDGEMENTS} & set(stages):
        return free
    kept = (partition.folder.manifest, judging.judged_as(partition).folder.manifest)
    late = _changed(files.run_estimates_path(partition)) < max(map(_changed, kept))
    return free if late else ()


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


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


def boards_stale(study: Study) -> bool:
    """Whether boards or report were built from something else than what there is."""
    page = study.home.report / PAGE
    return not (board_current(study) and report_current(study) and page.is_file())

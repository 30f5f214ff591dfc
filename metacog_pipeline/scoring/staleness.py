"""What is stale in a study: the one place that compares the digest of a file with what it would be made from now.

``metacog run``, the assets, the sensors of the UI and ``metacog status`` ask `stale`; nothing else decides. The digests are
those of `scoring.files` and `asking.construction`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.endings import REASK, UNUSABLE
from metacog_pipeline.asking.session import Partition, to_ask_again
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, file_sha256, sha256_hex, shipped, write_text
from metacog_pipeline.home import BUILT_FROM
from metacog_pipeline.scoring import comparisons, cross_benchmark, files, human_respondents, printed
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of, read_frame

TRANSCRIPTS, RESPONSES, JUDGEMENTS, ESTIMATES = "transcripts", "responses", "judgements", "run_estimates"
LEADERBOARD, REPORT = BUILT_FROM, ".report.sha256"  # what each was built from, below the home's ``study``
#: Of a model, on boards.
_SHOWN = ("name", "provider", "model", "family", "params_b", "params_active_b", "released")
#: Benchmark, model and run → its stages that are stale.
Stages = Mapping[tuple[str, str, int], tuple[str, ...]]


class StalePartition(NamedTuple):
    """A partition and its stages that are stale, of transcripts, responses, judgements and run_estimates, in order."""

    partition: Partition
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stale:
    """What is stale; ``steps`` of construction by benchmark."""

    steps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: tuple[StalePartition, ...] = ()  # to ask, read, judge or score
    compared: tuple[str, ...] = ()  # benchmarks: pooled estimates, tests, own tables, printed numbers
    leaderboard: bool = False  # with the tables over all benchmarks
    report: bool = False

    def __bool__(self) -> bool:
        made = (self.steps, self.partitions, self.compared, self.leaderboard, self.report)
        return any(map(bool, made))


def stale(study: Study) -> Stale:
    """Return what is stale in a study."""
    every = enabled(study)
    steps = {each.name: found for each in every if (found := stale_steps(each))}
    built = [each for each in every if each.name not in steps]
    stages = _stages(every)
    every_one = [
        StalePartition(one, every_stage(each) if each.name in steps else stages[_key(one)])
        for each in every
        for one in tasks.partitions(each)
    ]
    compared = tuple(each.name for each in built if comparisons_stale(each))
    boards = leaderboard_stale(study, stages), report_stale(study)
    return Stale(steps, tuple(each for each in every_one if each.stages), compared, *boards)


# --- one benchmark ----------------------------------------------------------------------------------------------------
def stale_steps(benchmark: Bound) -> tuple[str, ...]:
    """Return the steps of construction to run."""
    try:
        return tuple(construction.stale_steps(benchmark))
    except MetacogError:  # the step itself reports what is wrong
        return tuple(step.name for step in benchmark.construction())


def stale_stages(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return which stages of a partition must run, all where something is to be asked again on request."""
    asked = partition.manifest().get("fingerprint") == tasks.fingerprint(benchmark, partition)
    if not asked or _to_reask(benchmark, partition):
        return every_stage(benchmark)
    return _after_asking(benchmark, partition, judged=judging.wanted(benchmark) is not None)


def _to_reask(benchmark: Bound, partition: Partition) -> bool:
    if os.environ.get(REASK) != UNUSABLE or partition.spec.provider == "replay":
        return False
    kept = [partition, *([judging.judged_as(partition)] if judging.wanted(benchmark) is not None else [])]
    return any(to_ask_again(each.folder) for each in kept)


def free_stages(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return the stages of a partition, also of one that stopped early, that are stale and cost nothing."""
    return _after_asking(benchmark, partition, judged=False) if files.has_answers(partition) else ()


def _after_asking(benchmark: Bound, partition: Partition, *, judged: bool) -> tuple[str, ...]:
    if mark_of(partition.below("responses")) != files.response_digest(benchmark, partition):
        return (RESPONSES, *([JUDGEMENTS] if judged else []), ESTIMATES)
    if judged and not judgements_current(benchmark, partition):
        return (JUDGEMENTS, ESTIMATES)
    digest = files.scoring_digest(benchmark, partition)
    return (ESTIMATES,) if any(mark_of(path) != digest for path in files.scored_paths(partition)) else ()


def judgements_current(benchmark: Bound, partition: Partition) -> bool:
    """Whether nothing is left to ask the judges of a partition, or there are no judges."""
    wanted = judging.wanted(benchmark)
    if wanted is None:
        return True
    responses = partition.below("responses")
    kept = mark_of(partition.below("judgements"))
    if not responses.exists() or kept != files.judgement_digest(benchmark, wanted, partition):
        return False
    if wanted.prompt_digest is not None:  # all that decides the words is in the digest
        return True
    noted = judging.judged_as(partition).manifest().get("fingerprint")
    return bool(noted == judging.needed(benchmark, wanted, partition, read_frame(responses))[1])


def judgements_needed(benchmark: Bound, partition: Partition) -> tuple[int, str]:
    """Return how many judgements a partition needs and the digest of what they depend on; none before any response."""
    wanted, path = judging.wanted(benchmark), partition.below("responses")
    if wanted is None or not path.exists():
        return 0, ""
    noted = judging.judged_as(partition).manifest()  # it has both where judgements are whole
    count, whole = noted.get("n_expected"), wanted.prompt_digest is not None
    if whole and isinstance(count, int) and judgements_current(benchmark, partition):
        return count, str(noted["fingerprint"])
    return judging.needed(benchmark, wanted, partition, read_frame(path))


def comparisons_stale(benchmark: Bound) -> bool:
    """Whether results over all models of a benchmark are of other responses, or what is printed is missing."""
    models, paths = files.scored_partitions(benchmark), files.compared_paths(benchmark).values()
    if printed.stale(benchmark) or (not models and any(path.exists() for path in paths)):
        return True
    pooled = {
        files.model_estimates_path(benchmark, model): files.pooling_digest(benchmark, own)
        for model, own in models.items()
    }
    compared = dict.fromkeys(paths, files.comparison_digest(benchmark)) if models else {}
    return any(mark_of(path) != digest for path, digest in (pooled | compared).items())


def every_stage(benchmark: Bound) -> tuple[str, ...]:
    """Return all stages of a partition, in order."""
    judged = (JUDGEMENTS,) if judging.wanted(benchmark) is not None else ()
    return (TRANSCRIPTS, RESPONSES, *judged, ESTIMATES)


def _stages(benchmarks: Sequence[Bound]) -> Stages:
    """Return the stale stages of every partition; none without items, for then nothing was asked."""
    found: dict[tuple[str, str, int], tuple[str, ...]] = {}
    for benchmark in benchmarks:
        for each in tasks.partitions(benchmark):
            found[_key(each)] = ()
            with contextlib.suppress(MetacogError):
                found[_key(each)] = stale_stages(benchmark, each)
    return found


def _key(partition: Partition) -> tuple[str, str, int]:
    return partition.benchmark, partition.spec.name, partition.run


# --- the boards -------------------------------------------------------------------------------------------------------
def leaderboard_digest(study: Study, stages: Stages | None = None) -> str:
    """Return the digest of what a leaderboard is built from now: its SQL, the listed models, states, and derived files."""
    every = enabled(study)
    known = _stages(every) if stages is None else stages
    files_of_sql = sorted(shipped("dbt_like_sql").rglob("*.sql"))
    sql = [[path.name, sha256_hex(path.read_bytes())] for path in files_of_sql]
    rules = [cross_benchmark.VERSION, human_respondents.VERSION, comparisons.VERSION]
    listed = [[getattr(spec, name) for name in _SHOWN] for spec in study.models]
    parts = [part for benchmark in every for part in _inputs(benchmark, known)]
    return sha256_hex(canonical_json([sql, rules, listed, parts]))


def _inputs(benchmark: Bound, stages: Stages) -> Iterator[Sequence[object]]:
    people = human_respondents.path_of(benchmark.study.home, benchmark.name)
    # Not the digest inside the file: that is of the whole table it was read from, kept or not.
    yield [benchmark.name, file_sha256(people) if people.exists() else None, *printed.marks(benchmark)]
    for each in tasks.partitions(benchmark):
        own = stages[_key(each)]
        yield [*_state(each), TRANSCRIPTS in own, mark_of(files.run_estimates_path(each))]
        if judging.wanted(benchmark) is not None:
            yield [*_state(judging.judged_as(each)), JUDGEMENTS in own]


def _state(partition: Partition) -> list[object]:
    noted = partition.manifest()
    return [*_key(partition), noted.get("state"), noted.get("finished_at")]


def leaderboard_stale(study: Study, stages: Stages | None = None) -> bool:
    """Whether the leaderboard was built from something else than what there is now, or is not the file that was built."""
    made = study.home.leaderboard
    if not made.exists():
        return True
    return noted(study, LEADERBOARD) != f"{leaderboard_digest(study, stages)} {file_sha256(made)}"


def report_stale(study: Study) -> bool:
    """Whether the report was made of another leaderboard than the one there is, or is gone."""
    made_of = noted(study, REPORT)
    return not made_of or made_of != noted(study, LEADERBOARD) or not study.home.page.is_file()


@contextlib.contextmanager
def noted_report(study: Study) -> Iterator[None]:
    """Write down at the end of which leaderboard the report was made: the one of its beginning."""
    made_of = noted(study, LEADERBOARD)
    yield
    write_text(study.home.status / REPORT, made_of)


def noted(study: Study, name: str) -> str:
    """Return what was written down of the leaderboard or the report; nothing before that."""
    try:
        return (study.home.status / name).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def note_leaderboard(study: Study, digest: str) -> None:
    """Write down what the leaderboard was just built from, and the digest of the file: files get damaged."""
    write_text(study.home.status / LEADERBOARD, f"{digest} {file_sha256(study.home.leaderboard)}")


def forget(study: Study) -> None:
    """Let the next run rebuild the leaderboard and the report in any case."""
    (study.home.status / LEADERBOARD).unlink(missing_ok=True)

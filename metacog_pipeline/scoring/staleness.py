"""What is stale in a study: the one place that compares the digest of a file with what it would be made from now.

Every derived file carries one digest, of its inputs' digests, the settings that affect its stage, the seed and the stage's
version (`scoring.files`, `asking.construction`). ``metacog run``, the assets, the sensors of the UI and ``metacog status``
ask `stale`; nothing else decides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from metacog_pipeline.asking import construction, judging, roles, tasks
from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import canonical_json, sha256_hex, shipped, write_text
from metacog_pipeline.scoring import choices, comparisons, cross_benchmark, files, people, printed
from metacog_pipeline.study import Study
from metacog_pipeline.study.frames import mark_of, read_frame

TRANSCRIPTS, RESPONSES, JUDGEMENTS, ESTIMATES = "transcripts", "responses", "judgements", "run_estimates"
_SHOWN = (
    "name",
    "provider",
    "model",
    "family",
    "params_b",
    "params_active_b",
    "released",
)  # of a model, on boards
LEADERBOARD, REPORT = "board.sha256", ".report.sha256"  # what each was built from, below the home's ``study``


@dataclass(frozen=True, slots=True)
class StalePartition:
    """A partition and its stages that are stale, of transcripts, responses, judgements and run_estimates, in order."""

    partition: Partition
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stale:
    """What has to be made again.

    Attributes
    ----------
    steps
        By benchmark, the steps of construction, in order.
    waiting
        By benchmark, the later conditions whose items are not chosen yet.
    partitions
        Partitions to ask, read, judge or score.
    compared
        Benchmarks whose pooled estimates, tests between models, own tables or printed numbers are stale.
    leaderboard, report
        Whether each was built from something else than what there is; the leaderboard includes what stands over benchmarks.
    """

    steps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waiting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: tuple[StalePartition, ...] = ()
    compared: tuple[str, ...] = ()
    leaderboard: bool = False
    report: bool = False

    def __bool__(self) -> bool:
        return bool(
            self.steps or self.waiting or self.partitions or self.compared or self.leaderboard or self.report
        )


def stale(study: Study, benchmarks: Collection[str] = ()) -> Stale:
    """Return what is stale in a study, of ``benchmarks`` only where some are named."""
    chosen = [each for each in enabled(study) if not benchmarks or each.name in benchmarks]
    steps = {each.name: found for each in chosen if (found := stale_steps(each))}
    built = [each for each in chosen if each.name not in steps]
    waiting = {each.name: found for each in built if (found := tuple(c.name for c in choices.waiting(each)))}
    partitions = [
        StalePartition(partition, stages)
        for each in chosen
        for partition in tasks.partitions(each)
        if (stages := _every_stage(each) if each.name in steps else stale_stages(each, partition))
    ]
    return Stale(
        steps,
        waiting,
        tuple(partitions),
        tuple(each.name for each in built if comparisons_stale(each)),
        leaderboard_stale(study),
        report_stale(study),
    )


# --- one benchmark ----------------------------------------------------------------------------------------------------
def stale_steps(benchmark: Bound) -> tuple[str, ...]:
    """Return the steps of construction to run; all where that cannot be found out: the step reports what is wrong."""
    try:
        return tuple(construction.stale_steps(benchmark))
    except MetacogError:
        return tuple(step.name for step in benchmark.construction())


def stale_stages(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return which stages of a partition must run."""
    if partition.manifest().get("fingerprint") != tasks.fingerprint(benchmark, partition):
        return _every_stage(benchmark)
    judged = (JUDGEMENTS,) if judging.wanted(benchmark) is not None else ()
    if mark_of(judging.responses_path(partition)) != files.read_from(benchmark, partition):
        return (RESPONSES, *judged, ESTIMATES)
    if judged and not judgements_current(benchmark, partition):
        return (JUDGEMENTS, ESTIMATES)
    mark = files.scored_from(benchmark, partition)
    if any(mark_of(path) != mark for path in files.scored_paths(partition)):
        return (ESTIMATES,)
    return ()


def free_stages(benchmark: Bound, partition: Partition) -> tuple[str, ...]:
    """Return the stages of a partition that are stale and cost nothing: what is kept of it can be read and scored.

    A partition that stopped early stays stale as a whole; then its files are compared with what was kept since.
    """
    if not files.has_answers(partition):
        return ()
    if mark_of(judging.responses_path(partition)) != files.read_from(benchmark, partition):
        return (RESPONSES, ESTIMATES)
    mark = files.scored_from(benchmark, partition)
    return (ESTIMATES,) if any(mark_of(path) != mark for path in files.scored_paths(partition)) else ()


def judgements_current(benchmark: Bound, partition: Partition) -> bool:
    """Whether nothing is left to ask the judges of a partition, or nobody is to judge."""
    wanted = judging.wanted(benchmark)
    if wanted is None:
        return True
    responses = judging.responses_path(partition)
    kept = mark_of(judging.judgements_path(benchmark.context.home, partition))
    if not responses.exists() or kept != files.judged_from(benchmark, wanted, partition):
        return False
    if wanted.worded_by is not None:  # all that decides the words is in the digest
        return True
    noted = judging.judged_as(partition).manifest().get("fingerprint")
    return bool(noted == judging.needed(benchmark, wanted, partition, read_frame(responses))[1])


def judgements_needed(benchmark: Bound, partition: Partition) -> tuple[int, str]:
    """Return how many judgements a partition needs and the digest of what they depend on; none before any response.

    The manifest of judgements that are whole has both; only for others it is worked out what judges are to be asked.
    """
    wanted, path = judging.wanted(benchmark), judging.responses_path(partition)
    if wanted is None or not path.exists():
        return 0, ""
    noted = judging.judged_as(partition).manifest()
    count = noted.get("n_expected")
    if wanted.worded_by is not None and isinstance(count, int) and judgements_current(benchmark, partition):
        return count, str(noted["fingerprint"])
    return judging.needed(benchmark, wanted, partition, read_frame(path))


def comparisons_stale(benchmark: Bound) -> bool:
    """Whether what stands over all models of a benchmark was made from other responses, or what is printed is missing."""
    models = files.scored_partitions(benchmark)
    if not models:
        return bool(printed.stale(benchmark)) or any(
            path.exists() for path in files.compared_paths(benchmark).values()
        )
    mark = files.compared_from(benchmark)
    if any(mark_of(path) != mark for path in files.compared_paths(benchmark).values()):
        return True
    pooled = (
        mark_of(files.model_estimates_path(benchmark, model)) == files.pooled_from(benchmark, own)
        for model, own in models.items()
    )
    return not all(pooled) or printed.stale(benchmark)


def _every_stage(benchmark: Bound) -> tuple[str, ...]:
    judged = (JUDGEMENTS,) if judging.wanted(benchmark) is not None else ()
    return (TRANSCRIPTS, RESPONSES, *judged, ESTIMATES)


# --- the boards -------------------------------------------------------------------------------------------------------
def leaderboard_digest(study: Study) -> str:
    """Return the digest of what a leaderboard is built from now: its SQL, the listed models, states, and derived files."""
    sql = [
        [path.name, sha256_hex(path.read_bytes())] for path in sorted(shipped("dbt_like_sql").rglob("*.sql"))
    ]
    rules = [cross_benchmark.VERSION, people.VERSION, comparisons.VERSION]
    listed = [[getattr(spec, name) for name in _SHOWN] for spec in study.models]
    parts = [part for benchmark in enabled(study) for part in _inputs(benchmark)]
    return sha256_hex(canonical_json([sql, rules, listed, parts]))


def _inputs(benchmark: Bound) -> Iterator[Sequence[object]]:
    """Yield what a benchmark gives to the leaderboard: states of partitions, marks of files."""
    yield [benchmark.name, people.mark(benchmark), *printed.marks(benchmark)]
    for each in tasks.partitions(benchmark):
        stages: Sequence[str] = ()
        with contextlib.suppress(MetacogError):  # without items nothing was asked that could be stale
            stages = stale_stages(benchmark, each)
        yield [*_state(each), TRANSCRIPTS in stages, mark_of(files.run_estimates_path(each))]
        if judging.wanted(benchmark) is not None:
            yield [*_state(judging.judged_as(each)), JUDGEMENTS in stages]
    known = {step.name: True for step in benchmark.construction()}
    for role in roles.partitions(benchmark, known, construction.KeptInputs(benchmark)):
        yield _state(role.partition)


def _state(partition: Partition) -> list[object]:
    noted = partition.manifest()
    return [
        partition.benchmark,
        partition.spec.name,
        partition.run,
        noted.get("state"),
        noted.get("finished_at"),
    ]


def leaderboard_stale(study: Study) -> bool:
    """Whether the leaderboard was built from something else than what there is now."""
    return not study.home.leaderboard.exists() or noted(study, LEADERBOARD) != leaderboard_digest(study)


def report_stale(study: Study) -> bool:
    """Whether the report was made of another leaderboard than the one there is, or is gone."""
    made_of = noted(study, REPORT)
    return not made_of or made_of != noted(study, LEADERBOARD) or not study.home.page.is_file()


def boards_stale(study: Study) -> bool:
    """Whether the leaderboard or the report is stale."""
    return leaderboard_stale(study) or report_stale(study)


@contextlib.contextmanager
def noted_report(study: Study) -> Iterator[None]:
    """Write down at the end of which leaderboard the report was made: the one of its beginning."""
    made_of = noted(study, LEADERBOARD)
    yield
    note(study, REPORT, made_of)


def noted(study: Study, name: str) -> str:
    """Return the digest that `note` wrote down; nothing before that."""
    try:
        return (study.home.status / name).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def note(study: Study, name: str, digest: str) -> None:
    """Write down what the leaderboard or the report was just built from."""
    write_text(study.home.status / name, digest)


def forget(study: Study) -> None:
    """Let the next run build the leaderboard and the report, whatever they were built from."""
    (study.home.status / LEADERBOARD).unlink(missing_ok=True)

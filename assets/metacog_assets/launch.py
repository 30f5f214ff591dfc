"""Run a study: launch the Dagster runs that are needed, from this one process, against the study's own instance.

``python -m metacog_assets`` with ``METACOG_STUDY`` and ``DAGSTER_HOME`` set; the ``metacog run`` command does that.
What must run is read from the marks of the files; the graph says the rest.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from metacog_assets import outcomes
from metacog_assets.answer_assets import later_arms
from metacog_assets.benchmark_assets import asking_names
from metacog_assets.rectangles import Rectangle, rectangles
from metacog_assets.reporting import SOME_FAILED
from metacog_assets.request import BY, COMMAND
from metacog_assets.sensors import sync_partitions
from metacog_assets.study_file import Bound, bound
from metacog_pipeline import registry
from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.asking.session import WAITING, Partition
from metacog_pipeline.asking.unusable import to_ask_again
from metacog_pipeline.asking.variables import REASK, UNUSABLE
from metacog_pipeline.errors import MetacogError, StudyError
from metacog_pipeline.scoring import choices, files
from metacog_pipeline.study import Study
from metacog_pipeline.study.left_out import left_out

STOPPED = 130
TRANSCRIPTS, RESPONSES, JUDGEMENTS, ESTIMATES = "transcripts", "responses", "judgements", "run_estimates"
STAGES = (TRANSCRIPTS, RESPONSES, JUDGEMENTS, ESTIMATES)
PAID = (TRANSCRIPTS, JUDGEMENTS)
MOST_PASSES = 4
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(slots=True)
class Launcher:
    """Launches runs one after another and remembers what went wrong, by what was being done."""

    study: Study
    instance: dg.DagsterInstance
    quiet: bool = False
    reask: bool = False
    stay: bool = False  # whoever launches goes on with batches when they have ended
    waiting: bool = False
    launched: int = 0
    exit_code: int = 0
    failures: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            with contextlib.suppress(OSError):  # nobody listens any more: no reason to stop what is paid for
                print(line, file=sys.stderr, flush=True)

    def fail(self, what: str, reason: str, code: int = SOME_FAILED) -> None:
        """Remember a failure. Failures of one kind keep their exit code; different ones are "some failed"."""
        self.waiting |= code == WAITING
        if code == WAITING and self.stay:
            self.say(f"{what}: {reason}")
            return
        self.failures.append(f"{what}: {reason}")
        self.exit_code = code if self.exit_code in (0, code) else SOME_FAILED

    def run(
        self, job: str, what: str, assets: Iterable[dg.AssetKey], rectangle: Rectangle | None = None
    ) -> dg.ExecuteInProcessResult:
        """Launch one run and remember what failed in it."""
        from metacog_assets.definitions import defs

        self.say(f"{what} ...")
        self.launched += 1
        result = defs.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            partition_key=rectangle.key if rectangle is not None else None,
            asset_selection=sorted(assets),
            run_config=QUIET,
            raise_on_error=False,
            tags={BY: COMMAND, **(rectangle.tags if rectangle is not None else {})},
        )
        if outcomes.was_interrupted(result):
            raise KeyboardInterrupt  # in the middle of something: nothing more is started
        for each in (*outcomes.failures_of(result), *outcomes.left_empty(result)):
            self.fail(each.what, each.reason, each.exit_code)
        return result


@registry.aside()
def launch(
    launcher: Launcher,
    benchmarks: Sequence[str] = (),
    models: Sequence[str] = (),
    runs: Sequence[int] = (),
    force: bool = False,
) -> int:
    """Launch the runs that are needed; return the exit code."""
    from metacog_assets.publishing import publish

    study = launcher.study
    if launcher.reask:
        os.environ[REASK] = UNUSABLE
    sync_partitions(study, launcher.instance)
    chosen = usable(launcher, benchmarks)
    built = build_items(launcher, chosen, force)
    lost = len(launcher.failures)  # of benchmarks that are not asked
    asked = changed = 0
    for each in built:
        with named_failure(launcher, each.name):
            wanted = [
                partition
                for partition in tasks.partitions(each)
                if (not models or partition.spec.name in models) and (not runs or partition.run in runs)
            ]
            asked += len(wanted)
            changed += measure(launcher, each, wanted, force)
    if launcher.exit_code not in (0, WAITING) and len(launcher.failures) - lost < asked:
        launcher.exit_code = SOME_FAILED  # others are finished
    if INTERRUPTED.is_set():
        launcher.say("stopped: what was answered is kept, the boards are as they were; run again to go on")
    elif built:
        publish(launcher, force or changed > 0)
    if not launcher.launched:
        launcher.say("everything is up to date; nothing was asked")
    for failure in launcher.failures:
        print(f"metacog: {failure}", file=sys.stderr)
    return STOPPED if INTERRUPTED.is_set() else launcher.exit_code


def usable(launcher: Launcher, benchmarks: Sequence[str] = ()) -> list[Bound]:
    """Return the benchmarks to run; of those whose package is broken it is remembered that they are left out."""
    study = launcher.study
    for name in left_out(study):
        if not benchmarks or name in benchmarks:
            launcher.fail(name, "left out, for the reason that was said at the start")
    # The file may have changed since this process loaded the definitions: what it asks for now counts.
    found = []
    for name in study.enabled:
        if not benchmarks or name in benchmarks:
            with named_failure(launcher, name):
                found.append(in_graph(bound(name)))
    return found


def in_graph(benchmark: Bound) -> Bound:
    """Return the benchmark; StudyError where it is a stranger's and no assets could be made of it."""
    if not registry.is_ours(benchmark.name):
        from metacog_assets.benchmarks import LEFT_OUT

        if benchmark.name in LEFT_OUT:
            raise StudyError(LEFT_OUT[benchmark.name])
    return benchmark


@contextlib.contextmanager
def named_failure(launcher: Launcher, name: str) -> Iterator[None]:
    """Remember an error made for users as one of benchmark ``name``: the others go on."""
    try:
        yield
    except MetacogError as error:
        launcher.fail(name, str(error), error.exit_code)


def nothing_left(launcher: Launcher) -> bool:
    """Whether a run of the whole study would find nothing to do."""
    from metacog_assets.publishing import published

    benchmarks = [bound(name) for name in launcher.study.enabled]
    return not any(
        stale_steps(launcher.instance, each, False)
        or choices.waiting(each)
        or any(files.stale(each, partition) for partition in _unasked_first(each))
        for each in benchmarks
    ) and published(launcher.study)


def _unasked_first(benchmark: Bound) -> list[Partition]:
    """Return the partitions, those that nobody asked yet first: they are stale, and no other needs to be looked at."""
    return sorted(tasks.partitions(benchmark), key=lambda each: bool(each.manifest()))


def build_items(launcher: Launcher, benchmarks: Sequence[Bound], force: bool) -> list[Bound]:
    """Make what is stale of the items of all benchmarks, in one run; return those whose items are there."""
    todo = {each.name: stale_steps(launcher.instance, each, force) for each in benchmarks}
    keys = {dg.AssetKey(f"{name}_{step}") for name, steps in todo.items() for step in steps}
    if not keys:
        return list(benchmarks)
    asking = {f"{each.name}_{step.name}" for each in benchmarks for step in each.construction() if step.asks}
    paid = any(key.path[-1] in asking for key in keys)
    names = ", ".join(name for name, steps in todo.items() if steps)
    result = launcher.run("generate_items" if paid else "build_items", f"{names}: building the items", keys)
    there = outcomes.made(result)
    return [
        each
        for each in benchmarks
        if {
            dg.AssetKey(f"{each.name}_{step}")
            for step in todo[each.name]
            if step in construction.for_items(each)
        }
        <= there
    ]


def stale_steps(instance: dg.DagsterInstance, benchmark: Bound, force: bool) -> list[str]:
    """Return the steps to run. Another command may have run them already: the graph must show it all the same."""
    steps = [step.name for step in benchmark.construction()]
    made = instance.get_latest_materialization_event(dg.AssetKey(f"{benchmark.name}_{steps[-1]}"))
    if force or made is None:
        return steps
    try:
        return list(construction.stale_steps(benchmark))
    except MetacogError:  # the step that runs into it says what is wrong
        return steps


def measure(launcher: Launcher, benchmark: Bound, wanted: Sequence[Partition], force: bool) -> bool:
    """Ask, read, judge and score what is stale; return whether there was anything to do.

    What fails on the way does not keep the rest from being scored: what was answered is shown, with its coverage.
    """
    tried: dict[tuple[str, int], set[str]] = {(each.spec.name, each.run): set() for each in wanted}
    before = launcher.launched
    again = force
    unusable = [each for each in wanted if launcher.reask and _to_reask(benchmark, each)]
    open_ = wanted
    for _ in range(MOST_PASSES):
        left = [
            (each, todo(benchmark, each, tried[each.spec.name, each.run], again or each in unusable))
            for each in open_
        ]
        open_ = [each for each, stages in left if stages]  # nothing done here changes the others
        again, unusable = False, []
        if INTERRUPTED.is_set() or not any(stages for _, stages in left):
            break
        _pass(launcher, benchmark, left, tried)
    if (
        choices.waiting(benchmark)
        and not INTERRUPTED.is_set()
        and wanted
        and not choices.unanswered(benchmark)
    ):
        _later_arms(launcher, benchmark, wanted)
    if launcher.launched > before:
        for each in wanted:
            report_missing(launcher, benchmark, each)
    return launcher.launched > before


def todo(benchmark: Bound, partition: Partition, tried: Collection[str], again: bool) -> tuple[str, ...]:
    """Return the stages of a partition that must run and were not tried yet."""
    stages = _stages(benchmark) if again else files.stale(benchmark, partition)
    if not tried:
        return stages
    if TRANSCRIPTS in stages and TRANSCRIPTS in tried:
        # Stopped on the way: what was answered is shown all the same, and nobody is asked to judge it.
        stages = (RESPONSES, ESTIMATES) if files.has_answers(partition) else ()
    return (
        ()
        if {RESPONSES, ESTIMATES} & set(tried) & set(stages)
        else tuple(s for s in stages if s not in tried)
    )


def _to_reask(benchmark: Bound, partition: Partition) -> bool:
    """Whether answers or judgements of a partition are to be asked again on request."""
    if to_ask_again(partition.folder) and partition.spec.provider != "replay":
        return True
    return judging.wanted(benchmark) is not None and bool(to_ask_again(judging.judged_as(partition).folder))


def _stages(benchmark: Bound) -> tuple[str, ...]:
    judged = judging.wanted(benchmark) is not None
    return tuple(stage for stage in STAGES if judged or stage != JUDGEMENTS)


def _pass(
    launcher: Launcher,
    benchmark: Bound,
    todo: Sequence[tuple[Partition, tuple[str, ...]]],
    tried: dict[tuple[str, int], set[str]],
) -> None:
    """Launch one run per set of stages and rectangle of partitions."""
    for stages in dict.fromkeys(stages for _, stages in todo if stages):
        own = [each for each, needed in todo if needed == stages]
        for rectangle in rectangles(own, launcher.instance):
            if INTERRUPTED.is_set():
                return
            result = _measured(launcher, benchmark, stages, rectangle)
            begun = outcomes.started(result)
            for each in own:
                if each in rectangle:
                    tried[each.spec.name, each.run] |= {
                        stage for stage in stages if f"{benchmark.name}_{stage}" in begun
                    }


def _measured(
    launcher: Launcher,
    benchmark: Bound,
    stages: Sequence[str],
    rectangle: Rectangle,
    more: Iterable[str] = (),
) -> dg.ExecuteInProcessResult:
    assets = [*assets_of(benchmark, stages), *map(dg.AssetKey, more)]
    job = "ask" if more else job_of(stages)
    return launcher.run(job, f"{benchmark.name}: {rectangle}", assets, rectangle)


def assets_of(benchmark: Bound, stages: Sequence[str]) -> list[dg.AssetKey]:
    """Return the assets of these stages; whoever asks also asks the arms whose items are chosen."""
    names = [f"{benchmark.name}_{stage}" for stage in stages]
    if TRANSCRIPTS in stages and not choices.waiting(benchmark):
        names += asking_names(benchmark)[1:]
    return [dg.AssetKey(name) for name in names]


def job_of(stages: Collection[str]) -> str:
    """Return the job that holds these stages."""
    return "ask" if set(PAID) & set(stages) else "score"


def _later_arms(launcher: Launcher, benchmark: Bound, wanted: Sequence[Partition]) -> None:
    """Choose what the later arms ask, now that every model has answered, and ask it."""
    choosing = [f"{benchmark.name}_{arm}_choice" for arm in later_arms(benchmark)]
    for rectangle in rectangles(wanted, launcher.instance):
        names = [*choosing, *asking_names(benchmark)[1:]]
        _measured(launcher, benchmark, _stages(benchmark)[1:], rectangle, names)
        choosing = []  # chosen once, for all


def report_missing(launcher: Launcher, benchmark: Bound, partition: Partition) -> None:
    """Say what has no answer, or no judgement, after all went well otherwise."""
    what = f"{benchmark.name}: {partition.spec.name}, run {partition.run}"
    state = partition.manifest()
    if state.get("state") == "incomplete":
        if partition.spec.provider == "replay":
            scored = "what is there is scored with its coverage (allow_incomplete = true)"
            if not benchmark.settings.allow_incomplete:
                scored = f"import the rest, or set allow_incomplete = true in [benchmarks.{benchmark.name}]"
            launcher.say(f"{what}: {state.get('message')}; {scored}")
        else:
            launcher.fail(what, _missing(state))
    if state.get("state") == "complete" and judging.wanted(benchmark) is not None:
        judged = judging.judged_as(partition).manifest()
        if judged.get("state") == "incomplete":
            launcher.fail(f"{what}, judgements", _missing(judged))


def _missing(manifest: Mapping[str, object]) -> str:
    """Return what is missing and what to do; where everything is answered the message says that itself."""
    all_there = manifest.get("n_answered") == manifest.get("n_expected")
    return str(manifest.get("message")) + ("" if all_there else "; run again to ask for the rest")

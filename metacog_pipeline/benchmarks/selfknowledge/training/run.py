"""A whole run: generations, the log, checkpoints after the update, the last weights always, curves, a progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from metacog_pipeline.benchmarks.selfknowledge.training import curves
from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Settings, Tried, commit_of
from metacog_pipeline.benchmarks.selfknowledge.training.figures import (
    Figures,
    cause,
    distinct,
    is_dead,
    together,
)
from metacog_pipeline.benchmarks.selfknowledge.training.log import COMMITS, FIGURES, Events, Generation, Log
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.benchmarks.selfknowledge.training.seeds import Individual
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Committed
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.files import OF_DISKS, making_folder

#: Settings a run may be continued with although they changed: only how long it goes.
_MAY_CHANGE = "generations"


class Engine(Protocol):
    """Who evaluates the population and holds the weights: a worker in this process, or a pool of them."""

    def evaluate(self, t: int, individuals: Sequence[Individual], sigma: float) -> list[Tried]:
        """Return what became of each individual."""

    def commit(self, commit: Commit, whole: bool = True) -> Committed:
        """Make the update; return what it left, with the digest of all weights where ``whole``."""

    def replay(self, commits: Sequence[Commit]) -> str:
        """Make updates made before; return the digest of the weights."""

    def validate(self) -> EpisodeReward | None:
        """Return what the model does on questions held out."""

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""

    def load(self, folder: Path) -> str:
        """Take the weights of a folder; return their digest."""

    def digest(self) -> str:
        """Return the digest of the weights."""

    def close(self) -> None:
        """Let go of everything."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is kept of a run beside its log."""

    folder: Path
    # checkpoint_every, evaluate_every: generations between checkpoints, and between looks at the questions held out;
    # both also happen at the end. 0 means at the end only
    checkpoint_every: int = 60
    evaluate_every: int = 60
    # whatever is worth keeping about model and questions; JSON values. A run is continued only under the same
    about: Mapping[str, Any] = field(default_factory=dict)
    # generations between digests of all weights, which are also made at every checkpoint; of a sample after each one
    digest_every: int = 10
    patience: int = 5  # generations in a row without an update after which the run stops; 0: never

    def due(self, every: int, updates: int, last: int) -> bool:
        """Whether something done ``every`` so many generations is due after that many updates."""
        return updates == last or (every > 0 and updates % every == 0)


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished run: its folder, that of the last weights, their digest, what base and last do on held-out questions."""

    folder: Path
    checkpoint: Path
    digest: str
    base: EpisodeReward | None
    held_out: EpisodeReward | None

    def models(self) -> list[tuple[str, EpisodeReward]]:
        """Return both by name, where there were questions held out."""
        both = (("base", self.base), ("trained", self.held_out))
        return [(name, held) for name, held in both if held is not None]


class Stalled(MetacogError):
    """Nothing changed for too many generations in a row; all that was done is kept."""


def train(
    settings: Settings,
    plan: Plan,
    engine: Engine,
    *,
    resume: bool = False,
    from_checkpoint: int | None = None,
    done: Callable[[int], None] | None = None,
    tell: Callable[[Figures], None] | None = None,
) -> Trained:
    """Run all generations, or those that are missing; ``tell`` hears the figures of each, ``done`` how many there are.

    Raises Stalled when nothing changed for as many generations as the plan has patience; weights, log and curves are
    written.
    """
    log = Log(plan.folder)
    try:
        earlier = _begun(log, settings, plan, engine, resume, from_checkpoint)
        if done:
            done(len(earlier))
        _generations(settings, plan, log, engine, earlier, done, tell)
        curves.write(plan.folder / curves.FILE, settings, log.base(), earlier)
        last = len(earlier)
        _save(log, engine, last)
        log.point(last)
    except OSError as error:
        if error.errno not in OF_DISKS:
            raise
        where = error.filename or plan.folder
        raise StoreError(f"{where}: {error.strerror}; free space, then go on (--resume)") from error
    if last < settings.generations:
        raise Stalled(_why(log, settings, plan, earlier))
    held = earlier[-1].held_out if earlier else log.base()
    return Trained(plan.folder, log.checkpoint(last), engine.digest(), log.base(), held)


def _begun(
    log: Log, settings: Settings, plan: Plan, engine: Engine, resume: bool, at: int | None
) -> list[Generation]:
    """Begin the run, or bring the engine to the end of the one that is there; return the generations done."""
    known = log.about()
    if known is None:
        _refuse_foreign(plan.folder)
        log.start(settings, engine.digest(), engine.validate(), plan.about)
        return []
    if not resume:
        raise StudyError(f"{plan.folder}: holds a run; go on with it (--resume) or take another folder")
    _same_run(log, known, settings, plan, engine)
    earlier = _caught_up(log, engine, settings, at)
    log.lengthen(settings)
    if earlier and plan.due(plan.checkpoint_every, len(earlier), settings.generations):
        _save(log, engine, len(earlier))  # a run killed between log and checkpoint
    return earlier


def _generations(
    settings: Settings,
    plan: Plan,
    log: Log,
    engine: Engine,
    earlier: list[Generation],
    done: Callable[[int], None] | None,
    tell: Callable[[Figures], None] | None,
) -> None:
    """Add the generations that are missing to ``earlier``, until there are no more or the run stalls."""
    events, begun, first = Events(plan.folder, len(earlier)), time.perf_counter(), len(earlier)
    try:
        while len(earlier) < settings.generations and not _is_stalled(plan, earlier):
            t = len(earlier)
            generation, figures = _generation(settings, plan, log, engine, t)
            earlier.append(generation)
            pace = (time.perf_counter() - begun) / (t + 1 - first)
            figures = replace(figures, eta_s=pace * (settings.generations - t - 1))
            log.tell(figures.numbers())
            events.add(figures)
            if tell:
                tell(figures)
            if done:
                done(t + 1)
    finally:
        events.close()


def _generation(
    settings: Settings, plan: Plan, log: Log, engine: Engine, t: int
) -> tuple[Generation, Figures]:
    begun = time.perf_counter()
    tried = engine.evaluate(t, settings.individuals(t), settings.sigma)
    asked_s, outcome = time.perf_counter() - begun, together([each.outcome for each in tried])
    commit = commit_of(settings, t, [each.fitness for each in tried])
    # A run that stalls is kept where it stands, so that its weights can be checked too.
    whole = is_dead(commit) or any(
        plan.due(every, t + 1, settings.generations) for every in (plan.digest_every, plan.checkpoint_every)
    )
    made = engine.commit(commit, whole)
    commit = replace(commit, digest=made.digest, sample=made.sample)
    looked = plan.due(plan.evaluate_every, t + 1, settings.generations)
    found = Generation(
        commit,
        outcome,
        engine.validate() if looked else None,
        time.perf_counter() - begun,
    )
    log.append(found)
    if plan.due(plan.checkpoint_every, t + 1, settings.generations):
        _save(log, engine, t + 1)
    return found, Figures(
        updates=t + 1,
        reward=sum(commit.fitness) / len(commit.fitness),
        outcome=outcome,
        population=len(commit.fitness),
        distinct=distinct(commit.fitness),
        update_norm=made.norm,
        seconds=found.seconds,
        questions_per_s=outcome.n / max(asked_s, 1e-9),
        eta_s=0.0,
        held_out=found.held_out,
    )


def _is_stalled(plan: Plan, earlier: Sequence[Generation]) -> bool:
    last = earlier[-plan.patience :] if plan.patience else ()
    return 0 < plan.patience == len(last) and all(is_dead(each.commit) for each in last)


def _why(log: Log, settings: Settings, plan: Plan, earlier: Sequence[Generation]) -> str:
    counts = together([each.outcome for each in earlier[-plan.patience :]])
    why = cause(counts, settings.reward, settings.sigma, log.base())
    return (
        f"{log.folder}: stopped after {len(earlier)} of {settings.generations} generations, as the last {plan.patience} "
        f"changed nothing, every individual having earned the same: {why}. Weights and log are kept; --resume --patience 0 "
        "goes on"
    )


def _save(log: Log, engine: Engine, updates: int) -> None:
    """Write a checkpoint so that its folder is whole or absent."""
    final = log.checkpoint(updates)
    if final.is_dir():
        return
    with making_folder(final) as temporary:
        engine.save(temporary)


def _caught_up(log: Log, engine: Engine, settings: Settings, at: int | None) -> list[Generation]:
    """Bring the engine's weights to the end of the log, from the best checkpoint; return the generations done."""
    earlier = log.read()
    if len(earlier) > settings.generations:
        raise StudyError(
            f"{log.folder}: the run there has gone through {len(earlier)} generations; give that many or more"
        )
    if at is not None:
        if at not in (0, *log.checkpoints()):
            raise StudyError(
                f"{log.folder}: no checkpoint after {at} updates; there are: {log.checkpoints()}"
            )
        earlier = earlier[:at]
    log.keep(earlier)
    log.sweep()
    usable = [updates for updates in log.checkpoints() if updates <= len(earlier)]
    begin = usable[-1] if usable else 0
    if begin:
        digest = engine.load(log.checkpoint(begin))
        if digest != earlier[begin - 1].commit.digest:
            raise StoreError(
                f"{log.checkpoint(begin)}: weights {digest}, the log has {earlier[begin - 1].commit.digest}: the "
                "files were changed; remove the folder to replay the log instead"
            )
    if earlier[begin:]:
        engine.replay([each.commit for each in earlier[begin:]])
    return earlier


def _same_run(log: Log, known: Mapping[str, Any], settings: Settings, plan: Plan, engine: Engine) -> None:
    wanted, there = asdict(settings), {**asdict(Settings()), **known["settings"]}  # older runs have fewer
    for name, value in wanted.items():
        longer = name == _MAY_CHANGE and settings.schedule == "constant"
        if there.get(name) != value and not longer:
            raise StudyError(f"{log.folder}: the run there has {name} = {there.get(name)}, not {value}")
    if known.get("about", {}) != dict(plan.about):
        raise StudyError(
            f"{log.folder}: the run there has other questions or another model; take another folder"
        )
    if known["base"] != (digest := engine.digest()):
        raise StudyError(
            f"{log.folder}: the run there began with weights {known['base']}, these are {digest}"
        )


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder with something in it that no run killed at its very beginning leaves: empty logs, hidden files."""
    if folder.exists() and (
        not folder.is_dir()
        or any(
            not each.name.startswith(".") and (each.name not in (COMMITS, FIGURES) or each.stat().st_size)
            for each in folder.iterdir()
        )
    ):
        raise StudyError(f"{folder}: not empty, and no run; take another folder")

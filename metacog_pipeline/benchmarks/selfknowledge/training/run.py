"""A whole run: generations, a durable log, checkpoints after the update, learning curves; it goes on where it stopped.

::

    run.json            settings, digest of the base weights, what model and questions are, base on held-out questions
    commits.jsonl       one line per generation, durable before the next one starts; with the base weights it is the run
    curves.parquet      the same as a table
    checkpoints/000060  the weights after 60 updates
    last                leads to the newest checkpoint

A torn last line, left by a machine that died, does not count.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Individual, Settings, commit_of
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Generation, cause, curves
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts, together
from metacog_pipeline.errors import MetacogError, StoreError, StudyError
from metacog_pipeline.files import OF_DISKS, canonical_json, making_folder, replacing, sync_open, write_text

if TYPE_CHECKING:
    from metacog_pipeline.benchmarks.selfknowledge.training.ray_engine import RayEngine
    from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker

    # who evaluates the population and holds the weights
    Engine = Worker | RayEngine

RUN, COMMITS, CURVES, LAST = "run.json", "commits.jsonl", "curves.parquet", "last"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a run is kept, and how often it is saved and measured; 0 means at the end only."""

    folder: Path
    checkpoint_every: int = 60
    evaluate_every: int = 60
    # generations in a row without an update after which the run stops; 0: never
    patience: int = 5
    # What the run depends on besides settings and weights.
    about: Mapping[str, Any] = field(default_factory=dict)


class Stalled(MetacogError):
    """Nothing changed for too many generations in a row; all that was done is kept."""


def train(
    settings: Settings,
    plan: Plan,
    engine: Engine,
    done: Callable[[int], None] | None = None,
    tell: Callable[[Generation], None] | None = None,
) -> Path:
    """Make the generations that are missing and return the folder of the last checkpoint.

    ``tell`` is called with each generation, ``done`` with how many there are. Raises `Stalled` where nothing changed
    for as long as the plan has patience; weights, log and curves are written.
    """
    run = _Run(settings, plan, engine)
    try:
        return run.go(done or (lambda _: None), tell or (lambda _: None))
    except OSError as error:
        if error.errno not in OF_DISKS:
            raise
        where = error.filename or plan.folder
        raise StoreError(f"{where}: {error.strerror}; free space, then run the same command again") from error


def other_run(folder: Path, settings: Settings, about: Mapping[str, Any], base: str) -> bool:
    """Whether a folder holds a run that cannot be gone on with under these settings; a shorter one can be."""
    known = known_run(folder)
    if known is None:
        return False
    there = dict(known["settings"])
    if settings.schedule == "constant" and there.get("generations", 0) <= settings.generations:
        there["generations"] = settings.generations
    return (there, known["about"], known["base"]) != (settings.model_dump(), dict(about), base)


def known_run(folder: Path) -> dict[str, Any] | None:
    """Return what the run in a folder is; None where there is none."""
    try:
        found = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise StoreError(f"{folder / RUN}: not readable; remove the folder") from None
    if not isinstance(found, dict) or not {"settings", "about", "base", "base_held_out"} <= found.keys():
        raise StoreError(f"{folder / RUN}: not what a run writes; remove the folder")
    return found


def read_log(folder: Path) -> list[tuple[Commit, Generation]]:
    """Return all whole lines of the log."""
    path, found = folder / COMMITS, []
    raw = path.read_bytes() if path.exists() else b""
    for number, line in enumerate(raw.split(b"\n")[:-1]):
        try:
            found.append(_entry(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"{path}: line {number + 1} is no generation") from None
        if found[-1][0].t != number:
            raise StoreError(f"{path}: line {number + 1} is generation {found[-1][0].t}, not {number}")
    return found


def checkpoint(folder: Path, updates: int) -> Path:
    """Return the folder of the weights after that many updates."""
    return folder / "checkpoints" / f"{updates:06d}"


def checkpoints(folder: Path) -> list[int]:
    """Return after how many updates weights were saved, ascending."""
    return sorted(int(each.name) for each in (folder / "checkpoints").glob("[0-9]*") if each.name.isdecimal())


class _Run:
    def __init__(self, settings: Settings, plan: Plan, engine: Engine) -> None:
        self.settings, self.plan, self.engine, self.folder = settings, plan, engine, plan.folder
        self.base: Counts | None = None
        self.entries: list[tuple[Commit, Generation]] = []

    def go(self, done: Callable[[int], None], tell: Callable[[Generation], None]) -> Path:
        self._begin()
        done(len(self.entries))
        while len(self.entries) < self.settings.generations and not self._is_stalled():
            self._generation(len(self.entries))
            tell(self.entries[-1][1])
            done(len(self.entries))
        self._write_curves()
        last = self._save(len(self.entries))
        if len(self.entries) < self.settings.generations:
            raise Stalled(self._why())
        return last

    def _begin(self) -> None:
        """Begin the run, or bring the engine to the end of the log that is there."""
        digest, known = self.engine.digest(), known_run(self.folder)
        if known is None:
            self._refuse_foreign()
            self.base = self.engine.validate()
            write_text(self.folder / COMMITS, "")
            self._write_run(digest)
            return
        if other_run(self.folder, self.settings, self.plan.about, digest):
            raise StudyError(
                f"{self.folder}: holds a run of other settings, questions or weights; take another folder"
            )
        self.base = None if known["base_held_out"] is None else Counts(*known["base_held_out"])
        self._catch_up()
        self._write_run(digest)

    def _write_run(self, digest: str) -> None:
        known: dict[str, Any] = {"settings": self.settings.model_dump(), "about": dict(self.plan.about)}
        known |= {"base": digest, "base_held_out": self.base}
        write_text(self.folder / RUN, json.dumps(known, indent=2) + "\n")

    def _catch_up(self) -> None:
        self.entries = read_log(self.folder)
        raw = (self.folder / COMMITS).read_bytes()
        # without a torn line
        write_text(self.folder / COMMITS, raw[: raw.rfind(b"\n") + 1].decode())
        for torn in (self.folder / "checkpoints").glob(".[0-9]*"):
            shutil.rmtree(torn, ignore_errors=True)
        begin = max((k for k in checkpoints(self.folder) if k <= len(self.entries)), default=0)
        if begin:
            from_ = checkpoint(self.folder, begin)
            found, logged = self.engine.load(from_), self.entries[begin - 1][0].digest
            if found != logged:
                raise StoreError(
                    f"{from_}: weights {found}, the log has {logged}: the files were changed; "
                    "remove the folder to replay the log instead"
                )
        if self.entries[begin:]:
            self.engine.replay([commit for commit, _ in self.entries[begin:]])
        if self.entries and self._due(self.plan.checkpoint_every, len(self.entries)):
            # a run killed between log and checkpoint
            self._save(len(self.entries))

    def _generation(self, t: int) -> None:
        begun = time.perf_counter()
        tried = self.engine.evaluate(t, self.settings.individuals(t), self.settings.sigma)
        commit = commit_of(self.settings, t, [each.fitness for each in tried])
        digest, norm = self.engine.commit(commit)
        looked = self.engine.validate() if self._due(self.plan.evaluate_every, t + 1) else None
        counts = together([each.counts for each in tried])
        made = Generation(t + 1, commit.fitness, counts, looked, norm, time.perf_counter() - begun)
        self._append(commit._replace(digest=digest), made)
        if self._due(self.plan.checkpoint_every, t + 1):
            self._save(t + 1)

    def _append(self, commit: Commit, made: Generation) -> None:
        self.entries.append((commit, made))
        about = {"counts": made.counts, "held_out": made.held_out, "norm": made.norm, "seconds": made.seconds}
        with (self.folder / COMMITS).open("ab") as file:
            file.write(canonical_json({**commit._asdict(), **about}).encode() + b"\n")
            file.flush()
            sync_open(file.fileno())

    def _due(self, every: int, updates: int) -> bool:
        return updates == self.settings.generations or (every > 0 and updates % every == 0)

    def _is_stalled(self) -> bool:
        last = self.entries[-self.plan.patience :] if self.plan.patience else []
        return 0 < self.plan.patience == len(last) and not any(any(commit.z) for commit, _ in last)

    def _why(self) -> str:
        counts = together([made.counts for _, made in self.entries[-self.plan.patience :]])
        why = cause(counts, self.settings.reward, self.settings.sigma, self.base)
        return (
            f"{self.folder}: stopped after {len(self.entries)} of {self.settings.generations} generations, as the last "
            f"{self.plan.patience} changed nothing, every individual having earned the same: {why}. Weights and log are "
            "kept; with patience = 0 the run goes on"
        )

    def _save(self, updates: int) -> Path:
        """Write a checkpoint, whole or absent, lead ``last`` to it, and return it."""
        final = checkpoint(self.folder, updates)
        if not final.is_dir():
            with making_folder(final) as temporary:
                self.engine.save(temporary)
        fresh = self.folder / f".{LAST}.tmp"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(final.relative_to(self.folder), target_is_directory=True)
        fresh.replace(self.folder / LAST)
        return final

    def _write_curves(self) -> None:
        with replacing(self.folder / CURVES) as temporary:
            curves(self.base, [made for _, made in self.entries]).write_parquet(temporary)

    def _refuse_foreign(self) -> None:
        """Refuse a folder with more in it than a run killed at its very beginning leaves: an empty log, hidden
        files."""
        names = [each.name for each in self.folder.iterdir()] if self.folder.is_dir() else []
        log = self.folder / COMMITS
        if any(not n.startswith(".") and n != COMMITS for n in names) or (
            log.exists() and log.stat().st_size
        ):
            raise StudyError(f"{self.folder}: not empty, and no run; take another folder")


def _entry(record: Mapping[str, Any]) -> tuple[Commit, Generation]:
    individuals = [Individual(*each) for each in record["individuals"]]
    kept = {name: record[name] for name in ("t", "fitness", "z", "alpha", "digest")}
    held = None if record["held_out"] is None else Counts(*record["held_out"])
    counts, norm, seconds = Counts(*record["counts"]), float(record["norm"]), float(record["seconds"])
    commit = Commit(individuals=individuals, **kept)
    return commit, Generation(commit.t + 1, commit.fitness, counts, held, norm, seconds)

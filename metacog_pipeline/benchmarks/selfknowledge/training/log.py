"""The log of a run: one line per generation, durable when the next one starts. With the base weights it is the run.

``commits.jsonl`` holds what each generation tried and did; ``run.json`` what the run is: settings, digest of the base
weights, what the base does on questions held out. A torn last line, left by a machine that died, does not count.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.es import Commit, Settings
from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import EpisodeReward
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import canonical_json, write_text

COMMITS, RUN, CHECKPOINTS, LAST = "commits.jsonl", "run.json", "checkpoints", "last"
FIGURES = "log.jsonl"  # to be looked at: nothing is read from it but its own lines


@dataclass(frozen=True, slots=True)
class Generation:
    """A line of the log."""

    commit: Commit  # what was tried and done
    outcome: EpisodeReward  # counts over all individuals together
    # counts of the updated model on questions held out; None where they were not asked
    held_out: EpisodeReward | None
    seconds: float  # spent, wall clock


class Log:
    """The log in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / COMMITS

    def start(
        self, settings: Settings, base: str, held_out: EpisodeReward | None, about: Mapping[str, Any]
    ) -> None:
        """Write what the run is and empty the log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {
            "settings": asdict(settings),
            "base": base,
            "base_held_out": None if held_out is None else asdict(held_out),
            "about": dict(about),
        }
        write_text(self._path, "")
        write_text(self.folder / FIGURES, "")
        write_text(self.folder / RUN, json.dumps(known, indent=2) + "\n")

    def about(self) -> dict[str, Any] | None:
        """Return what the run is; None where there is none."""
        try:
            found = json.loads((self.folder / RUN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise StoreError(f"{self.folder / RUN}: not readable; take another folder") from None
        if not isinstance(found, dict) or not {"settings", "base", "base_held_out"} <= found.keys():
            raise StoreError(f"{self.folder / RUN}: not what a run writes; take another folder")
        return found

    def lengthen(self, settings: Settings) -> None:
        """Write down that the run goes on under these settings."""
        known = self.about()
        if known is not None and known["settings"] != asdict(settings):
            write_text(
                self.folder / RUN, json.dumps({**known, "settings": asdict(settings)}, indent=2) + "\n"
            )

    def base(self) -> EpisodeReward | None:
        """Return what the base does on questions held out."""
        held = (self.about() or {}).get("base_held_out")
        return None if held is None else EpisodeReward(**held)

    def append(self, generation: Generation) -> None:
        """Add a generation; durable on return."""
        held = generation.held_out
        line = canonical_json(
            {
                **generation.commit.record(),
                "outcome": asdict(generation.outcome),
                "held_out": None if held is None else asdict(held),
                "seconds": generation.seconds,
            }
        )
        with self._path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def tell(self, figures: Mapping[str, Any]) -> None:
        """Add the figures of a generation to ``log.jsonl``."""
        with (self.folder / FIGURES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures, allow_nan=False) + "\n")

    def read(self) -> list[Generation]:
        """Return all whole lines."""
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return []
        found: list[Generation] = []
        for number, line in enumerate(raw.split(b"\n")[:-1]):
            try:
                found.append(_generation(json.loads(line)))
            except (ValueError, KeyError, TypeError):
                raise StoreError(f"{self._path}: line {number + 1} is no generation") from None
            if found[-1].commit.t != number:
                raise StoreError(
                    f"{self._path}: line {number + 1} is generation {found[-1].commit.t}, not {number}"
                )
        return found

    def keep(self, generations: Sequence[Generation]) -> None:
        """Leave the first generations only, and no torn line; what is cut off stays beside under another name."""
        self._keep_figures(len(generations))
        raw = self._path.read_bytes() if self._path.exists() else b""
        lines = raw.split(b"\n")
        kept = b"".join(line + b"\n" for line in lines[: len(generations)])
        if kept == raw:
            return
        if len(lines) - 1 > len(generations):
            write_text(
                self.folder / f"commits-before-{len(generations)}.jsonl", raw.decode("utf-8", "replace")
            )
        write_text(self._path, kept.decode("utf-8"))

    def _keep_figures(self, updates: int) -> None:
        path, kept = self.folder / FIGURES, []
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
            try:
                if json.loads(line)["updates"] <= updates:
                    kept.append(line + "\n")
            except (ValueError, KeyError, TypeError):
                continue  # torn, when a machine died
        write_text(path, "".join(kept))

    def checkpoint(self, updates: int) -> Path:
        """Return the folder of the weights after that many updates."""
        return self.folder / CHECKPOINTS / f"{updates:06d}"

    def checkpoints(self) -> list[int]:
        """Return after how many updates weights were saved, ascending."""
        try:
            names = [each.name for each in (self.folder / CHECKPOINTS).iterdir() if each.is_dir()]
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if len(name) == 6 and name.isdecimal())

    def sweep(self) -> None:
        """Remove checkpoints that were being written when a run was killed."""
        for each in (self.folder / CHECKPOINTS).glob(".[0-9]*"):
            shutil.rmtree(each, ignore_errors=True)

    def point(self, updates: int) -> Path:
        """Make ``last`` in the run's folder lead to a checkpoint, at once, and return it."""
        link, fresh = self.folder / LAST, self.folder / f".{LAST}.tmp"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(self.checkpoint(updates).relative_to(self.folder), target_is_directory=True)
        fresh.replace(link)
        return link


def _generation(record: Mapping[str, Any]) -> Generation:
    held = record["held_out"]
    return Generation(
        Commit.from_record(dict(record)),
        EpisodeReward(**record["outcome"]),
        None if held is None else EpisodeReward(**held),
        float(record["seconds"]),
    )


FOLDER = "events"


class Events:
    """Writes the figures of each generation; nothing where tensorboard is not installed."""

    def __init__(self, folder: Path, updates: int) -> None:
        self._writer: Any = None
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            writer: Any = SummaryWriter
            # What a run cut short had told after its last durable generation is not shown.
            self._writer = writer(str(folder / FOLDER), purge_step=updates + 1)

    def add(self, figures: Figures) -> None:
        """Write a generation."""
        if self._writer is None:
            return
        for name, value in figures.numbers().items():
            if isinstance(value, int | float) and name != "updates":
                self._writer.add_scalar(name, value, figures.updates)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()

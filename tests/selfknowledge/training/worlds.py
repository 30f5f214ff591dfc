"""The demonstration in several worlds: what each reward does to d'type2, its area and accuracy, world by world."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.training.figures import D, shown
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import ACCURACY, AUROC, measured
from metacog_pipeline.benchmarks.selfknowledge.training.toy.demo import BASE, demonstrate
from metacog_pipeline.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Change:
    """What a reward did in one world: measures before and after, on people held out."""

    seed: int
    reward: str
    before: dict[str, Estimate]
    after: dict[str, Estimate]

    def gain(self, measure: str) -> float:
        """Return after minus before."""
        before, after = self.before[measure].value, self.after[measure].value
        if before is None or after is None:
            raise ValueError(f"{measure} is undefined in world {self.seed}")
        return after - before


def changes(folder: Path, seeds: Sequence[int], rewards: Sequence[str]) -> tuple[list[Change], float]:
    """Return what each reward did in each world, and the processor seconds of a world on average."""
    begun, found = time.process_time(), []
    for seed in seeds:
        made = demonstrate(folder / str(seed), seed, rewards)
        numbers = {name: measured(answers) for name, answers in made.answers}
        found += [Change(seed, reward, numbers[BASE], numbers[reward]) for reward in rewards]
    return found, (time.process_time() - begun) / max(1, len(seeds))


def table(found: Sequence[Change]) -> str:
    """Return the changes as a Markdown table, with 95 % intervals."""
    lines = [
        "| seed | model | d′ (log-linear) | gain | AUROC | accuracy |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for place, each in enumerate(found):
        if place == 0 or found[place - 1].seed != each.seed:
            lines.append(_line(each.seed, BASE, each.before, ""))
        lines.append(_line(each.seed, each.reward, each.after, f"{each.gain(D):+.2f}"))
    return "\n".join(lines)


def _line(seed: int, name: str, numbers: dict[str, Estimate], gain: str) -> str:
    cells = [str(seed), name, shown(numbers[D]), gain, shown(numbers[AUROC]), shown(numbers[ACCURACY])]
    return f"| {' | '.join(str(cell) for cell in cells)} |"

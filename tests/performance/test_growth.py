"""What one more model costs in a study of 80 models and in one of 5: the tests of each benchmark, and a whole run.

For the tests alone responses are made by hand (`null_studies`); all pairs are computed whenever a model is added, so they
have no target of their own. A whole run asks
simulated models the sample questions of one benchmark, or of five, through Dagster to the report; each figure is the least
of five. Choose one with ``-k``: a study of 80 models of signal detection takes six minutes to make.
"""

import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.scoring.comparisons import comparisons
from tests.performance import null_studies

pytestmark = pytest.mark.bench

FEW, MANY, REPEATS, MOST_S = 5, 80, 5, 90.0
ADDED = (999, 0.55, 0.55)  # its number, and parameters in the middle of those of the others
#: What is asked in a whole run: the questions that come with the package.
ASKED = {
    "metamedqa": ['dataset = "sample"', 'conditions = ["baseline", "role-full"]'],
    "selfknowledge": ['dataset = "sample"'],
    "metacogbench": [],
    "medley": [
        'dataset = "sample"\njudges = ["judge"]',
        '[[judges]]\nname = "judge"\nprovider = "simulated"\nfamily = "judge"',
        "[judges.observer]\naccuracy = 0.9\nseed = 11",
    ],
    "signaldetection": ['dataset = "sample"'],
    "questions": ['items = "sample"', 'conditions = ["verbal_percent", "bet"]'],
}
PUBLISHED = tuple(name for name in ASKED if name != "questions")  # the five systems, in one study


def seconds_of_tests(make: Callable[[], tuple[Any, list[Group]]]) -> float:
    """Return the processor time of all tests of a study."""
    benchmark, groups = make()
    start = time.process_time()
    comparisons(benchmark, groups)
    return time.process_time() - start


def of_size(name: str, models: int, folder: Path, patch: pytest.MonkeyPatch) -> float:
    """Return the same for a study of ``models`` models of one benchmark, to which one more is added."""
    patch.setattr(null_studies, "MODELS", models + 1)
    own = folder / str(models)
    own.mkdir()
    make = null_studies.makers(own)[name]
    return seconds_of_tests(lambda: make(1))


@pytest.mark.parametrize("name", null_studies.BENCHMARKS)
def test_one_more_model(name, tmp_path, figure, monkeypatch):
    of_size(name, 2, tmp_path, monkeypatch)  # what is loaded and tabulated once
    few, many = (of_size(name, models, tmp_path, monkeypatch) for models in (FEW, MANY))
    figure(
        f"{name}: all tests of {MANY + 1} models, beside those of {FEW + 1}",
        "none", f"{many:.2f} against {few:.2f} s: {many / few:.1f} times", True,
    )  # fmt: skip


def _study(folder: Path, asked: Mapping[str, list[str]], models: int, added: bool = False) -> Path:
    """Write a study of as many simulated models, each with parameters of its own, and of one that is ``added``.

    That one is the same in studies of any size: what it answers takes as long to read.
    """
    drawn = random.Random(0)
    observers = [(place, drawn.uniform(0.2, 0.9), drawn.uniform(0.2, 0.9)) for place in range(models)]
    text = ['[study]\nname = "growing"\nhome = "home"\n']
    for place, accuracy, metacognition in [*observers, *([ADDED] if added else [])]:
        own = f'name = "m{place:03d}"\nprovider = "simulated"\nfamily = "family-{place}"'
        numbers = f"accuracy = {accuracy:.3f}\nmetacognition = {metacognition:.3f}\nseed = {place}"
        text += ["[[models]]", own, "[models.observer]", numbers, ""]
    path = folder / "study.toml"
    text += [line for name, lines in asked.items() for line in (f"[benchmarks.{name}]", *lines, "")]
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def _run(study: Path) -> float:
    """Return the processor time of ``metacog run``, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "import sys; from metacog_pipeline.cli import main; main(sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, "run", study, "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("names", [*((name,) for name in sorted(ASKED)), PUBLISHED], ids="-".join)
def test_a_whole_run_of_one_more_model(names, tmp_path, figure):
    asked = {name: ASKED[name] for name in names}
    for models in (FEW, MANY):
        (tmp_path / str(models)).mkdir()
        _run(_study(tmp_path / str(models), asked, models))
    taken: dict[int, list[float]] = {FEW: [], MANY: []}
    for repeat in range(REPEATS):  # both sizes in turn: whatever else the machine does, it does to both
        for models, seconds in taken.items():
            own = tmp_path / f"{models}-{repeat}"
            shutil.copytree(tmp_path / str(models), own)
            seconds.append(_run(_study(own, asked, models, added=True)))
            shutil.rmtree(own)
    few, many = (min(seconds) for seconds in taken.values())
    figure(
        f"metacog run when one model is added to {MANY}, beside one added to {FEW} ({', '.join(names)})",
        f"≤ 3 times, ≤ {MOST_S:.0f} s", f"{many:.1f} against {few:.1f} s: {many / few:.2f} times",
        many <= min(3 * few, MOST_S),
    )  # fmt: skip

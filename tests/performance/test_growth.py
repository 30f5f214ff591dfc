"""What one more model costs in a study of 80 models and in one of 5: the tests of each benchmark, and a whole run.

For the tests alone responses are made by hand (`null_studies`), and groups are made from them anew, as in a run. They have
no target of their own: 80 pairs take more than 5, and a run that does nothing else takes some ten seconds. A whole run asks
simulated models the sample questions of MetaMedQA under two conditions, through Dagster to the report.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.benchmark.groups import Group
from metacog_pipeline.scoring.comparisons import comparisons
from metacog_pipeline.scoring.kept_pairs import Kept
from tests.performance import null_studies
from tests.performance.conftest import Figure

pytestmark = pytest.mark.bench

FEW, MANY = 5, 80


def seconds_of_one_more(make: Callable[[], tuple[Any, list[Group]]], folder: Path) -> float:
    """Return the processor time of the tests of a study to which its last model is added."""
    benchmark, groups = make()
    names = sorted({group.model for group in groups})
    made_from = {name: name for name in names}
    old = [group for group in groups if group.model != names[-1]]
    comparisons(benchmark, old, Kept(folder, made_from))
    benchmark, groups = make()  # what is remembered with groups is forgotten
    kept = Kept(folder, made_from)
    start = time.process_time()
    comparisons(benchmark, groups, kept)
    taken = time.process_time() - start
    assert kept.read and kept.computed
    return taken


def of_size(name: str, models: int, folder: Path, patch: pytest.MonkeyPatch) -> float:
    """Return the same for a study of ``models`` models of one benchmark, to which one more is added."""
    patch.setattr(null_studies, "MODELS", models + 1)
    own = folder / str(models)
    own.mkdir()
    make = null_studies.makers(own)[name]
    return seconds_of_one_more(lambda: make(1), own / "kept")


@pytest.mark.parametrize("name", null_studies.BENCHMARKS)
def test_one_more_model(name: str, tmp_path: Path, figure: Figure, monkeypatch: pytest.MonkeyPatch) -> None:
    of_size(name, 2, tmp_path, monkeypatch)  # what is loaded and tabulated once
    few, many = (of_size(name, models, tmp_path, monkeypatch) for models in (FEW, MANY))
    figure(
        f"{name}: tests when one model is added to {MANY}, beside one added to {FEW}",
        "none", f"{many:.2f} against {few:.2f} s: {many / few:.1f} times", True,
    )  # fmt: skip


def _study(folder: Path, models: int) -> Path:
    """Write a study of as many simulated models, each with parameters of its own."""
    drawn = random.Random(0)
    text = ['[study]\nname = "growing"\nhome = "home"\n']
    for place in range(models):
        numbers = (f"{name} = {drawn.uniform(0.2, 0.9):.3f}" for name in ("accuracy", "metacognition"))
        name = f'name = "m{place:03d}"\nprovider = "simulated"'
        text += ["[[models]]", name, "[models.observer]", *numbers, f"seed = {place}", ""]
    text += ["[benchmarks.metamedqa]", 'dataset = "sample"', 'conditions = ["baseline", "role-full"]']
    path = folder / "study.toml"
    path.write_text("\n".join(text), encoding="utf-8")
    return path


def _run(study: Path) -> float:
    """Return the processor time of ``metacog run``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "import sys; from metacog_pipeline.cli import main; main(sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, "run", study, "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_whole_run_of_one_more_model(tmp_path: Path, figure: Figure) -> None:
    taken = {}
    for models in (FEW, MANY):
        own = tmp_path / str(models)
        own.mkdir()
        _run(_study(own, models))
        taken[models] = _run(_study(own, models + 1))
    few, many = taken.values()
    figure(
        f"metacog run when one model is added to {MANY}, beside one added to {FEW} (MetaMedQA, 96 items, 2 conditions)",
        "≤ 1.5 times", f"{many:.1f} against {few:.1f} s: {many / few:.2f} times", many <= 1.5 * few,
    )  # fmt: skip

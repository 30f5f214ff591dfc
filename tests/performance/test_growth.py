"""What one more model costs: the tests of a study of 80 models and of one of 5, everything else kept.

Responses are made by hand (`null_studies`); computed are the tests of the model that is new. Groups are made from responses
anew, as in a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline import registry
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


@pytest.mark.parametrize("name", registry.names())
def test_one_more_model(name: str, tmp_path: Path, figure: Figure, monkeypatch: pytest.MonkeyPatch) -> None:
    of_size(name, 2, tmp_path, monkeypatch)  # what is loaded and tabulated once
    few, many = (of_size(name, models, tmp_path, monkeypatch) for models in (FEW, MANY))
    figure(
        f"{name}: tests when one model is added to {MANY}, beside one added to {FEW}",
        "≤ 1.5 times", f"{many:.2f} against {few:.2f} s: {many / few:.1f} times", True,
    )  # fmt: skip

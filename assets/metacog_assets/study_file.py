"""The study that this code location shows: the file named by ``METACOG_STUDY``, as a resource of every asset."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import dagster as dg

from metacog_pipeline.benchmark import bound as benchmarks
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.study import Study, load_study

VARIABLE = "METACOG_STUDY"


def current_study() -> Study:
    """Return the study named by ``METACOG_STUDY``, read again when it has changed; without one the demo."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return _demo()
    path = Path(named)
    return _loaded(path, path.stat().st_mtime_ns if path.exists() else 0)


def bound(name: str) -> Bound:
    """Return benchmark ``name`` bound to the study file as it is now; StudyError where it was switched off since."""
    study = current_study()
    if name not in study.enabled:
        raise StudyError(
            f"{study.path.name}: {name} is switched off in the study file; "
            'take out enabled = false, or press "Reload definitions" to drop its assets'
        )
    return benchmarks.bound(study, name)


class StudyResource(dg.ConfigurableResource):
    """The study file as it is when a step begins."""

    def load(self) -> Study:
        """Return the study."""
        return current_study()

    def benchmark(self, name: str) -> Bound:
        """Return one of its benchmarks."""
        return bound(name)


@functools.lru_cache(maxsize=4)
def _loaded(path: Path, changed: int) -> Study:
    return load_study(path)


@functools.cache
def _demo() -> Study:
    """Return the shipped demo, kept in ``metacog-demo`` below the folder Dagster was started in."""
    dg.get_dagster_logger().info(f"{VARIABLE} is not set: showing the demo study, kept in ./metacog-demo")
    demo = load_study(shipped("data", "demo", "study.toml"))
    section = demo.study.model_copy(update={"home": str(Path("metacog-demo/home").resolve())})
    return demo.model_copy(update={"study": section})

"""Which study this code location shows: the file named by ``METACOG_STUDY``."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path
from typing import Any

from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.errors import MetacogError, StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.study import Study, load_study

VARIABLE = "METACOG_STUDY"
_OURS = "metacog_pipeline"
Bound = Benchmark[Any, Any, Any]


def current_study() -> Study:
    """Return the study named by ``METACOG_STUDY``, or the shipped demo kept in ``metacog-demo`` below this folder.

    The file is read again when it has changed: a model added while the UI is open can be asked at once.
    """
    if named := os.environ.get(VARIABLE):
        path = Path(named)
        try:
            found = path.stat()
        except OSError:
            return load_study(path)  # which says what is wrong with it
        return _loaded(path, found.st_mtime_ns, found.st_size)
    return _demo()


def bound(name: str) -> Bound:
    """Return benchmark ``name`` bound to the study file as it is now.

    Raises
    ------
    StudyError
        If the study file does not ask for it any more: nothing is spent on it then.
    """
    study = current_study()
    if name not in study.enabled:
        raise StudyError(
            f"{study.path.name}: {name} is switched off in the study file; "
            'take out enabled = false, or press "Reload definitions" to drop its assets'
        )
    found: Bound = registry.load(name).of(study)
    return found


def load_own_benchmarks() -> None:
    """Load the benchmarks of the study that come with this package, before processes are forked: each would load them.

    Those of others may start threads, which no fork survives. What is wrong is said by whoever needs them.
    """
    with contextlib.suppress(MetacogError, OSError):
        for name in current_study().enabled if os.environ.get(VARIABLE) else ():
            if registry.package_of(name) == _OURS:
                registry.load(name)


@functools.lru_cache(maxsize=4)
def _loaded(path: Path, changed: int, size: int) -> Study:
    return load_study(path)


@functools.cache
def _demo() -> Study:
    import dagster as dg  # who asks for it by name has none yet

    dg.get_dagster_logger().info(f"{VARIABLE} is not set: showing the demo study, kept in ./metacog-demo")
    demo = load_study(shipped("data", "demo", "study.toml"))
    section = demo.study.model_copy(update={"home": str(Path("metacog-demo/home").resolve())})
    return demo.model_copy(update={"study": section})

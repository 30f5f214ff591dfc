"""Whether a benchmark of a study can be asked at all: conditions, wording, items. Nothing is kept, nobody is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metacog_pipeline.asking import construction, rehearsal, roles, tasks
from metacog_pipeline.benchmark.contract import Benchmark
from metacog_pipeline.home import Home

Bound = Benchmark[Any, Any, Any]


def require_askable(benchmark: Bound, *, items: bool = True) -> None:
    """Raise what a run of ``benchmark`` would end with before its first call; without ``items`` none are made."""
    for condition in benchmark.conditions():
        benchmark.worded_by(condition.name)
    if items:
        with construction.with_items(benchmark, _built_elsewhere) as found:
            _rehearse(found)


@contextmanager
def _built_elsewhere(benchmark: Bound) -> Iterator[Bound]:
    """Give the benchmark with new items in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="metacog-doctor-") as folder:
        home, kept = Home(Path(folder)), benchmark.context.home
        for name, place in ((home.sources, kept.sources), (home.imported, kept.imported)):
            if place.is_dir():
                name.symlink_to(place, target_is_directory=True)
        elsewhere = roles.in_home(benchmark, folder)
        construction.build(elsewhere)
        yield elsewhere


def _rehearse(benchmark: Bound) -> None:
    spec = next((each for each in benchmark.context.study.models if each.provider != "replay"), None)
    if spec is None:
        return
    for condition, items in tasks.asked(benchmark, spec):
        for item in items[:1]:
            rehearsal.rehearsed(benchmark, item, condition, spec, benchmark.modes(spec)[0])

"""What the study asks for, as assets. Another study file shows others after "Reload definitions"."""

from __future__ import annotations

import dagster as dg

from metacog_assets import apart, cross_benchmark
from metacog_assets.benchmark_assets import benchmark_assets, produced
from metacog_assets.cross_benchmark import cross_benchmark_assets
from metacog_assets.study_file import Bound, bound, current_study
from metacog_assets.tables import table_assets
from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError, reason_of
from metacog_pipeline.leaderboard.models import load_project
from metacog_pipeline.study.left_out import tell


def _names(made: list[dg.AssetsDefinition]) -> list[str]:
    """Return the names under which Dagster keeps assets and what makes them."""
    steps = {each.node_def.name for each in made}
    keys = [key.to_user_string() for each in made for key in each.keys]
    return [*keys, *(steps - set(keys))]


def _made(name: str, taken: set[str]) -> tuple[Bound, list[dg.AssetsDefinition]] | None:
    """Return a benchmark and its assets; None, and why in `LEFT_OUT`, where a stranger's declares what gives none."""
    try:
        benchmark = bound(name)
        made = benchmark_assets(benchmark)
        names = _names(made)
        twice = sorted({each for each in names if each in taken or names.count(each) > 1})
        if twice:
            raise StudyError(
                f"it makes the asset {', '.join(twice)} twice; rename a step, a condition or a table"
            )
        produced(benchmark)
    except Exception as error:  # a stranger's benchmark may fail in any way
        if registry.is_ours(name):
            raise
        LEFT_OUT[name] = (
            f"benchmark {name} makes no assets: {reason_of(error)}; mend or uninstall its package"
        )
        tell(f"{LEFT_OUT[name]}; the others go on without it")
        return None
    taken |= set(names)
    return benchmark, made


LEFT_OUT: dict[str, str] = {}  # benchmarks of the study that are no part of the graph, and why
_taken: set[str] = set()
_all = [each for name in current_study().enabled if (each := _made(name, _taken)) is not None]
BENCHMARKS = tuple(benchmark for benchmark, _ in _all)
PRODUCED = [*(pair for each in BENCHMARKS for pair in produced(each)), *cross_benchmark.produced()]
ASSETS = (
    *(one for _, made in _all for one in made),
    cross_benchmark_assets(BENCHMARKS),
    *table_assets(apart.call(apart.ITEMS, None, load_project), PRODUCED, [each.name for each in BENCHMARKS]),
)

"""What holds everybody's benchmark to the contract: `check_benchmark`, for ours and for those of other packages.

``checks`` are the rules of the contract and ``gate`` those of a valid instrument, one function each. A failure says what
to do. For tests of single rules call ``check(try_benchmark(MyBenchmark, folder))`` for each of `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metacog_pipeline.conformance import gate
from metacog_pipeline.conformance.case import Broken, Tried, faults_of, try_benchmark
from metacog_pipeline.conformance.checks import CHECKS
from metacog_pipeline.errors import one_line

__all__ = ["CHECKS", "Broken", "Tried", "check_benchmark", "try_benchmark"]


def check_benchmark(benchmark: type[Any], folder: Path, settings: Mapping[str, Any] | None = None) -> None:
    """Hold the class that an entry point of ``metacog.benchmarks`` names to every rule of the contract and of the gate.

    A small study is written and run in ``folder``, which is empty; ``settings`` are keys of its table there, its
    ``trial_settings`` where none are given. Raises an ExceptionGroup of one `Broken` per rule that does not hold.
    """
    broken: list[Exception] = [Broken(each) for each in faults_of(benchmark)]
    if not broken:
        try:
            tried = try_benchmark(benchmark, folder, settings)
            # An instrument is tried once its class keeps the contract: before, one cause would be said many times.
            broken = _not_held(tried, CHECKS) or _not_held(tried, gate.CHECKS)
        except Broken as error:
            broken = [error]
    if broken:
        name = getattr(benchmark, "__name__", repr(benchmark))
        raise ExceptionGroup(f"{name} does not fulfil the contract", broken)


def _not_held(tried: Tried, checks: Sequence[Callable[[Tried], None]]) -> list[Exception]:
    found: dict[str, Exception] = {}  # by what it says: of one cause that breaks many rules it is said once
    for check in checks:
        try:
            check(tried)
        except Broken as error:
            found.setdefault(str(error), error)
        except (Exception, SystemExit) as error:  # a benchmark may fail in any way; every rule is looked at
            said = one_line(f"{type(error).__name__}: {error}")
            found.setdefault(said, Broken(f"{tried.name}: {check.__name__} cannot be looked at: {said}"))
    return [*found.values()]

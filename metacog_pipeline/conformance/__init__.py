"""What holds everybody's benchmark to the contract: `check_benchmark`, for ours and for those of other packages.

``checks`` has the rules of the contract and ``gate`` those of a valid instrument: each yields what does not hold and what
to do. For single rules call ``rule(try_benchmark(MyBenchmark, folder))`` for each of `RULES`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from metacog_pipeline.conformance import gate
from metacog_pipeline.conformance.case import Broken, Tried, try_benchmark
from metacog_pipeline.conformance.checks import RULES
from metacog_pipeline.errors import MetacogError, one_line

__all__ = ["RULES", "Broken", "Tried", "check_benchmark", "try_benchmark"]


def check_benchmark(benchmark: type[Any], folder: Path, settings: Mapping[str, Any] | None = None) -> None:
    """Hold the class that an entry point of ``metacog.benchmarks`` names to every rule of the contract and of the gate.

    A small study is written and run in ``folder``, which is empty; ``settings`` are keys of its table there, its
    ``trial_settings`` where none are given. Raises an ExceptionGroup of a `Broken` for each fault.
    """
    name = getattr(benchmark, "__name__", repr(benchmark))
    try:
        tried = try_benchmark(benchmark, folder, settings)
        # An instrument is tried once its class keeps the contract: before, one cause would be said many times.
        broken = _broken(tried, RULES, most=1) or _broken(tried, gate.RULES)
    except (Exception, SystemExit) as error:  # a benchmark may fail in any way
        broken = [_said(error, benchmark)]
    if broken:
        raise ExceptionGroup(f"{name} does not fulfil the contract", [Broken(each) for each in broken])


def _broken(
    tried: Tried, rules: Sequence[Callable[[Tried], Iterator[Any]]], most: int | None = None
) -> list[str]:
    """Return what does not hold, of each rule at ``most`` so many."""
    name = type(tried.benchmark).__name__
    found: dict[str, str] = {}  # of one cause that breaks many rules it is said once
    for rule in rules:
        try:
            found |= {said: said for said in (f"{name}{each}" for each in islice(rule(tried), most))}
        except (Exception, SystemExit) as error:  # every rule is looked at
            found.setdefault(repr(error), _said(error, type(tried.benchmark)))
    return [*found.values()]


def _said(error: BaseException, benchmark: type[Any]) -> str:
    """Return what an error says, and where in the package of the benchmark it comes from, else in which function."""
    if isinstance(error, (Broken, MetacogError)):
        return str(error)
    package, frames = benchmark.__module__.partition(".")[0], [*traceback.walk_tb(error.__traceback__)]
    own = [each for each in frames if each[0].f_globals["__name__"].partition(".")[0] == package]
    frame, line = (own or frames)[-1]
    where = f"{frame.f_globals['__name__']}:{line}, in {frame.f_code.co_name}"
    return one_line(f"{benchmark.__name__}: {type(error).__name__}: {error} ({where})")

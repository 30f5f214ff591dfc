"""What holds everybody's benchmark to the contract: `check_benchmark`, for ours and for those of other packages.

``case`` makes a small study of a benchmark and runs it with simulated respondents; ``checks`` are the rules, one function
each, whose failure says what to do. In a test of your own package::

    @pytest.mark.parametrize("check", CHECKS, ids=name_of)
    def test_it_fulfils_the_contract(check, tried):  # tried: a fixture that returns try_benchmark(MyBenchmark, folder)
        check(tried)

or all at once: ``check_benchmark(MyBenchmark, folder)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.conformance.case import Tried, try_benchmark
from metacog_pipeline.conformance.checks import CHECKS, Broken, name_of

__all__ = ["CHECKS", "Broken", "Tried", "check_benchmark", "name_of", "try_benchmark"]


def check_benchmark(benchmark: type[Any], folder: Path, settings: Mapping[str, Any] | None = None) -> None:
    """Hold a benchmark to every rule of the contract.

    Parameters
    ----------
    benchmark
        The class an entry point of ``metacog.benchmarks`` names.
    folder
        An empty folder; a small study is written and run there.
    settings
        Keys of its table in the study file; its ``trial_settings`` where none are given.

    Raises
    ------
    ExceptionGroup
        Of one `Broken` per rule that does not hold, each saying what to do.
    """
    tried = try_benchmark(benchmark, folder, settings)
    broken: list[Exception] = []
    for check in CHECKS:
        try:
            check(tried)
        except Exception as error:  # a benchmark may fail in any way; every rule is looked at
            broken.append(error if isinstance(error, Broken) else Broken(f"{name_of(check)}: {error!r}"))
    if broken:
        raise ExceptionGroup(f"{benchmark.__name__} does not fulfil the contract", broken)

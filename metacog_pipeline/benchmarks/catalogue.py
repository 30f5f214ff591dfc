"""The benchmarks there are."""

from __future__ import annotations

from metacog_pipeline.benchmarks.common.benchmark import Benchmark
from metacog_pipeline.benchmarks.medley.stages import MEDLEY
from metacog_pipeline.benchmarks.metacogbench.stages import METACOGBENCH
from metacog_pipeline.benchmarks.metamedqa.stages import METAMEDQA
from metacog_pipeline.benchmarks.selfknowledge.stages import SELFKNOWLEDGE
from metacog_pipeline.benchmarks.signaldetection.stages import SIGNALDETECTION
from metacog_pipeline.study import Study

BENCHMARKS: tuple[Benchmark, ...] = (METAMEDQA, SIGNALDETECTION, MEDLEY, METACOGBENCH, SELFKNOWLEDGE)


def enabled(study: Study) -> tuple[Benchmark, ...]:
    """Return the benchmarks the study switches on, in the order of the study file's description."""
    names = study.benchmarks.enabled()
    return tuple(benchmark for benchmark in BENCHMARKS if benchmark.name in names)

"""Signal detection as assets: sources → items → transcripts → observations → estimates → comparisons; published tables."""

from assets.catalogue import BenchmarkAssets
from assets.measuring import measurement
from assets.signaldetection.construction import signaldetection_items, signaldetection_sources
from assets.signaldetection.published import signaldetection_published
from metacog_pipeline.benchmarks.signaldetection.stages import SIGNALDETECTION as BENCHMARK

SIGNALDETECTION = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(signaldetection_sources, signaldetection_items),
    items=signaldetection_items,
    measured=measurement(BENCHMARK, signaldetection_items, {}),
    beside=(signaldetection_published,),
)

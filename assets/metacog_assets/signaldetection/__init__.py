"""Signal detection as assets: sources → items → transcripts → observations → estimates → comparisons; published tables."""

from metacog_assets.catalogue import BenchmarkAssets
from metacog_assets.measuring import measurement
from metacog_assets.signaldetection.construction import signaldetection_items, signaldetection_sources
from metacog_assets.signaldetection.published import signaldetection_published
from metacog_pipeline.benchmarks.signaldetection import SignalDetection

BENCHMARK = SignalDetection.legacy()

SIGNALDETECTION = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(signaldetection_sources, signaldetection_items),
    items=signaldetection_items,
    measured=measurement(BENCHMARK, signaldetection_items, {}),
    beside=(signaldetection_published,),
)

"""Self-knowledge as assets: questions → items → transcripts → observations → estimates → comparisons."""

from metacog_pipeline.benchmarks.selfknowledge.stages import SELFKNOWLEDGE as BENCHMARK

from metacog_assets.catalogue import BenchmarkAssets
from metacog_assets.measuring import measurement
from metacog_assets.selfknowledge.construction import selfknowledge_items, selfknowledge_sources
from metacog_assets.selfknowledge.figures import figures
from metacog_assets.selfknowledge.published import selfknowledge_published

SELFKNOWLEDGE = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(selfknowledge_sources, selfknowledge_items),
    items=selfknowledge_items,
    measured=measurement(BENCHMARK, selfknowledge_items, {}, figures),
    beside=(selfknowledge_published,),
)

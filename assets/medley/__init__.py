"""MEDLEY-BENCH as assets: source → instances → transcripts → observations → judgements → estimates → comparisons."""

from assets.catalogue import BenchmarkAssets
from assets.measuring import measurement
from assets.medley.construction import medley_items, medley_source
from assets.medley.published import medley_published
from metacog_pipeline.benchmarks.medley.stages import MEDLEY as BENCHMARK

MEDLEY = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(medley_source, medley_items),
    items=medley_items,
    measured=measurement(BENCHMARK, medley_items, {}),
    beside=(medley_published,),
)

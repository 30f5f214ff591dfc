"""MEDLEY-BENCH as assets: source → instances → transcripts → observations → judgements → estimates → comparisons.

Where the study makes its instances, the sample's or new ones, the stages of the generator stand before the source.
"""

from assets.catalogue import BenchmarkAssets, Generation
from assets.measuring import measurement
from assets.medley.construction import GENERATED, medley_items, medley_source
from assets.medley.figures import figures
from assets.medley.generator import GENERATION
from assets.medley.published import medley_published
from metacog_pipeline.benchmarks.medley.stages import MEDLEY as BENCHMARK
from metacog_pipeline.benchmarks.medley.stages import generator

MEDLEY = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(medley_source, medley_items),
    items=medley_items,
    measured=measurement(BENCHMARK, medley_items, {}, figures),
    beside=(medley_published,),
    generation=Generation(GENERATION, generator.stale) if GENERATED else None,
)

"""MEDLEY-BENCH as assets: source → instances → transcripts → observations → judgements → estimates → comparisons.

Where the study makes its instances, the sample's or new ones, the stages of the generator stand before the source.
"""

from metacog_assets.catalogue import BenchmarkAssets, Generation
from metacog_assets.measuring import measurement
from metacog_assets.medley.construction import GENERATED, medley_items, medley_source
from metacog_assets.medley.figures import figures
from metacog_assets.medley.generator import GENERATION
from metacog_assets.medley.published import medley_published
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

"""MetaCog-Bench as assets: items → transcripts → observations → estimates → comparisons; the paper's tables, checked."""

from metacog_assets.catalogue import BenchmarkAssets
from metacog_assets.measuring import measurement
from metacog_assets.metacogbench.construction import metacogbench_items
from metacog_assets.metacogbench.published import metacogbench_published
from metacog_pipeline.benchmarks.metacogbench.stages import METACOGBENCH as BENCHMARK

METACOGBENCH = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(metacogbench_items,),
    items=metacogbench_items,
    measured=measurement(BENCHMARK, metacogbench_items, {}),
    beside=(metacogbench_published,),
)

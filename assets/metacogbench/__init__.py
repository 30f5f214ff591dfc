"""MetaCog-Bench as assets: items → transcripts → observations → estimates → comparisons; the paper's tables, checked."""

from assets.catalogue import BenchmarkAssets
from assets.measuring import measurement
from assets.metacogbench.construction import metacogbench_items
from assets.metacogbench.published import metacogbench_published
from metacog_pipeline.benchmarks.metacogbench.stages import METACOGBENCH as BENCHMARK

METACOGBENCH = BenchmarkAssets(
    benchmark=BENCHMARK,
    construction=(metacogbench_items,),
    items=metacogbench_items,
    measured=measurement(BENCHMARK, metacogbench_items, {}),
    beside=(metacogbench_published,),
)

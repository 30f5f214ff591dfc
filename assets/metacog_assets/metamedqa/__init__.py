"""MetaMedQA as assets: raw sources → edits → items → transcripts → observations → estimates → comparisons."""

from metacog_assets.catalogue import BenchmarkAssets
from metacog_assets.measuring import measurement
from metacog_assets.metamedqa.construction import (
    glianorex_source,
    medqa_source,
    metamedqa_edits,
    metamedqa_items,
)
from metacog_assets.showing import calibration_plot
from metacog_pipeline.benchmarks.metamedqa import stages

METAMEDQA = BenchmarkAssets(
    benchmark=stages.METAMEDQA,
    construction=(medqa_source, glianorex_source, metamedqa_edits, metamedqa_items),
    items=metamedqa_items,
    measured=measurement(
        stages.METAMEDQA,
        metamedqa_items,
        {"calibration": lambda partition: calibration_plot(stages.calibration(partition))},
    ),
)

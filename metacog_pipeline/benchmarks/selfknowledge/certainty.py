"""Where training looks for `read.certainty`."""

from metacog_pipeline.benchmarks.selfknowledge.read import certainty as certainty

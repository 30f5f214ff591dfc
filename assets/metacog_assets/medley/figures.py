"""What is seen beside the comparisons: cognitive map, ipsative heat map, rank intervals, tier scatter."""

from dagster import MetadataValue

from metacog_assets.showing import drawing
from metacog_pipeline.benchmarks.medley.figures import medley_figures
from metacog_pipeline.benchmarks.medley.stages import MEDLEY
from metacog_pipeline.study import Study


def figures(study: Study) -> dict[str, MetadataValue]:
    """Return the figures of all models, by title."""
    drawn = medley_figures(MEDLEY.estimates_folder(study))
    return {title: drawing(svg, title) for title, svg in drawn.items()}

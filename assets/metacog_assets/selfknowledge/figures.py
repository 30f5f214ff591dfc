"""What is seen beside the comparisons: d′, type-2 ROC curves, densities of confidence."""

from dagster import MetadataValue
from metacog_pipeline.benchmarks.selfknowledge.stages import SELFKNOWLEDGE

from metacog_assets.showing import drawing
from metacog_pipeline.benchmarks.selfknowledge.figures import selfknowledge_figures
from metacog_pipeline.study import Study


def figures(study: Study) -> dict[str, MetadataValue]:
    """Return the figures of all models, by title."""
    drawn = selfknowledge_figures(SELFKNOWLEDGE.estimates_folder(study))
    return {title: drawing(svg, title) for title, svg in drawn.items()}

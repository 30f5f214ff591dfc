"""Training as assets, one per step a benchmark declares. In the graph where the study file has ``[training]``."""

from metacog_assets.study_file import current_study
from metacog_assets.training.steps import training_assets
from metacog_pipeline import registry

JOB = "train"
ASSETS = (
    tuple(made for name in registry.names() for made in training_assets(registry.load(name).training))
    if current_study().training is not None
    else ()
)

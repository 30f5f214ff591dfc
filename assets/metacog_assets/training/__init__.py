"""Training as assets: base model → checkpoint → evaluation. In the graph where the study file has ``[training]``."""

from metacog_assets.study_file import current_study
from metacog_assets.training.evolution import esma_base, esma_checkpoint, esma_evaluation

JOB = "train"
ASSETS = (esma_base, esma_checkpoint, esma_evaluation) if current_study().training is not None else ()

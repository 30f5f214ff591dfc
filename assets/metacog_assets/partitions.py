"""Two dimensions only: ``model`` (filled from the study file) × ``run`` (1 to study.runs)."""

import dagster as dg

from metacog_assets.study_file import current_study

MODELS = dg.DynamicPartitionsDefinition(name="model")
RUNS = dg.StaticPartitionsDefinition([str(run) for run in current_study().runs])
MODEL_RUNS = dg.MultiPartitionsDefinition({"model": MODELS, "run": RUNS})

"""Two dimensions only: ``model`` (filled from the study file) × ``run`` (1 to study.runs)."""

from dagster import DynamicPartitionsDefinition, MultiPartitionsDefinition, StaticPartitionsDefinition

from metacog_assets.study_file import current_study

MODELS = DynamicPartitionsDefinition(name="model")
RUNS = StaticPartitionsDefinition([str(run) for run in current_study().runs])
MODEL_RUNS = MultiPartitionsDefinition({"model": MODELS, "run": RUNS})

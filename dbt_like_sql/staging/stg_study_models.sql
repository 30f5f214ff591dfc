-- One row: one model this study has ever asked; retired ones have listed = false.
-- Key: model.
-- Source: study/models.parquet, written from the study file.
-- materialized: view
-- #UNIQUE(model)
-- #NOT_NULL(model, listed)
-- #SET{source: measured|imported|simulated}
-- columns:
--   listed: whether the study file names the model now
--   runs: repeats of every benchmark the study asks of the model
--   source: how its answers come about; imported ones were collected elsewhere
select
    model,
    provider,
    model_id,
    source,
    listed,
    runs
from read_parquet('study/models.parquet')

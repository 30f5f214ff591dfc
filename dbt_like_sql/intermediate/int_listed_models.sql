-- One row: one model the study file names now, with the word a board uses for where its answers come from.
-- Key: model.
-- Source: stg_study_models.
-- #UNIQUE(model)
-- #NOT_NULL(model, source)
-- #SET{source: measured|simulated}
-- columns:
--   source: measured (asked here or imported) or simulated
select
    model,
    provider,
    model_id,
    if(source = 'simulated' or provider = 'simulated', 'simulated', 'measured') as source,
    runs
from stg_study_models
where listed
order by model

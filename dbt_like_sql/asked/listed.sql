-- One row: one model that the study lists.
-- Key: model.
-- Source: study/models.parquet.
select
    model, provider, model_id, family, params_b, params_active_b, released, runs,
    if(source = 'simulated' or provider = 'simulated', 'simulated', 'measured') as source
from stg_models
where listed
order by model

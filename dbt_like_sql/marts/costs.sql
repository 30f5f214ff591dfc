-- One row: what one model has cost on one benchmark, retired models and superseded answers included: it was all paid for.
-- Key: benchmark, model.
-- Source: calls, study/models.parquet.
-- Grows: by model.
-- #NOT_NULL(benchmark, model, calls)
-- columns:
--   calls: calls kept, whatever their end
--   answers: calls that ended ok, refused or truncated
--   failed: calls that ended without an answer
--   superseded: answers to questions no longer asked this way
--   cost_usd: dollars, of the calls whose price is known
--   unpriced: calls whose price is not known
--   mean_latency_s: seconds per answer
--   listed: whether the study file names the model now
select
    calls.benchmark,
    calls.model,
    count(*) as calls,
    count(*) filter (where calls.status <> 'failed') as answers,
    count(*) filter (where calls.status = 'failed') as failed,
    count(*) filter (where calls.superseded) as superseded,
    coalesce(sum(calls.input_tokens), 0)::bigint as input_tokens,
    coalesce(sum(calls.output_tokens), 0)::bigint as output_tokens,
    coalesce(sum(calls.cost_usd), 0) as cost_usd,
    count(*) filter (where calls.cost_usd is null) as unpriced,
    avg(calls.latency_s) filter (where calls.status <> 'failed') as mean_latency_s,
    min(calls.started_at) as first_at,
    max(calls.started_at) as last_at,
    coalesce(any_value(models.listed), false) as listed
from calls
left join stg_models as models using (model)
group by calls.benchmark, calls.model
order by calls.benchmark, calls.model

-- One row: what one model has cost on one benchmark under one condition, retired models and superseded answers included: it was all paid for.
-- Key: benchmark, condition, model.
-- Source: transcripts, items, study/models.parquet.
-- #NOT_NULL(benchmark, condition, model, calls)
-- columns:
--   calls: calls kept, with any end
--   answers: calls that ended ok, refused or truncated
--   failed: calls that ended without an answer
--   superseded: answers to questions no longer asked this way, or replaced by another answer to the same call
--   reasoning_tokens: of output_tokens, those thought before the answer, where the provider says so
--   cached_tokens: of input_tokens, those read from the provider's prompt cache
--   cost_usd: dollars, of the calls whose price is known
--   input_usd: of cost_usd, fresh input
--   cached_usd: of cost_usd, input read from the prompt cache
--   cache_write_usd: of cost_usd, input written to the prompt cache
--   output_usd: of cost_usd, answers without the thinking
--   reasoning_usd: of cost_usd, thinking
--   unsplit_usd: of cost_usd, what is none of these: attempts before the last, calls whose tokens or prices are not kept
--   batch_usd: of cost_usd, calls that came through a batch
--   service_tiers: classes of service the provider says it used
--   unpriced: calls whose price is not known
--   billed_again: attempts that were billed, or may have been, beyond one for each call
--   mean_latency_s: seconds per answer
--   mean_first_ms: milliseconds to the first byte, of the answers that were streamed
--   listed: whether the study file names the model now
with
    split as (
        select *, input_usd + cached_usd + cache_write_usd + output_usd + reasoning_usd as split_usd
        from calls
    )
select
    calls.benchmark,
    concat_ws(' ', items.task, calls.condition) as condition,
    calls.model,
    count(*) as calls,
    count(*) filter (where calls.status <> 'failed') as answers,
    count(*) filter (where calls.status = 'failed') as failed,
    count(*) filter (where calls.superseded) as superseded,
    least(coalesce(sum(calls.input_tokens), 0), 9223372036854775807)::bigint as input_tokens,
    least(coalesce(sum(calls.output_tokens), 0), 9223372036854775807)::bigint as output_tokens,
    least(coalesce(sum(calls.reasoning_tokens), 0), 9223372036854775807)::bigint as reasoning_tokens,
    least(coalesce(sum(calls.cached_tokens), 0), 9223372036854775807)::bigint as cached_tokens,
    coalesce(sum(calls.cost_usd), 0) as cost_usd,
    coalesce(sum(calls.input_usd) filter (where calls.cost_usd is not null), 0) as input_usd,
    coalesce(sum(calls.cached_usd) filter (where calls.cost_usd is not null), 0) as cached_usd,
    coalesce(sum(calls.cache_write_usd) filter (where calls.cost_usd is not null), 0) as cache_write_usd,
    coalesce(sum(calls.output_usd) filter (where calls.cost_usd is not null), 0) as output_usd,
    coalesce(sum(calls.reasoning_usd) filter (where calls.cost_usd is not null), 0) as reasoning_usd,
    coalesce(sum(round(calls.cost_usd - coalesce(calls.split_usd, 0), 12)), 0) as unsplit_usd,
    coalesce(sum(calls.cost_usd) filter (where calls.lane = 'batch'), 0) as batch_usd,
    string_agg(distinct calls.service_tier, ', ' order by calls.service_tier) as service_tiers,
    count(*) filter (where calls.cost_usd is null) as unpriced,
    coalesce(sum(greatest(calls.attempts_billed - 1, 0)), 0)::bigint as billed_again,
    avg(calls.latency_s) filter (where calls.status <> 'failed') as mean_latency_s,
    avg(calls.latency_first_ms) filter (where calls.status <> 'failed') as mean_first_ms,
    min(calls.started_at) as first_at,
    max(calls.started_at) as last_at,
    coalesce(any_value(models.listed), false) as listed
from split as calls
left join stg_models as models using (model)
left join kept_items as items on items.benchmark = calls.benchmark and items.item_id = calls.item_id
group by calls.benchmark, concat_ws(' ', items.task, calls.condition), calls.model
order by calls.benchmark, condition, calls.model

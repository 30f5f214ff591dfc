-- One row: one model the study file names now, with its cost and state.
-- Key: model.
-- Source: study/models.parquet, study/partitions.parquet, costs, leaderboard.
-- #NOT_NULL(model, source)
-- #SET{source: measured|simulated}
-- columns:
--   params_b: parameters in total, billions, as the study file says
--   params_active_b: those that take part in a token
--   released: when the model came out
--   runs: repeats of every benchmark the study asks of it
--   usable_share: share of its answers that give something to read, 0 to 1; below 0.5 a partition is not complete
--   n_benchmarks: benchmarks of which it has a headline
--   mean_percentile: mean of its percentiles in the headlines, 0 to 100; each is among the measured and published models of a
--     benchmark, of a simulated observer among the observers
with
    headlines as (
        select model, count(distinct benchmark) as n_benchmarks, avg(percentile) as mean_percentile
        from leaderboard
        where headline and source <> 'published' and estimate is not null
        group by model
    ),
    answered as (
        select model, 1 - sum(n_unusable) / nullif(sum(n_answered), 0) as usable_share
        from stg_partitions
        where n_unusable is not null and not suffix(benchmark, '_judgements')
        group by model
    ),
    paid as (select model, sum(cost_usd) as cost_usd from costs group by model)
select
    listed.model,
    listed.provider,
    listed.model_id,
    listed.family,
    listed.params_b,
    listed.params_active_b,
    listed.released,
    listed.source,
    listed.runs,
    paid.cost_usd,
    answered.usable_share,
    coalesce(headlines.n_benchmarks, 0) as n_benchmarks,
    headlines.mean_percentile
from listed
left join paid using (model)
left join answered using (model)
left join headlines using (model)
order by listed.source, listed.model

-- One row: one model the study file names now, with what it cost and where it stands.
-- Key: model.
-- Source: study/models.parquet, costs, leaderboard.
-- #NOT_NULL(model, source)
-- #SET{source: measured|simulated}
-- columns:
--   runs: repeats of every benchmark the study asks of it
--   n_benchmarks: benchmarks of which it has a headline
--   mean_percentile: mean of its percentiles in the headlines, 0 to 100
with
    headlines as (
        select model, count(distinct benchmark) as n_benchmarks, avg(percentile) as mean_percentile
        from leaderboard
        where headline and source <> 'published' and estimate is not null
        group by model
    ),
    paid as (select model, sum(cost_usd) as cost_usd from costs group by model)
select
    listed.model,
    listed.provider,
    listed.model_id,
    listed.family,
    listed.source,
    listed.runs,
    paid.cost_usd,
    coalesce(headlines.n_benchmarks, 0) as n_benchmarks,
    headlines.mean_percentile
from listed
left join paid using (model)
left join headlines using (model)
order by listed.source, listed.model

-- One row: one measure of one listed model under one condition over all its runs, with how it was made.
-- Key: benchmark, dataset, condition, model, measure.
-- Source: estimates/*/models; models the study lists, data sets it asks.
-- #NOT_NULL(benchmark, dataset, condition, model, measure, source)
-- #SET{source: measured|simulated}
select
    est.benchmark,
    est.dataset,
    est.task,
    est.condition,
    est.scoring,
    est.model,
    listed.source,
    est.measure,
    est.estimate,
    est.low,
    est.high,
    est.sem,
    est.n,
    est.n_items,
    est.n_failed,
    est.n_unreadable,
    est.coverage,
    est.method,
    est.status,
    est.low_n
from stg_estimates as est
inner join listed using (model)
semi join asked on asked.benchmark = est.benchmark and asked.dataset = est.dataset and asked.task = coalesce(est.task, '')

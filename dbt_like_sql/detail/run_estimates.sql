-- One row: one measure of one listed model, condition and run.
-- Key: benchmark, dataset, condition, model, run, measure.
-- Source: estimates/*/runs; models and runs the study lists, data sets it asks.
-- #NOT_NULL(benchmark, dataset, condition, model, run, measure, source)
-- #SET{source: measured|simulated}
select
    est.benchmark,
    est.dataset,
    est.task,
    est.condition,
    est.scoring,
    est.model,
    est.run,
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
    est.status
from stg_run_estimates as est
inner join listed on listed.model = est.model and est.run <= listed.runs
semi join asked on asked.benchmark = est.benchmark and asked.dataset = est.dataset and asked.task = coalesce(est.task, '')

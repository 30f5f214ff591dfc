-- One row: one measure of one listed model, condition and run.
-- Key: benchmark, dataset, condition, model, run, measure.
-- Source: int_listed_models, int_metamedqa_question_sets, stg_metamedqa_run_estimates.
-- #UNIQUE(benchmark, dataset, condition, model, run, measure)
-- #NOT_NULL(benchmark, dataset, condition, model, run, measure)
-- #SET{source: measured|simulated}
-- columns:
--   estimate: shares 0 to 1, confidences 1 to 5; null when there is no value, status says why
--   low: lower end of the 95 % interval
--   high: upper end of the 95 % interval
--   sem: standard error with n - 1, as the paper states it
--   n: answers the value rests on
--   n_failed: items without an answer
--   n_unparsable: items whose answer holds no letter or no confidence
--   coverage: valid letters / items, 0 to 1
--   source: measured or simulated
select
    estimates.benchmark,
    estimates.dataset,
    estimates.condition,
    estimates.model,
    estimates.run,
    estimates.measure,
    estimates.estimate,
    estimates.low,
    estimates.high,
    estimates.sem,
    estimates.n,
    estimates.n_failed,
    estimates.n_unparsable,
    estimates.coverage,
    estimates.method,
    estimates.status,
    listed.source
from stg_metamedqa_run_estimates as estimates
inner join int_listed_models as listed on listed.model = estimates.model and estimates.run <= listed.runs
inner join int_metamedqa_question_sets as asked using (dataset)
order by benchmark, dataset, condition, model, run, measure

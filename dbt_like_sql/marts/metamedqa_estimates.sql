-- One row: one measure of one listed model and condition over all its runs, with how it was made.
-- Key: dataset, condition, model, measure.
-- Source: int_listed_models, int_metamedqa_question_sets, stg_metamedqa_model_estimates.
-- #UNIQUE(dataset, condition, model, measure)
-- #NOT_NULL(dataset, condition, model, measure)
-- #SET{source: measured|simulated}
-- columns:
--   estimate: shares 0 to 1, confidences 1 to 5; null when there is no value, status says why
--   low: lower end of the 95 % interval; runs are clustered within items
--   high: upper end of the 95 % interval
--   sem: standard error with n - 1, as the paper states it
--   n: answers the value rests on
--   n_failed: items without an answer
--   n_unparsable: items whose answer holds no letter or no confidence
--   coverage: valid letters / items, 0 to 1
--   method: how value and interval were made
--   status: ok, or why the value or its interval is missing
--   source: measured or simulated
select
    estimates.benchmark,
    estimates.dataset,
    estimates.condition,
    estimates.model,
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
from stg_metamedqa_model_estimates as estimates
inner join int_listed_models as listed using (model)
inner join int_metamedqa_question_sets as asked using (dataset)
order by benchmark, dataset, condition, model, measure

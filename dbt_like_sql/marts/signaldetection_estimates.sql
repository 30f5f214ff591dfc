-- One row: one measure of one listed model, task and condition over all its runs, with how it was made.
-- Key: dataset, task, condition, model, measure.
-- Source: int_listed_models, int_signaldetection_question_sets, stg_signaldetection_model_estimates.
-- #UNIQUE(dataset, task, condition, model, measure)
-- #NOT_NULL(dataset, task, condition, model, measure)
-- #SET{task: A|B|C}
-- #SET{source: measured|simulated}
-- columns:
--   task: A sentiment, B oral or written, C was one "the" deleted
--   condition: confidence, or what is punished: risk_none, risk_s1 (saying 0 wrongly), risk_s2 (saying 1 wrongly)
--   measure: d, c, meta_d, m_ratio are point estimates from the counts; those ending in _bayes are posterior means
--   estimate: shares 0 to 1, d′ and criteria in standard deviations; null when there is no value, status says why
--   low: lower end of the 95 % interval; runs are clustered within items
--   high: upper end of the 95 % interval
--   n: answers the value rests on
--   n_failed: items without an answer
--   n_unparsable: items whose answer holds no readable decision or no confidence
--   coverage: readable answers / items, 0 to 1
--   method: how value and interval were made, and which edge correction of the counts was used
--   status: ok, or why the value or its interval is missing
--   source: measured or simulated
select
    estimates.benchmark,
    estimates.dataset,
    estimates.task,
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
from stg_signaldetection_model_estimates as estimates
inner join int_listed_models as listed using (model)
inner join int_signaldetection_question_sets as asked using (dataset, task)
order by benchmark, dataset, task, condition, model, measure

-- One row: one measure of one listed model under one condition over all its runs.
-- Key: dataset, condition, model, measure.
-- Source: int_listed_models, int_metacogbench_question_sets, stg_metacogbench_model_estimates.
-- #UNIQUE(dataset, condition, model, measure)
-- #NOT_NULL(dataset, condition, model, measure)
-- #SET{condition: free|json|json_notes|two_turn}
-- #SET{source: measured|simulated}
-- columns:
--   condition: free asks all tiers; json: 1b, 2a and 3 in JSON; json_notes: 2a with a field for notes; two_turn: 1b, predicted beforehand
--   measure: t1a betting, t1b 1 - ECE of predictions, t2a caution, t2b resistance, t3 transfer; ms = (t1a + t1b) / 2,
--     saf = (t2a + t2b) / 2, cdtc = t3, overall their mean; *_sd the spread over runs; ece_*_null_* what a perfectly
--     calibrated respondent who says the same would get
--   estimate: 0 to 1, differences -1 to 1, or a count (n_*); null when there is no value, status says why
--   low: lower end of the 95 % interval; items are resampled within tiers, with all their runs
--   high: upper end of the 95 % interval
--   n: items the value rests on
--   n_failed: items × runs without a reply
--   n_unparsable: items × runs whose reply could not be read or was refused; they are scored as they stand
--   coverage: readable / asked, 0 to 1
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
from stg_metacogbench_model_estimates as estimates
inner join int_listed_models as listed using (model)
inner join int_metacogbench_question_sets as asked using (dataset)
order by benchmark, dataset, condition, model, measure

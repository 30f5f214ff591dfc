-- One row: one measure of one listed model under one condition over all its runs, by one way of scoring.
-- Key: dataset, variant, condition, model, measure.
-- Source: int_listed_models, int_medley_question_sets, stg_medley_model_estimates.
-- #UNIQUE(dataset, variant, condition, model, measure)
-- #NOT_NULL(dataset, variant, condition, model, measure)
-- #SET{variant: reference|paper}
-- #SET{condition: normal|adversarial|stripped}
-- #SET{source: measured|simulated}
-- columns:
--   variant: reference (as the authors' package computes) or paper (as the paper writes)
--   condition: normal; adversarial (the consensus shown is inverted); stripped (only the two weakest analysts are shown)
--   measure: mms is the 10 % trimmed mean over instances; t1, t2, t3 the tiers; mas and the abilities need judges;
--     adversarial_delta and stripped_delta compare the same instances with normal
--   estimate: 0 to 1, differences -1 to 1; null when there is no value, status says why
--   low: lower end of the 95 % interval; instances are resampled, with all their runs
--   high: upper end of the 95 % interval
--   n: instances the value rests on
--   n_failed: instances × runs of which an answer is missing
--   n_unparsable: instances × runs of which a reply could not be read or was refused; they are not scored
--   coverage: scored / asked, 0 to 1
--   method: how value and interval were made
--   status: ok, or why the value or its interval is missing
--   source: measured or simulated
select
    estimates.benchmark,
    estimates.dataset,
    estimates.variant,
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
from stg_medley_model_estimates as estimates
inner join int_listed_models as listed using (model)
inner join int_medley_question_sets as asked using (dataset)
order by benchmark, dataset, variant, condition, model, measure

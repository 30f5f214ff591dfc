-- One row: one measure of one listed model under one condition over all its runs.
-- Key: dataset, condition, model, measure.
-- Source: int_listed_models, int_selfknowledge_question_sets, stg_selfknowledge_model_estimates.
-- #UNIQUE(dataset, condition, model, measure)
-- #NOT_NULL(dataset, condition, model, measure)
-- #SET{condition: dual|dual_zh|dual_ko|dual_es|idk}
-- #SET{source: measured|simulated}
-- columns:
--   condition: dual: the question, and whether it is known, in separate contexts, in English; dual_zh, dual_ko, dual_es:
--     in that language; idk: the question with leave to say "I don't know"
--   measure: d_type2: does a yes go with being right (log-linear rates), d_type2_clip: rates kept 1e-4 from 0 and 1,
--     d_type2_strict: whole words and first words, d_type2_reference: all by the rules of the published numbers,
--     d_type2_threshold: yes where P(yes) > P(no); yfr, nfr: share of the yeses, noes that fail; raw_alignment: right = yes;
--     rmi: share of the uncertainty about being right that the yes removes; auroc2, ece, brier, mean_confidence: of
--     P(yes) / (P(yes) + P(no)); all_alignment: right = yes = not abstained
--   estimate: shares 0 to 1, d′ in standard deviations; null when there is no value, status says why
--   low: lower end of the 95 % interval; items are resampled with all their runs
--   high: upper end of the 95 % interval
--   n: answers the value rests on
--   n_failed: items × runs without an answer
--   n_unparsable: items × runs with a reply that could not be read or was refused
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
from stg_selfknowledge_model_estimates as estimates
inner join int_listed_models as listed using (model)
inner join int_selfknowledge_question_sets as asked using (dataset)
order by benchmark, dataset, condition, model, measure

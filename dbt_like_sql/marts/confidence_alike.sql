-- One row: one measure of what confidence knows, of one listed model under one condition, alike for every benchmark that
-- has a confidence per item: so one measure means one thing in every row.
-- Key: benchmark, dataset, condition, model, measure.
-- Source: stg_across_confidence, int_listed_models, int_benchmarks.
-- #UNIQUE(benchmark, dataset, condition, model, measure)
-- #NOT_NULL(benchmark, condition, model, measure, n, status, source)
-- #SET{source: measured|simulated}
-- columns:
--   measure: accuracy, mean_confidence, ece (ten bins), brier, auroc2: 0 to 1; d_equivalent, meta_d in standard deviations;
--     m_ratio
--   n: answers with a confidence
--   n_items: items they belong to, the unit of chance
--   n_without_confidence: answers that state none and take no part
--   status: ok, or why there is no number or what to mind about it
select
    own.benchmark,
    own.dataset,
    own.condition,
    own.model,
    own.measure,
    own.estimate,
    own.low,
    own.high,
    own.n,
    own.n_items,
    own.n_without_confidence,
    own.method,
    own.status,
    own.source
from stg_across_confidence as own
inner join int_listed_models using (model)
inner join int_benchmarks using (benchmark)
order by own.benchmark, own.condition, own.model, own.measure

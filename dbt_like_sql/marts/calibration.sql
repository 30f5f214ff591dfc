-- One row: one measure of what confidence knows, of one listed model under one condition, by one rule for every benchmark
-- that has a confidence per item: so one measure means one thing in every row.
-- Key: benchmark, dataset, condition, model, measure.
-- Source: cross_benchmark/calibration.parquet.
-- #NOT_NULL(benchmark, condition, model, measure, n, status, source)
-- #SET{source: measured|simulated|human}
-- columns:
--   measure: begins with harmonised_, because a benchmark may have an ECE of its own; measures has unit, range, reference
--     and definition. accuracy, mean_confidence, ece (ten bins), brier, auroc2; brier_reliability, brier_resolution,
--     brier_uncertainty; ranking: aurc, excess_aurc; scale: calibration_in_the_large; of
--     answers chosen among known alternatives: d_mafc, meta_d_mafc, m_ratio_mafc, eta_mafc, auroc2_ideal
--   source: where answers come from: measured (asked here or imported), simulated (an observer with known parameters), human
--     (human respondents to the items, as one group: values and intervals are those of the group)
--   n: answers with a confidence; of those of a choice, answers chosen among 2 to 10 alternatives
--   n_without_confidence: answers that state none and take no part
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
    own.low_n,
    own.source
from stg_calibration as own
inner join asked_benchmarks using (benchmark)
where own.source = 'human' or own.model in (select model from listed)
order by own.benchmark, own.condition, own.model, own.measure

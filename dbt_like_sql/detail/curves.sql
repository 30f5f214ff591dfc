-- One row: one point of a curve of one listed model under one condition: a type-2 ROC, a reliability diagram, a density, risk
-- against coverage.
-- Key: benchmark, dataset, condition, model, curve, position.
-- Source: curves of the benchmarks, cross_benchmark/curves.parquet.
-- #NOT_NULL(benchmark, dataset, condition, model, curve, position)
-- #SET{source: measured|simulated}
-- columns:
--   curve: roc and said (type-2 ROC; the one point of the spoken yes), correct and wrong (densities of confidence among right
--     and among wrong answers), reliability (with the moment it was stated, where there are several), risk_coverage (of every benchmark with a confidence, at most 100 points)
--   x: false-alarm rate, lower edge of a bin, confidence as a probability, or coverage: the share of answers kept
--   y: hit rate, density, share right, or risk: the share wrong among the answers kept
--   low: lower end of the 95 % interval of y
--   high: upper end
--   threshold: a yes from here up; of a reliability diagram the lower edge of its bin; the lowest confidence kept
--   n: answers; of a bin, those in it; those kept
select
    points.benchmark,
    points.dataset,
    points.condition,
    points.model,
    points.curve,
    points.position,
    points.x,
    points.y,
    points.low,
    points.high,
    points.threshold,
    points.n,
    points.n_items,
    listed.source
from stg_curves as points
inner join listed using (model)
semi join asked on asked.benchmark = points.benchmark and asked.dataset = points.dataset
order by points.benchmark, points.dataset, points.condition, points.model, points.curve, points.position

-- One row: one point of a curve of one listed model under one condition: a type-2 ROC, a reliability diagram, a density.
-- Key: benchmark, dataset, condition, model, curve, position.
-- Source: curves of the benchmarks.
-- #NOT_NULL(benchmark, dataset, condition, model, curve, position)
-- #SET{source: measured|simulated}
-- columns:
--   curve: roc and said (type-2 ROC; the one point of the spoken yes), correct and wrong (densities of confidence among right
--     and among wrong answers), reliability (with the moment it was stated, where there are several)
--   x: false-alarm rate, lower edge of a bin, or confidence as a probability
--   y: hit rate, density, or share right
--   low: lower end of the 95 % interval of y
--   high: upper end
--   threshold: a yes from here up; of a reliability diagram the lower edge of its bin
--   n: answers; of a bin, those in it
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

-- One row: one test between published models, tasks or conditions, or of an M-ratio with 1, made from the published counts.
-- Key: task, condition, model, family, measure, a, b.
-- Source: stg_signaldetection_refit_contrasts.
-- #UNIQUE(task, condition, model, family, measure, a, b)
-- #NOT_NULL(family, measure)
-- #SET{verdict: not_significant|significant|negligible|inconclusive}
-- columns:
--   task: held fixed, null where tasks are compared
--   condition: held fixed, null where conditions are compared
--   model: held fixed, null where models are compared
--   family: which test, as in signaldetection_comparisons
--   a: first of the pair
--   b: second of the pair
--   difference: a - b
--   se: its standard error
--   low: lower end of the 95 % interval of the difference
--   high: upper end
--   low_adjusted: lower end of the interval at the level of the whole family of tests
--   high_adjusted: upper end
--   p_adjusted: over the family
--   verdict: as in signaldetection_comparisons
--   status: ok, or why there is no number
select * exclude (benchmark, dataset, source)
from stg_signaldetection_refit_contrasts
order by all

-- One row: one bin of a reliability diagram: answers of tier 1b stated with about the same confidence, all runs, in the bins
-- of the headline calibration error.
-- Key: dataset, condition, model, curve, position.
-- Source: estimates/metacogbench/reliability.
-- Reads: stg_metacogbench_reliability = estimates/metacogbench/reliability/*.parquet (
--   benchmark varchar, dataset varchar, condition varchar, model varchar, moment varchar, bin bigint, n bigint,
--   n_items bigint, stated_from double, stated_to double, confidence double, accuracy double, low double, high double,
--   source varchar)
-- Part of: curves.
select
    benchmark, dataset, condition, model, source, 'reliability ' || moment as curve, bin::integer as position,
    confidence as x, accuracy as y, low, high, stated_from as threshold, n, n_items
from stg_metacogbench_reliability

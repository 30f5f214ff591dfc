-- One row: one measure of one listed model under one condition over all its runs, of any benchmark.
-- Key: benchmark, condition, model, measure.
-- Source: metamedqa_estimates, signaldetection_estimates, medley_estimates, metacogbench_estimates,
-- selfknowledge_estimates.
-- #UNIQUE(benchmark, condition, model, measure)
-- #NOT_NULL(benchmark, condition, model, measure, source)
-- #SET{source: measured|simulated}
-- columns:
--   condition: for signaldetection the task and the condition, such as "A confidence"; for medley the condition and how it
--     was scored, such as "normal reference"
select
    benchmark, condition, model, measure, estimate, low, high, n, n_failed, n_unparsable, coverage, source
from metamedqa_estimates
union all
select
    benchmark, task || ' ' || condition, model, measure, estimate, low, high, n, n_failed, n_unparsable, coverage, source
from signaldetection_estimates
union all
select
    benchmark, condition || ' ' || variant, model, measure, estimate, low, high, n, n_failed, n_unparsable, coverage, source
from medley_estimates
union all
select
    benchmark, condition, model, measure, estimate, low, high, n, n_failed, n_unparsable, coverage, source
from metacogbench_estimates
union all
select
    benchmark, condition, model, measure, estimate, low, high, n, n_failed, n_unparsable, coverage, source
from selfknowledge_estimates
order by benchmark, condition, model, measure

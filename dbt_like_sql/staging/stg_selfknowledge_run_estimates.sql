-- One row: one measure of one model, condition and run.
-- Key: dataset, condition, model, run, measure.
-- Source: estimates/selfknowledge/runs.
-- materialized: view
-- columns:
--   estimate: shares 0 to 1, d′ in standard deviations; null when there is no value, status says why
--   low: lower end of the 95 % interval
--   high: upper end of the 95 % interval
--   n: answers the value rests on
--   coverage: readable / asked, 0 to 1
select
    benchmark,
    dataset,
    condition,
    model,
    run,
    measure,
    estimate,
    low,
    high,
    sem,
    n,
    n_failed,
    n_unparsable,
    coverage,
    method,
    status,
    source
from read_parquet('estimates/selfknowledge/runs/**/*.parquet', hive_partitioning = false, union_by_name = true)

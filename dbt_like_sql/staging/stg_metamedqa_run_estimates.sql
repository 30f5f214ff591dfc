-- One row: one measure of one model, condition and run.
-- Key: dataset, condition, model, run, measure.
-- Source: estimates/metamedqa/runs.
-- materialized: view
-- columns:
--   estimate: null when there is no value; status says why
--   low: lower end of the 95 % interval
--   high: upper end of the 95 % interval
--   n: answers the value rests on
--   coverage: valid letters / items, 0 to 1
--   sem: standard error with n - 1, as the paper states it
--   method: how value and interval were made
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
from read_parquet('estimates/metamedqa/runs/**/*.parquet', hive_partitioning = false, union_by_name = true)

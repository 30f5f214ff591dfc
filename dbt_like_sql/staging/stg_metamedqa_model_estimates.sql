-- One row: one measure of one model and condition over all its runs.
-- Key: dataset, condition, model, measure.
-- Source: estimates/metamedqa/models.
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
from read_parquet('estimates/metamedqa/models/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one measure of one model under one condition over all its runs, by one way of scoring.
-- Key: dataset, variant, condition, model, measure.
-- Source: estimates/medley/models.
-- materialized: view
-- columns:
--   variant: reference (as the authors' package computes) or paper (as the paper writes)
--   estimate: 0 to 1; null when there is no value, status says why
--   low: lower end of the 95 % interval
--   high: upper end of the 95 % interval
--   n: instances the value rests on
--   coverage: scored / asked, 0 to 1
select
    benchmark,
    dataset,
    variant,
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
from read_parquet('estimates/medley/models/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one measure of one model and condition over all its runs.
-- Key: dataset, condition, model, measure.
-- Source: estimates/selfknowledge/models.
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
from read_parquet('estimates/selfknowledge/models/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one measure of confidence of one model under one condition, computed alike for every benchmark.
-- Key: benchmark, dataset, condition, model, source, measure.
-- Source: estimates/across/confidence.
-- materialized: view
select
    benchmark,
    dataset,
    condition,
    model,
    source,
    measure,
    estimate,
    low,
    high,
    sem,
    n,
    n_items,
    n_without_confidence,
    method,
    status
from read_parquet('estimates/across/confidence/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one confidence, in whole percents, of one model under one condition: how often stated, how often right.
-- Key: benchmark, dataset, condition, model, source, percent.
-- Source: estimates/across/use.
-- materialized: view
select
    benchmark,
    dataset,
    condition,
    model,
    source,
    percent,
    n,
    n_correct
from read_parquet('estimates/across/use/*.parquet', hive_partitioning = false, union_by_name = true)

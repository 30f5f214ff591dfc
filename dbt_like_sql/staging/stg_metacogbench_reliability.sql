-- One row: one bin of one model's stated confidences, before or after answering, over all runs.
-- Key: dataset, condition, model, moment, bin.
-- Source: estimates/metacogbench/reliability.
-- materialized: view
select
    benchmark,
    dataset,
    condition,
    model,
    moment,
    bin,
    n,
    n_items,
    stated_from,
    stated_to,
    confidence,
    accuracy,
    low,
    high,
    source
from read_parquet('estimates/metacogbench/reliability/*.parquet', hive_partitioning = false, union_by_name = true)

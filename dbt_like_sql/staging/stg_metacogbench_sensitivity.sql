-- One row: one tier of one model and condition under one setting of one threshold.
-- Key: dataset, condition, model, source, tier, threshold, setting.
-- Source: estimates/metacogbench/sensitivity.
-- materialized: view
select
    benchmark,
    dataset,
    condition,
    model,
    tier,
    threshold,
    setting,
    is_default,
    estimate,
    default_estimate,
    chance,
    tau,
    n,
    source
from read_parquet('estimates/metacogbench/sensitivity/*.parquet', hive_partitioning = false, union_by_name = true)

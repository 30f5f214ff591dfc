-- One row: one point of a curve about one model and condition.
-- Key: dataset, condition, model, source, curve, position.
-- Source: estimates/selfknowledge/curves.
-- materialized: view
select
    benchmark,
    dataset,
    condition,
    model,
    source,
    curve,
    position,
    x,
    y,
    threshold,
    n
from read_parquet('estimates/selfknowledge/curves/*.parquet', hive_partitioning = false, union_by_name = true)

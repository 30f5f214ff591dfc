-- One row: one measure of one model that stands for monitoring or for control, turned so that more is better.
-- Key: name, model, source.
-- Source: estimates/across/traits.
-- materialized: view
select
    name,
    benchmark,
    measure,
    trait,
    model,
    source,
    value,
    sem
from read_parquet('estimates/across/traits/*.parquet', hive_partitioning = false, union_by_name = true)

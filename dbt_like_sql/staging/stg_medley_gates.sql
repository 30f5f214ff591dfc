-- One row: one gate of the set of instances the study asks.
-- Key: dataset, name.
-- Source: estimates/medley/gates.
-- materialized: view
select
    benchmark,
    dataset,
    place,
    name,
    rule,
    severity,
    status,
    found,
    wanted
from read_parquet('estimates/medley/gates/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one finding between models or formats, or about one of them.
-- Key: dataset, source, condition, model, family, measure, a, b, note.
-- Source: estimates/metacogbench/comparisons.
-- materialized: view
select
    benchmark,
    dataset,
    source,
    condition,
    model,
    family,
    measure,
    a,
    b,
    value,
    se,
    low,
    high,
    statistic,
    p,
    p_adjusted,
    verdict,
    n,
    note,
    status
from read_parquet('estimates/metacogbench/comparisons/*.parquet', hive_partitioning = false, union_by_name = true)

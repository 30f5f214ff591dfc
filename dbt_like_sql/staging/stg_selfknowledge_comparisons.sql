-- One row: one test between models, languages or ways of asking.
-- Key: dataset, source, condition, model, family, measure, a, b.
-- Source: estimates/selfknowledge/comparisons.
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
    difference,
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
from read_parquet('estimates/selfknowledge/comparisons/*.parquet', hive_partitioning = false, union_by_name = true)

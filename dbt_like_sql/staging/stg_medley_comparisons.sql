-- One row: one finding between models, conditions, domains or ways to average.
-- Key: dataset, source, variant, condition, model, family, measure, a, b.
-- Source: estimates/medley/comparisons.
-- materialized: view
select
    benchmark,
    dataset,
    source,
    variant,
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
from read_parquet('estimates/medley/comparisons/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one test between models, tasks, conditions, or with optimality.
-- Key: dataset, source, task, condition, model, family, measure, a, b, note.
-- Source: estimates/signaldetection/comparisons.
-- materialized: view
select
    benchmark,
    dataset,
    source,
    task,
    condition,
    model,
    family,
    measure,
    a,
    b,
    coalesce(value, difference) as difference,
    se,
    low,
    high,
    low_adjusted,
    high_adjusted,
    statistic,
    p,
    p_adjusted,
    verdict,
    n,
    note,
    status
from read_parquet('estimates/signaldetection/comparisons/*.parquet', hive_partitioning = false, union_by_name = true)

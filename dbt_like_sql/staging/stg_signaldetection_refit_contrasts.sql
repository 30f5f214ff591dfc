-- One row: one test between published models, tasks or conditions, or with optimality, made from the published counts.
-- Key: dataset, source, task, condition, model, family, measure, a, b, note.
-- Source: estimates/signaldetection/published/contrasts.parquet.
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
    difference,
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
from read_parquet('estimates/signaldetection/published/contrasts*.parquet', hive_partitioning = false, union_by_name = true)

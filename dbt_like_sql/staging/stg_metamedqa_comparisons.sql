-- One row: one test between models, between conditions, or of one measure with another.
-- Key: dataset, source, condition, model, family, measure, a, b, note.
-- Source: estimates/metamedqa/comparisons.
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
    low,
    high,
    statistic,
    df1,
    df2,
    p,
    p_adjusted,
    stars,
    cohen_d,
    n,
    note,
    status
from read_parquet('estimates/metamedqa/comparisons/*.parquet', hive_partitioning = false, union_by_name = true)

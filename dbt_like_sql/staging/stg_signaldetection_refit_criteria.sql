-- One row: one number of one published model, task and stated risk, computed again from the published counts.
-- Key: task, model, condition, quantity.
-- Source: estimates/signaldetection/published/criteria.parquet.
-- materialized: view
-- #UNIQUE(task, model, condition, quantity)
-- columns:
--   quantity: c, or ci_half (half width of its 95 % interval)
--   published: as printed
--   recomputed: from raw rates
--   difference: recomputed - published
--   tolerance: what rounding explains
--   follows: whether the printed number follows from the counts
select
    task,
    model,
    condition,
    quantity,
    published,
    recomputed,
    difference,
    tolerance,
    low,
    high,
    follows,
    n,
    note,
    status
from read_parquet('estimates/signaldetection/published/criteria*.parquet', hive_partitioning = false, union_by_name = true)

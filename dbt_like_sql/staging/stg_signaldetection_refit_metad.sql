-- One row: one number of one published model and task, fitted again from the published counts by one method.
-- Key: task, model, quantity, method.
-- Source: estimates/signaldetection/published/metad.parquet.
-- materialized: view
-- #UNIQUE(task, model, quantity, method)
-- columns:
--   quantity: d, meta_d or m_ratio
--   method: ml_raw, ml_padded (maximum likelihood on raw counts, on counts + 1/(2 K)) or bayes
--   published: as printed
--   recomputed: from the counts, null where there is no value; status says why
--   difference: recomputed - published
--   tolerance: largest difference that chance of sampling explains
--   follows: whether the printed number follows from the counts; null for the methods the paper does not print
select
    task,
    model,
    quantity,
    method,
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
from read_parquet('estimates/signaldetection/published/metad*.parquet', hive_partitioning = false, union_by_name = true)

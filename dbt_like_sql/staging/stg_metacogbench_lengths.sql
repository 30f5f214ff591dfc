-- One row: one model's pass rate among replies of about the same length, or over all and at matched length.
-- Key: dataset, condition, model, measure, words.
-- Source: estimates/metacogbench/lengths.
-- materialized: view
select
    benchmark,
    dataset,
    condition,
    model,
    measure,
    words,
    words_from,
    words_to,
    mean_words,
    mean_cues,
    rate,
    matched,
    low,
    high,
    n,
    status,
    source
from read_parquet('estimates/metacogbench/lengths/*.parquet', hive_partitioning = false, union_by_name = true)

-- One row: one model that helps to make the questions of a benchmark, and how far it is with that.
-- Key: benchmark, model, run.
-- Source: study/helpers.parquet, written from the manifests of the partitions.
-- materialized: view
-- #UNIQUE(benchmark, model, run)
-- #NOT_NULL(benchmark, model, run, state)
-- columns:
--   benchmark: the name its answers are kept under, such as medley_pool
--   state: complete, incomplete, missing or failed
--   n_expected: answers needed; 0 before that is known
--   n_answered: answers there are
--   n_failed: calls that ended without an answer
--   message: why it is not complete, for people
select
    benchmark,
    model,
    run,
    state,
    n_expected,
    n_answered,
    n_failed,
    message,
    updated_at
from read_parquet('study/helpers*.parquet', hive_partitioning = false, union_by_name = true)

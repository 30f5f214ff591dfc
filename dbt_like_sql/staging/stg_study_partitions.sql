-- One row: one benchmark, model and run the study asks for, and how far it is.
-- Key: benchmark, model, run.
-- Source: study/partitions.parquet, written from the manifests of the partitions.
-- materialized: view
-- #UNIQUE(benchmark, model, run)
-- #NOT_NULL(benchmark, model, run, state)
-- columns:
--   state: complete, incomplete, missing or failed
--   n_expected: answers the study asks for
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
from read_parquet('study/partitions.parquet')

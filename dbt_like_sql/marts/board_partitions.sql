-- One row: one benchmark, listed model and run: how far it is, and why it is not complete.
-- Key: benchmark, model, run.
-- Source: stg_study_partitions, int_listed_models.
-- #UNIQUE(benchmark, model, run)
-- #NOT_NULL(benchmark, model, run, state)
-- #SET{source: measured|simulated}
-- columns:
--   state: complete, incomplete, missing or failed
--   answered_share: n_answered / n_expected, 0 to 1
--   message: why it is not complete, or what to know about it, such as another model id than the one asked
select
    partitions.benchmark,
    partitions.model,
    partitions.run,
    partitions.state,
    partitions.n_expected,
    partitions.n_answered,
    partitions.n_failed,
    partitions.n_answered / nullif(partitions.n_expected, 0) as answered_share,
    partitions.message,
    partitions.updated_at,
    listed.source
from stg_study_partitions as partitions
inner join int_listed_models as listed using (model)
order by partitions.benchmark, partitions.model, partitions.run

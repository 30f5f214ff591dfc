-- One row: one benchmark, listed model and run: how far it is, and why it is not complete. Models that help to make the
-- questions have rows of their own, under the name their answers are kept under.
-- Key: benchmark, model, run.
-- Source: stg_study_partitions, stg_study_helpers, int_listed_models.
-- #UNIQUE(benchmark, model, run)
-- #NOT_NULL(benchmark, model, run, state)
-- #SET{source: measured|simulated}
-- columns:
--   state: complete, incomplete, missing or failed
--   answered_share: n_answered / n_expected, 0 to 1
--   message: why it is not complete, or what to know about it, such as another model id than the one asked
--   source: of the listed model; null for one that only helps
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
union all
select
    benchmark,
    model,
    run,
    state,
    n_expected,
    n_answered,
    n_failed,
    n_answered / nullif(n_expected, 0),
    message,
    updated_at,
    null
from stg_study_helpers
order by benchmark, model, run
